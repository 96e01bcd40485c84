#!/usr/bin/env node
// What the audit log has of who was refused and what was forced: every 401 and 403 once, within bounds for each caller; no 423; who, when and
// why of every forced act.
import { request } from "node:http";
import { check, finish, Server } from "./server.mjs";

const server = await Server.start(["--trust-proxy", "127.0.0.1"]);
const admin = server.token;
const must = async (method, path, how, status) => {
  const answer = await server.ask(method, path, how);
  if (answer.status !== status) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.json;
};
const token = (name, roles) => must("POST", "/v1/tokens", { token: admin, body: { name, roles } }, 201);
const open = (by, user) => must("POST", "/v1/sessions", { token: by, body: { user } }, 201);
// Callers that have shown nothing are told apart by their addresses.
let strangers = 0;
const address = () => `198.18.${++strangers >> 8}.${strangers & 255}`;
const from = (peer) => ({ "X-Forwarded-For": peer });

async function log(asked = server) {
  const all = [];
  for (let page, after = 0; page === undefined || page.length === 1000; after = page.at(-1)?.seq) {
    page = (await asked.ask("GET", `/v1/audit-log?limit=1000&after_seq=${after}`, { token: asked.token })).json.events;
    all.push(...page);
  }
  return all;
}
// Notes are written beside the answer, so they may come a moment later.
async function logUntil(condition, asked = server) {
  const until = Date.now() + 20000;
  for (;;) {
    const all = await log(asked);
    if (condition(all) || Date.now() > until) return all;
  }
}
const refusals = (all) => all.filter((event) => ["denied", "unauthenticated"].includes(event.kind));

// ---- every 401 and 403 ----

const document = (await server.ask("GET", "/openapi.json")).json;
const shop = await token("shop", "use");
const alice = await open(shop.token, "alice");
const bodies = {
  acquire: {}, change: {}, "acquire-all": { locks: [{ resource: "policy/1" }] }, lookup: { resources: ["policy/1"] }, "version-save": {}, "version-lookup": { resources: ["policy/1"] },
  "version-commit": { save: [{ resource: "policy/1", version: 1 }] }, request: {}, "hand-over": { session: alice.id }, decline: { session: alice.id }, "events-of-many": { resources: ["policy/1"] }, "event-ticket": { resources: ["policy/1"] },
  "force-release": { reason: "no" }, "session-open": { user: "eve" }, "session-close-beacon": { key: "0".repeat(64) }, "type-set": { policy: "optimistic" },
  "token-create": { name: "n", roles: "use" }, login: { secret: "0".repeat(64) }, batch: { ops: [{ op: "tokens" }] },
};
const queries = { events: "?resource=policy/1" };
const expected = []; // {sentence, fits}
const wrongKey = { id: alice.id, key: "0".repeat(64) };
const nothing = await token("nothing of policy", "use:other");
for (const [path, methods] of Object.entries(document.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    const id = operation.operationId;
    const anyone = !operation.security?.length || operation.security.some((way) => Object.keys(way).length === 0);
    const bySession = operation.security?.some((way) => "session" in way) ?? false;
    if (anyone && !["metrics", "session-close-beacon"].includes(id)) continue;
    const target = path.replace(/\{(\w+)\}/g, (_, name) => ({ type: "policy", id: "1", session: alice.id, token: nothing.id })[name]) + (queries[id] ?? "");
    const ask = (how) => server.ask(method.toUpperCase(), target, { body: bodies[id], ...how });
    const wanted = async (sentence, status, how, fits) => {
      const answer = await ask(how);
      const came = id === "batch" ? { unauthenticated: 401, denied: 403 }[answer.json.answers[0].status] : answer.status;
      if (came === status) expected.push({ sentence: `${id}: the ${status} of ${sentence} is noted`, fits });
      else check(false, `${id} answers ${status} to ${sentence}`, answer.text);
    };
    const stranger = address(), unknown = address(), guesser = address();
    const beacon = id === "session-close-beacon";
    if (!beacon) {
      await wanted("a stranger", 401, { headers: from(stranger) }, (event) => event.kind === "unauthenticated" && event.reason.startsWith(`from ${stranger}: `));
      const dead = { token: "f".repeat(64), headers: from(unknown) };
      if (!["release", "session-close"].includes(id))
        await wanted("an unknown token", 401, dead, (event) => event.kind === "unauthenticated" && event.reason.startsWith(`from ${unknown}: `));
    }
    if ((bySession && id !== "batch") || beacon)
      await wanted("a wrong key", 403, { session: wrongKey, headers: from(guesser) }, (event) => event.kind === "denied" && event.reason.startsWith(`from ${guesser}: `));
    if (["login", "login-show", "type-get", "types", "beat", "release", "session-close", "session-close-beacon"].includes(id)) continue;
    const narrow = await token(`narrow ${id}`, "manage:nothing");
    const session = bySession ? { session: await open(nothing.token, `narrow-${id}`) } : {};
    await wanted("a token that lacks a role", 403, { token: narrow.token, ...session, headers: from(address()) },
      (event) => event.kind === "denied" && event.actor === `narrow ${id}`);
  }
}

