#!/usr/bin/env node
// Every request that changes something, asked twice with the same Idempotency-Key, as a client does whose answer was lost: the second
// answer says the same, nothing is done twice, and the server lives.
import { Server, check, finish, statuses } from "./server.mjs";

const server = await Server.start();
const { token } = server;
let keys = 0;

async function twice(method, path, more) {
  const headers = { ...more?.headers, "Idempotency-Key": `again-${++keys}` };
  const first = await server.ask(method, path, { ...more, headers });
  const second = await server.ask(method, path, { ...more, headers });
  return [first, second];
}

async function newest() {
  const answer = await server.ask("GET", "/v1/audit-log?limit=1000", { token });
  return answer.json.events.length;
}

// NAME: both answers are good, `same` of them is equal, and together they left so many events
async function test(name, events, [method, path, more], same = (answer) => answer.text) {
  const before = await newest();
  const [first, second] = await twice(method, path, more);
  const left = (await newest()) - before;
  const good = first.status >= 200 && first.status < 300 && second.status >= 200 && second.status < 300;
  check(good && same(first) === same(second), `${name}: asked again it answers the same`,
    [first.status, first.text, second.status, second.text]);
  check(left === events, `${name}: and leaves ${events} event${events === 1 ? "" : "s"} in all`, `${left} events`);
  return [first, second];
}

const fence = (answer) => (answer.json?.locks ? answer.json.locks.map((lock) => lock.fence).join() : answer.json?.fence);
const nothing = () => "";

const [opened] = await test("opening a session", 1, ["POST", "/v1/sessions", { token, body: { user: "alice" } }],
  (answer) => `${answer.json.id}.${answer.json.key}`);
const alice = opened.json;
const bob = await server.open("bob");
const asAlice = (body) => ({ session: alice, body });

await test("taking a lock", 1, ["PUT", "/v1/locks/doc/1", asAlice({})], fence);
await test("taking several", 2, ["POST", "/v1/locks", asAlice({ locks: [{ resource: "doc/2" }, { resource: "doc/3" }] })], fence);
// These set what they say once more, to the same effect, and tell so.
await test("renewing", 2, ["PATCH", "/v1/locks/doc/1", asAlice({ ttl_seconds: 600 })], fence);
await test("making it shared", 1, ["PATCH", "/v1/locks/doc/2", asAlice({ mode: "shared" })], fence);
await test("asking for it", 2, ["POST", "/v1/locks/doc/1/request", { session: bob, body: { message: "please" } }], nothing);
await test("declining", 1, ["POST", "/v1/locks/doc/1/decline", asAlice({ session: bob.id, message: "no" })], fence);
await test("handing over", 2, ["POST", "/v1/locks/doc/1/hand-over", asAlice({ session: bob.id })], fence);

const version = (answer) => (answer.json?.versions ?? [answer.json]).map((one) => `${one.version}/${one.fence}`).join();
await test("saving", 1, ["PUT", "/v1/versions/note/1", { token, body: { user: "alice" }, headers: { "If-None-Match": "*" } }], version);
await test("saving a set", 2, ["POST", "/v1/versions/commit", { token, body: { user: "alice",
  save: [{ resource: "note/1", version: 1 }, { resource: "note/7", absent: true }], rely: [{ resource: "note/8", absent: true }] } }], version);
await test("deleting", 1, ["DELETE", "/v1/versions/note/1?user=alice", { token, headers: { "If-Match": '"2"' } }], version);

const released = await test("giving back", 1, ["DELETE", "/v1/locks/doc/3", { session: alice }], nothing);
check(released[0].status === 200 && released[0].json.resource === "doc/3", "giving back shows what was released");
check(released[1].status === 204 && released[1].text === "", "and asked again that there is no more to show", released[1].text);

// What was handed over and let go before it is asked again.
await server.ask("PUT", "/v1/locks/doc/4", { session: alice, body: {} });
const handed = { session: alice, body: { session: bob.id }, headers: { "Idempotency-Key": "handed" } };
const once = await server.ask("POST", "/v1/locks/doc/4/hand-over", handed);
await server.ask("DELETE", "/v1/locks/doc/4", { session: bob });
const later = await server.ask("POST", "/v1/locks/doc/4/hand-over", handed);
check(once.status === 200 && (later.status === 204 || later.status === 409), "a hand-over whose lock is gone is asked again without harm",
  [once.status, later.status, later.text]);

