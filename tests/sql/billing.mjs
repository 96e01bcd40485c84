#!/usr/bin/env node
// The billing story from node-postgres: a tax is computed from an address, which changes before the bill is saved. With a premise
// that is refused, and without it goes unnoticed.
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { check, finish } from "../http/server.mjs";

const { Client } = createRequire(process.env.HF_NPM + "/")("pg");
const url = process.env.HF_TEST_POSTGRES, names = `node${process.pid}`;
const store = `${url}${url.includes("?") ? "&" : "?"}namespace=${names}`;
const [, user, database, query] = /^postgres:\/\/([^@]*)@\/([^?]*)\?(.*)$/.exec(url);
const holdfast = (...words) => execFileSync(process.env.HOLDFAST, words, { encoding: "utf8" });

const connect = async () => {
  const client = new Client({ user, database, ...Object.fromEntries(new URLSearchParams(query)) });
  await client.connect();
  return client;
};
const expect = (client, type, id, version) => client.query(`SELECT ${names}.expect($1, $2, $3)`, [type, id, version]);
const save = async (client, type, id, version, by) =>
  (await client.query(`SELECT ${names}.save($1, $2, $3, $4) AS fence`, [type, id, version, by])).rows[0].fence;

// Runs it in a transaction; the error, if it was refused.
async function transaction(client, work) {
  await client.query("BEGIN");
  try {
    await work();
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK");
    return error;
  }
}

holdfast("install", store);
const alice = await connect(), bob = await connect();
try {
  await alice.query(`CREATE TABLE ${names}.address (id int PRIMARY KEY, town text); CREATE TABLE ${names}.bill (id int PRIMARY KEY, tax text)`);
  let fence;
  await transaction(alice, async () => {
    fence = await save(alice, "address", "7", null, "alice");
    await alice.query(`INSERT INTO ${names}.address VALUES (7, 'Bern')`);
  });
  check(/^\d{16}$/.test(fence), "a save answers its fence", fence);

  const load = `SELECT a.town, v.version FROM ${names}.address a JOIN ${names}.versions v ON v.type = 'address' AND v.id = a.id::text`;
  const { town, version } = (await bob.query(load)).rows[0];
  const tax = `8.1 % of ${town}`;
  const bill = async () => {
    await save(bob, "bill", "1", null, "bob");
    await bob.query(`INSERT INTO ${names}.bill VALUES (1, $1)`, [tax]);
  };
  const moved = await transaction(alice, async () => {
    await save(alice, "address", "7", version, "alice");
    await alice.query(`UPDATE ${names}.address SET town = 'Munich'`);
  });
  check(moved === undefined, "Alice changes the address by the version she read", moved);
  const bills = async () => (await bob.query(`SELECT tax FROM ${names}.bill`)).rows.map((row) => row.tax).join();
  const refused = await transaction(bob, async () => {
    await expect(bob, "address", "7", version);
    await bill();
  });
  check(refused?.code === "23H02" && /^address\/7 was changed by alice at .* \(you read version 1, it is now 2\)\.$/.test(refused.message),
    "with a premise the change of the address is noticed", refused);
  check((await bills()) === "", "... and no bill is saved", await bills());
  check((await transaction(bob, bill)) === undefined && (await bills()) === "8.1 % of Bern",
    "without one it goes unnoticed: the tax is that of the old address", await bills());

  // While Bob's transaction is open, the address stays as he has read it.
  let done = false;
  await bob.query("BEGIN");
  await expect(bob, "address", "7", 2);
  const waits = transaction(alice, () => save(alice, "address", "7", 2, "alice")).then((error) => ((done = true), error));
  await new Promise((resolve) => setTimeout(resolve, 200));
  check(!done, "what is relied on waits until the bill is saved");
  await save(bob, "bill", "1", 1, "bob");
  await bob.query("COMMIT");
  check((await waits) === undefined, "... and then changes");
} finally {
  await alice.query(`DROP TABLE IF EXISTS ${names}.address, ${names}.bill`);
  await Promise.all([alice.end(), bob.end()]);
  holdfast("uninstall", store, "--force");
}
finish();