// What fetch can't be made to send.
function raw(method, path, headers) {
  return new Promise((resolve, reject) => {
    const [host, port] = server.address.split(":");
    request({ host, port, method, path, headers }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode));
    }).on("error", reject).end();
  });
}
for (const [sentence, status, path, headers] of [
  ["a Host that is not ours", 403, "/v1/locks", { host: "evil.example.com" }],
  ["a page of someone else's", 403, "/v1/locks", { origin: "https://evil.example.com" }],
  ["another way to authorise", 401, "/v1/locks", { authorization: "Basic YTpi" }],
]) {
  const peer = address();
  const came = await raw("GET", path, { ...headers, ...from(peer) });
  check(came === status, `${sentence} gets ${status}`, came);
  expected.push({ sentence: `${sentence} is noted`, fits: (event) => event.reason?.startsWith(`from ${peer}: `) });
}
const csrf = address();
await raw("DELETE", "/v1/tokens/" + "0".repeat(32), { cookie: `__Host-holdfast=${admin}`, ...from(csrf) });
expected.push({ sentence: "a change by a cookie alone is noted", fits: (event) => event.kind === "denied" && event.reason.startsWith(`from ${csrf}: `) });
const inBatch = address();
const op = { op: "release", session: `${alice.id}.${"0".repeat(64)}`, resource: "policy/1" };
await server.ask("POST", "/v1/batch", { token: shop.token, body: { ops: [op] }, headers: from(inBatch) });
expected.push({ sentence: "a wrong key in a batch is noted", fits: (event) => event.kind === "denied" && event.reason.startsWith(`from ${inBatch}: `) });

const all = refusals(await logUntil((events) => expected.every(({ fits }) => refusals(events).some(fits))));
for (const { sentence, fits } of expected) {
  const found = all.filter(fits);
  check(found.length === 1, sentence, `${found.length} times: ${JSON.stringify(found)}`);
}
check(all.length === expected.length, `nothing else is noted: ${all.length}`, all.filter((event) => !expected.some(({ fits }) => fits(event))));
check(all.every((event) => Date.parse(event.at) > Date.now() - 300000 && event.reason), "all say when and why");
const record = all.find((event) => event.actor === "narrow acquire");
check(record?.resource === "policy/1" && record?.user === "narrow-acquire", "a note names the record, and who works", record);

// ---- bounds ----