await server.ask("PUT", "/v1/locks/doc/5", { session: bob, body: {} });
await test("forcing it free", 1, ["POST", "/v1/locks/doc/5/force-release", { token, body: { reason: "test" } }], nothing);
await test("a beat", 0, ["POST", `/v1/sessions/${alice.id}/beat`, { session: alice }], (answer) => answer.json.locks);
await test("a type", 2, ["PUT", "/v1/types/again", { token, body: { policy: "exclusive-write" } }]);
const [made] = await test("making a token", 1, ["POST", "/v1/tokens", { token, body: { name: "again", roles: "use" } }],
  (answer) => answer.json.token);
await test("revoking it", 1, ["DELETE", `/v1/tokens/${made.json.id}`, { token }]);
await test("closing the session", 2, ["DELETE", `/v1/sessions/${alice.id}`, { session: alice }], nothing);

const batch = { ops: [{ op: "acquire", session: `${bob.id}.${bob.key}`, resource: "doc/6", request_id: "batch-1" }] };
const askBatch = () => server.ask("POST", "/v1/batch", { token, body: batch });
const batches = [await askBatch(), await askBatch()];
check(batches.every((answer) => answer.status === 200), "a batch is asked again", batches.map((answer) => answer.text));

// An empty key is none: what is drawn for one request is nobody else's.
const unnamed = { "Idempotency-Key": "" };
const drawn = async (path, body) => [
  await server.ask("POST", path, { token, headers: unnamed, body }),
  await server.ask("POST", path, { token, headers: unnamed, body }),
];
const sessions = await drawn("/v1/sessions", { user: "carol" });
check(sessions.every((answer) => answer.status === 201) && sessions[0].json.id !== sessions[1].json.id &&
  sessions[0].json.key !== sessions[1].json.key, "two sessions opened with an empty key are two", sessions.map((answer) => answer.text));
const tokens = await drawn("/v1/tokens", { name: "unnamed", roles: "use" });
check(tokens.every((answer) => answer.status === 201) && tokens[0].json.id !== tokens[1].json.id &&
  tokens[0].json.token !== tokens[1].json.token, "two tokens made with an empty key are two", tokens.map((answer) => answer.text));

// A key stands for one request: with another body it is refused, and what the first made is not told.
async function reused(path, key, first, others) {
  const ask = (body) => server.ask("POST", path, { token, body, headers: { "Idempotency-Key": key } });
  const before = await ask(first);
  check(before.status === 201, `${path} with the key ${key}`, before.text);
  const secret = before.json.key ?? before.json.token;
  for (const body of others) {
    const answer = await ask(body);
    check(answer.status === 422 && answer.json.code === "invalid" && answer.json.status === 422 && answer.json.message.includes("request id") &&
      !answer.text.includes(secret), `${path} with the same key and ${JSON.stringify(body)} is refused`, [answer.status, answer.text]);
  }
  const again = await ask(first);
  check(again.status === 201 && again.text === before.text, "and the first request is still answered as it was", again.text);
}
await reused("/v1/sessions", "reused-1", { user: "dave", idle_seconds: 600 },
  [{ user: "erin", idle_seconds: 600 }, { user: "dave", name: "Dave", idle_seconds: 600 }, { user: "dave" }]);
await reused("/v1/tokens", "reused-2", { name: "few", roles: "use:doc", expires_seconds: 3600 },
  [{ name: "few", roles: "admin", expires_seconds: 3600 }, { name: "few", roles: "use:doc" }, { name: "few", roles: "use:doc", users: "x", expires_seconds: 3600 }]);

// What is wrong with a request is wrong with a key too.
for (const [path, body] of [["/v1/tokens", { name: "odd", roles: "emperor" }], ["/v1/sessions", { user: "dave", idle_seconds: 600, key: "short" }]]) {
  const answer = await server.ask("POST", path, { token, body, headers: { "Idempotency-Key": "fresh" } });
  check(answer.status === 400 && answer.json.status === 400, `${path} with ${JSON.stringify(body)} is a 400`, answer.text);
}

// Neither does a key that handed a lock to one session say anything of another.
const [dan, eve] = [await server.open("dan"), await server.open("eve")];
const give = (to) => server.ask("POST", "/v1/locks/doc/7/hand-over", { session: bob, body: { session: to.id }, headers: { "Idempotency-Key": "give" } });
await server.ask("PUT", "/v1/locks/doc/7", { session: bob, body: {} });
const given = [await give(dan), await give(dan), await give(eve)];
check(statuses(given) === "200 200 409" && given[1].text === given[0].text, "a hand-over to another session is not taken for the first",
  given.map((answer) => answer.text));

check((await server.ask("GET", "/healthz")).status === 200, "the server lives");
const end = await server.stop();
check(end.code === 0, "and stops with 0", end);
finish();
