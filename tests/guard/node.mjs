#!/usr/bin/env node
// Guards from node-postgres: the statement of docs/guards.md, directly and through PgBouncer.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { check, finish } from "../http/server.mjs";

const { Pool } = createRequire(process.env.HF_NPM + "/")("pg");
const [documented] = /UPDATE policy SET premium = \$1[^"]*/.exec(readFileSync(process.env.HF_SOURCE_ROOT + "/docs/guards.md", "utf8"));
const holdfast = (...words) => execFileSync(process.env.HOLDFAST, words, { encoding: "utf8" });

for (const name of ["POSTGRES", "PGBOUNCER"]) {
  const url = process.env[`HF_TEST_${name}`], names = `node${process.pid}`, table = `policy_${names}`;
  const [, user, database, query] = /^postgres:\/\/([^@]*)@\/([^?]*)\?(.*)$/.exec(url);
  const { host, port } = Object.fromEntries(new URLSearchParams(query));
  const pool = new Pool({ user, database, host, port, max: 4 });
  const guarded = `${process.env.HF_TEST_POSTGRES}&namespace=${names}`;
  await pool.query(`DROP TABLE IF EXISTS ${table}`);
  await pool.query(`CREATE TABLE ${table} (id integer PRIMARY KEY, premium integer, version integer NOT NULL DEFAULT 1)`);
  await pool.query(`INSERT INTO ${table} (id, premium) VALUES (1, 100)`);
  holdfast("guard", "add", guarded, table, "--type", "policy", "--version", "version");
  const update = documented.replace("policy", table);
  const refused = await pool.query(`UPDATE ${table} SET premium = 1`).then(() => null, (error) => error);
  check(refused?.code === "23H02" && refused.hint !== undefined, `${name}: a blind UPDATE is refused with its SQLSTATE`);
  // Ten people who all read version 1: one of them saves.
  const said = await Promise.all(Array.from({ length: 10 }, (_, i) => pool.query(update, [i, 1, 1]).then(() => "ok", (error) => error.code)));
  check(said.filter((it) => it === "ok").length === 1 && said.every((it) => ["ok", "23H02"].includes(it)), `${name}: of ten who read the same version one saves`);
  const { rows } = await pool.query(`SELECT version FROM ${table}`);
  check(rows[0].version === 2, `${name}: ... and the version moved once`);
  holdfast("guard", "remove", guarded, table);
  await pool.query(`DROP TABLE ${table}`);
  await pool.query(`DROP SCHEMA ${names} CASCADE`);
  await pool.end();
}
finish();