const noisy = await token("noisy", "use"), quiet = await token("quiet", "use");
const crowd = Array.from({ length: 20 }, address);
for (let i = 0; i < 60; i++) {
  await server.ask("GET", "/v1/tokens", { token: noisy.token });
  await server.ask("GET", "/v1/tokens", { headers: from(crowd[i % 2]) });
}
await server.ask("GET", "/v1/tokens", { token: quiet.token });
for (const peer of crowd.slice(2)) await server.ask("GET", "/v1/tokens", { headers: from(peer) });
const ofCrowd = (events, peer) => events.filter((event) => event.reason?.startsWith(`from ${peer}`)).length;
const bounded = refusals(await logUntil((events) => crowd.slice(2).every((peer) => ofCrowd(events, peer) === 1)));
const ofNoisy = bounded.filter((event) => event.actor === "noisy").length;
check(ofNoisy >= 10 && ofNoisy <= 20, "of one token that is denied 60 times some are noted", ofNoisy);
for (const peer of crowd.slice(0, 2)) check(ofCrowd(bounded, peer) >= 10 && ofCrowd(bounded, peer) <= 20, "of one address, too", ofCrowd(bounded, peer));
check(bounded.filter((event) => event.actor === "quiet").length === 1, "another token's refusal is noted still");
check(crowd.slice(2).every((peer) => ofCrowd(bounded, peer) === 1), "other addresses' too");

// ---- a 423 is only counted ----

const counted = async () => {
  const { text } = await server.ask("GET", "/metrics", { token: admin });
  return [...text.matchAll(/^holdfast_refusals_total\{type="[^"]*"\} (\d+)$/gm)].reduce((sum, row) => sum + Number(row[1]), 0);
};
const bob = await open(shop.token, "bob");
await must("PUT", "/v1/locks/policy/busy", { session: alice, body: {} }, 201);
const before = (await log()).length, counts = await counted();
for (let i = 0; i < 5; i++) await must("PUT", "/v1/locks/policy/busy", { session: bob, body: {} }, 423);
await server.ask("GET", "/v1/tokens", { headers: from("198.19.0.1") }); // comes after what there would be
const since = (await logUntil((events) => ofCrowd(events, "198.19.0.1") === 1)).slice(before);
check(since.length === 1, "a 423 leaves no event", since);
check((await counted()) === counts + 5, "it is counted", await counted());

// ---- forced acts ----

const boss = await token("the boss's console", "manage");
const held = (await must("GET", "/v1/locks/policy/busy", { token: admin }, 200)).holders[0];
await must("POST", "/v1/locks/policy/busy/force-release", { token: boss.token, body: { reason: "on holiday until Monday", actor: "carla" } }, 200);
await must("PUT", "/v1/locks/policy/busy", { session: bob, body: {} }, 201);
await must("POST", "/v1/locks/policy/busy/force-release", { token: boss.token, body: { reason: "no actor named" } }, 200);
await must("DELETE", `/v1/tokens/${quiet.id}`, { token: admin }, 200);
const forced = (await log()).filter((event) => event.kind === "forced");
check(forced.length === 2 && forced[0].actor === "carla" && forced[0].reason === "on holiday until Monday" && forced[0].resource === "policy/busy" &&
  forced[0].user === "alice" && forced[0].session === alice.id && forced[0].fence === held.fence, "a forced act is there: who, what, whose, why", forced);
check(Math.abs(Date.parse(forced[0]?.at) - Date.now()) < 60000, "and when", forced[0]?.at);
check(forced[1]?.actor === "the boss's console" && forced[1]?.reason === "no actor named", "without a person it is the token's name", forced[1]);
const revoked = (await log()).filter((event) => event.kind === "token_revoked");
check(revoked.length === 1 && revoked[0].actor === "first start" && revoked[0].reason.includes(quiet.id), "so is a token that was revoked", revoked);

// ---- nobody writes their address themselves ----

const plain = await Server.start([]);
await plain.ask("GET", "/v1/tokens", { headers: { "X-Forwarded-For": "203.0.113.9", Forwarded: "for=203.0.113.9" } });
const claimed = refusals(await logUntil((events) => refusals(events).length > 0, plain));
check(claimed.length === 1 && claimed[0].reason.startsWith("from 127.0.0.1: "), "a proxy that is not trusted does not say who it speaks for", claimed);
check((await plain.stop()).code === 0 && (await server.stop()).code === 0, "both stop cleanly");
finish();
