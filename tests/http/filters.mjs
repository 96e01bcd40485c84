#!/usr/bin/env node
// The audit log with its filters, forwards and backwards: what a client that reads it whole would pick. Then the history of the plots.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { check, finish, Server } from "./server.mjs";

const data = mkdtempSync(join(tmpdir(), "holdfast-http-"));
const server = await Server.start([], { data });
const token = server.token;
const get = async (query) => server.ask("GET", `/v1/audit-log?${new URLSearchParams(query)}`, { token });
const batch = (ops) => server.ask("POST", "/v1/batch", { token, body: { ops } });

// ---- some 3,600 events of three people ----

const people = [];
for (const user of ["ann", "bob", "eve"]) people.push(await server.open(user));
const key = (session) => `${session.id}.${session.key}`;
for (let round = 0; round < 3; round++) {
  const ops = [];
  for (let i = 0; i < 400; i++) {
    const session = key(people[i % 3]);
    const type = i % 7 ? "policy" : "claim";
    ops.push({ op: "acquire", resource: `${type}/${round}-${i}`, session });
    ops.push({ op: "release", resource: `${type}/${round}-${i}`, session });
  }
  const { status, text } = await batch(ops);
  if (status !== 200) throw new Error(text);
}
await server.ask("PUT", "/v1/locks/policy/7", { session: people[0], body: { purpose: "renewal" } });
await server.ask("POST", "/v1/locks/policy/7/force-release", { token, body: { reason: "left", actor: "bob" } });

// The whole log by pages; `query` has after_seq or before_seq.
async function walk(query, by) {
  const events = [];
  let pages = 0;
  for (let next = query[by]; next !== null; pages++) {
    const { status, json, text } = await get({ ...query, [by]: next });
    if (status !== 200) throw new Error(text);
    events.push(...json.events);
    next = json.next;
  }
  return { events, pages };
}
const seqs = (events) => events.map(({ seq }) => seq).join(" ");

const { events: all } = await walk({ limit: 1000, after_seq: 0 }, "after_seq");
check(all.length > 2400, `there are ${all.length} events`);
const middle = all[1200].at;
for (const [query, passes] of [
  [{}, () => true],
  [{ type: "claim" }, ({ resource }) => resource?.startsWith("claim/")],
  [{ resource: "policy/7" }, ({ resource }) => resource === "policy/7"],
  [{ user: "bob" }, ({ user, actor }) => user === "bob" || actor === "bob"],
  [{ kind: "forced" }, ({ kind }) => kind === "forced"],
  [{ kind: "released", user: "eve" }, ({ kind, user }) => kind === "released" && user === "eve"],
  [{ since: middle }, ({ at }) => at >= middle],
  [{ until: middle }, ({ at }) => at < middle],
  [{ until: "2020-01-01" }, () => false],
]) {
  const wanted = all.filter(passes);
  const forwards = await walk({ ...query, limit: 150, after_seq: 0 }, "after_seq");
  check(seqs(forwards.events) === seqs(wanted), `forwards by ${JSON.stringify(query)}: ${wanted.length}`, `${forwards.events.length}`);
  const backwards = await walk({ ...query, limit: 150, before_seq: 0 }, "before_seq");
  check(seqs(backwards.events) === seqs(wanted.toReversed()), `backwards by ${JSON.stringify(query)}`, `${backwards.events.length}`);
}
const one = await get({ before_seq: 0, limit: 1 });
check(one.json.events[0].seq === all.at(-1).seq && one.json.next === all.at(-1).seq, "the newest is the first, backwards", one.text);

for (const query of [{ kind: "bogus" }, { since: "yesterday" }, { until: "2026-02-30" }, { before_seq: 1, after_seq: 1 }, { type: "a", resource: "a/1" }, { resource: "nothing" }])
  check((await get(query)).status === 400, `${JSON.stringify(query)} is refused`);

// ---- after a sweep of old events what is kept longer is still found ----

await server.stop();
const swept = await Server.start(["--keep-events", "1s", "--keep-forced", "7d", "--sweep-interval", "1s"], { data });
const left = async () => (await swept.ask("GET", "/v1/audit-log?before_seq=0&limit=1000", { token })).json;
let now = await left();
for (let i = 0; i < 150 && now.events.length > 100; i++) {
  await new Promise((resolve) => setTimeout(resolve, 200));
  now = await left();
}
const forced = await swept.ask("GET", "/v1/audit-log?before_seq=0&kind=forced", { token });
check(now.events.length < 100 && forced.json.events.length === 1 && forced.json.next === null, "what is kept longer is found where the rest is gone", forced.text);

// ---- the history ----

let history;
for (let i = 0; i < 100; i++) {
  history = (await swept.ask("GET", "/v1/history", { token })).json;
  if (history.at.length > 0 && history.locks.at(-1) !== null) break;
  await new Promise((resolve) => setTimeout(resolve, 200));
}
const columns = ["locks", "sessions", "granted", "refused", "requested", "saved"];
check(history.at.length > 0 && history.locks.at(-1) === 0 && columns.every((name) => history[name].length === history.at.length), "the history has samples", history);
check((await swept.ask("GET", "/v1/history?span=week", { token })).status === 400, "a span that is none is refused");
await swept.stop();
rmSync(data, { recursive: true, force: true });
finish();
