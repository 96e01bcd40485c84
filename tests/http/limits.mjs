#!/usr/bin/env node
// How much one caller may ask, and that nobody can use up what is another's: buckets belong to tokens, to sessions whose key was shown, and to the
// addresses of everyone else.
import { check, finish, Server, statuses, times } from "./server.mjs";
import { Holder, metrics, until } from "./raw.mjs";

const late = (answers) => answers.filter((answer) => answer.status === 429);

// ---- a session's bucket is its own ----

const sessions = await Server.start(["--rate-session", "1", "--burst-session", "20", "--rate-address", "0"]);
const alice = await sessions.open("alice");
const wrong = { id: alice.id, key: "0".repeat(64) };
const routes = [["PUT", "/v1/locks/policy/1", {}], ["DELETE", "/v1/locks/policy/1"], ["POST", `/v1/sessions/${alice.id}/beat`], ["DELETE", `/v1/sessions/${alice.id}`],
  ["GET", "/v1/locks/policy/1"], ["GET", "/v1/types"], ["POST", "/v1/locks/policy/1/request", {}]];
for (const [method, path, body] of routes) {
  const answers = await times(15, () => sessions.ask(method, path, { session: wrong, body }));
  check(answers.every((answer) => answer.status === 403), `${method} ${path.replace(alice.id, "{session}")} with a wrong key is refused`, statuses(answers));
}
await times(15, () => sessions.ask("POST", `/v1/sessions/${alice.id}/close`, { body: { key: wrong.key } }));
await times(15, () => sessions.ask("POST", "/v1/batch", { body: { ops: [{ op: "beat", session: `${alice.id}.${wrong.key}` }] } }));
const denied = [await sessions.ask("DELETE", "/v1/locks/policy/1", { session: wrong }), await sessions.ask("DELETE", `/v1/sessions/${alice.id}`, { session: wrong })];
check(denied.every((answer) => answer.json.detail === `The key is not that of session ${alice.id}; present the key it was opened with.`) && denied[0].json.resource === "policy/1",
  "giving back with a wrong key is refused in the store's words", denied.map((answer) => answer.text).join(" "));
const told = await metrics(sessions);
check(["close", "release"].every((op) => told(`holdfast_ops_total{op="${op}",status="denied"}`) === 0), "for which the store does not load what the session holds");
const own = await times(15, () => sessions.ask("POST", `/v1/sessions/${alice.id}/beat`, { session: alice }));
check(own.every((answer) => answer.status === 200), "who knows only a session's public id does not use up what it may ask", statuses(own));
const more = await times(30, () => sessions.ask("POST", `/v1/sessions/${alice.id}/beat`, { session: alice }));
check(late(more).length >= 15 && late(more).every((answer) => Number(answer.headers.get("retry-after")) >= 1 && answer.json.code === "too_many"),
  "what it may ask has an end, and it is told when to come back", statuses(more));
const bob = await sessions.open("bob");
check((await sessions.ask("POST", `/v1/sessions/${bob.id}/beat`, { session: bob })).status === 200, "another session is not concerned");
check((await sessions.ask("GET", "/v1/types", { token: sessions.token, session: alice })).status === 200, "a token's bucket is another");
check((await sessions.stop()).code === 0, "it stops cleanly");

// ---- an address has one for those who have shown nothing ----

const addresses = await Server.start(["--rate-address", "1", "--burst-address", "20", "--trust-proxy", "127.0.0.1"]);
const carol = await addresses.open("carol");
const from = (peer) => ({ "X-Forwarded-For": peer });
let peers = 0;
const guesses = {
  "requests without a token": () => ["GET", "/v1/locks", {}],
  "unknown tokens": (i) => ["GET", "/v1/locks", { token: i.toString(16).padStart(64, "0") }],
  "wrong keys": (i) => ["PUT", "/v1/locks/policy/1", { session: { id: carol.id, key: i.toString(16).padStart(64, "0") }, body: {} }],
  "wrong keys for giving back": (i) => ["DELETE", "/v1/locks/policy/1", { session: { id: carol.id, key: i.toString(16).padStart(64, "0") } }],
  "sessions that never were": (i) => ["POST", `/v1/sessions/${i.toString(16).padStart(32, "0")}/beat`, { session: { id: i.toString(16).padStart(32, "0"), key: "1".repeat(64) } }],
  "wrong keys in a beacon": (i) => ["POST", `/v1/sessions/${carol.id}/close`, { body: { key: i.toString(16).padStart(64, "0") } }],
  "wrong secrets at the login": (i) => ["POST", "/v1/login", { body: { secret: i.toString(16).padStart(64, "0") } }],
  "batches of strangers": (i) => ["POST", "/v1/batch", { body: { ops: [{ op: "session-find", session: `${carol.id}.${i.toString(16).padStart(64, "0")}` }] } }],
};
for (const [what, ask] of Object.entries(guesses)) {
  const peer = `198.18.0.${++peers}`;
  const answers = await times(60, (i) => {
    const [method, path, how] = ask(i);
    return addresses.ask(method, path, { ...how, headers: from(peer) });
  });
  check(late(answers).length >= 30 && answers.slice(0, 15).every((answer) => answer.status !== 429), `from one address ${what} are answered for a while`, statuses(answers));
  const meanwhile = [await addresses.ask("GET", "/v1/types", { token: addresses.token, headers: from(peer) }), await addresses.ask("POST", `/v1/sessions/${carol.id}/beat`, { session: carol, headers: from(peer) })];
  check(meanwhile.every((answer) => answer.status === 200), "a token and a session that count are not concerned, from that address either", statuses(meanwhile));
}

// What it can no longer pay for is not looked up, and all addresses of an IPv6 network pay together.
const reads = async () => (await metrics(addresses))('holdfast_batch_ops_sum{work="read"}');
let guess = 1000;
for (const [what, ask] of Object.entries(guesses)) {
  if (what === "requests without a token") continue;
  const network = `2001:db8:0:${++peers}`, host = () => from(`${network}:${(++guess).toString(16)}::${peers}`);
  const asked = () => {
    const [method, path, how] = ask(++guess);
    return addresses.ask(method, path, { ...how, headers: host() });
  };
  const began = Date.now();
  const answers = await times(40, asked), before = await reads();
  answers.push(...(await times(40, asked)));
  for (let round = 0; round < 2; round++) answers.push(...(await Promise.all(Array.from({ length: 40 }, asked))));
  // One more may ask each second. Those that come at once when one may are all looked up, and owed: so that happens once.
  const grown = (await reads()) - before, elapsed = Math.ceil((Date.now() - began) / 1000);
  check(late(answers).length >= 95 - elapsed && grown <= 45 + elapsed, `${what} from a network that asks too often are not looked up: ${grown} reads for 120`, statuses(answers));
  check(late(answers).every((answer) => Number(answer.headers.get("retry-after")) >= 1), "it is told when to come back");
  const meanwhile = [await addresses.ask("GET", "/v1/types", { token: addresses.token, headers: host() }), await addresses.ask("POST", `/v1/sessions/${carol.id}/beat`, { session: carol, headers: host() })];
  check(meanwhile.every((answer) => answer.status === 200), "whom the server knows goes on from there", statuses(meanwhile));
}
check((await addresses.ask("GET", "/v1/locks", { token: "f".repeat(64), headers: from("2001:db8:1::1") })).status === 401, "another network is not concerned");
const giving = await times(60, () => addresses.ask("POST", "/v1/batch", { body: { ops: [{ op: "release", session: `${carol.id}.${carol.key}`, resource: "policy/1" }] }, headers: from("198.18.0.1") }));
check(giving.every((answer) => answer.status === 200), "a batch in which a session only gives back counts for that session, not for its address", statuses(giving));
const invented = (i) => `${(i + 1).toString(16).padStart(32, "0")}.${"1".repeat(64)}`;
const many = (op, session = invented, count = 1024) => ({ ops: Array.from({ length: count }, (_, i) => ({ op, session: session(i), ...(op === "release" && { resource: "policy/1" }) })) });
const whole = await times(3, () => addresses.ask("POST", "/v1/batch", { body: many("beat"), headers: from("198.18.2.1") }));
check(statuses(whole) === "200 429 429" && whole[0].json.answers.every((answer) => answer.status === "not_found"), "a batch larger than the burst takes all of it, and is let through when it is full", statuses(whole));
const elsewhere = await addresses.ask("GET", "/v1/locks", { headers: from("198.18.1.1") });
check(elsewhere.status === 401, "another address is not concerned", elsewhere.text);
check((await addresses.ask("GET", "/healthz", { headers: from("198.18.0.1") })).status === 200, "what is for everyone stays so");
check((await addresses.stop()).code === 0, "it stops cleanly");

// ---- strangers pay for each op ----

const crowd = await Server.start(["--rate-address", "1", "--burst-address", "3000", "--rate-token", "1", "--burst-token", "200", "--rate-session", "1", "--burst-session", "50",
  "--trust-proxy", "127.0.0.1"]);
const erin = await crowd.open("erin");
const erins = `${erin.id}.${erin.key}`;
const strange = { "beats": "beat", "releases": "release", "releases of all": "release-all", "closes": "close", "looks at sessions": "session-find" };
peers = 0;
for (const [what, op] of Object.entries(strange)) {
  const peer = from(`198.18.3.${++peers}`);
  const owner = await times(3, () => crowd.ask("POST", "/v1/batch", { token: crowd.token, body: many(op), headers: peer }));
  check(owner.every((answer) => answer.status === 200), `a token's batches of many ${what} are not charged to its address, and count as one request each`, statuses(owner));
  const answers = await times(3, () => crowd.ask("POST", "/v1/batch", { body: many(op), headers: peer }));
  const read = (await metrics(crowd))('holdfast_batch_ops_sum{work="read"}');
  answers.push(...(await times(3, () => crowd.ask("POST", "/v1/batch", { body: many(op), headers: peer }))));
  check((await metrics(crowd))('holdfast_batch_ops_sum{work="read"}') - read < 1024, "what is refused is not looked up either");
  check(statuses(answers) === "200 200 429 429 429 429" && answers[0].json.answers.length === 1024, `a stranger pays for each of many ${what} of sessions that never were`, statuses(answers));
  const waits = late(answers).map((answer) => Number(answer.headers.get("retry-after")));
  check(waits.every((wait) => wait > 1 && wait <= 1024 - (3000 - 2 * 1024) + waits.length), "and is told when there is room for that again", waits);
  const few = await crowd.ask("POST", "/v1/batch", { body: many(op, invented, 100), headers: peer });
  check(few.status === 200, "less is answered meanwhile", few.text);
  const spent = await crowd.ask("POST", "/v1/batch", { token: "f".repeat(64), body: many(op), headers: peer });
  check(spent.status === 429, "a token that is none changes nothing", spent.text);
  const taken = await crowd.ask("PUT", "/v1/locks/policy/9", { session: erin, body: {}, headers: peer });
  const meanwhile = [await crowd.ask("POST", `/v1/sessions/${erin.id}/beat`, { session: erin, headers: peer }), await crowd.ask("DELETE", "/v1/locks/policy/9", { session: erin, headers: peer }),
    await crowd.ask("GET", "/v1/types", { token: crowd.token, headers: peer }), await crowd.ask("POST", "/v1/batch", { body: many("beat", () => erins), headers: peer }),
    await crowd.ask("POST", "/v1/batch", { token: crowd.token, body: many(op), headers: peer })];
  check(taken.status === 201 && meanwhile.every((answer) => answer.status === 200), "a session's work and a token's go on, from that address too", statuses([taken, ...meanwhile]));
}
const oneByOne = await times(200, (i) => crowd.ask("POST", "/v1/batch", { body: many("beat", () => invented(5000 + i), 1), headers: from("198.18.4.1") }));
check(oneByOne.every((answer) => answer.status === 200), "one session alone is looked up for one request's price", statuses(oneByOne));
const people = [];
for (let i = 0; i < 40; i++) people.push(await crowd.open(`user-${i}`));
const newcomer = await Server.start(["--rate-address", "1", "--burst-address", "100", "--trust-proxy", "127.0.0.1"], { data: crowd.data });
const theirs = () => newcomer.ask("POST", "/v1/batch", { body: many("beat", (i) => `${people[i % 40].id}.${people[i % 40].key}`, 400), headers: from("198.18.5.1") });
const first = [await theirs(), await newcomer.ask("POST", "/v1/batch", { body: many("beat", invented, 70), headers: from("198.18.5.1") }), await theirs()];
check(statuses(first) === "200 429 200" && first[0].json.answers.every((answer) => answer.status === "ok"), "sessions that a server does not know yet are paid for each once, by the address; then they are known", statuses(first));
check((await newcomer.stop()).code === 0 && (await crowd.stop()).code === 0, "they stop cleanly");

// ---- how many at once ----

const quotas = await Server.start(["--streams-token", "2", "--requests-token", "3"]);
const listen = async () => {
  const stop = new AbortController();
  const response = await fetch(`${quotas.url}/v1/events`, { headers: { Authorization: `Bearer ${quotas.token}` }, signal: stop.signal });
  return { status: response.status, stop };
};
const streams = [await listen(), await listen(), await listen()];
check(streams.map((stream) => stream.status).join() === "200,200,429", "so many streams at a time", streams.map((stream) => stream.status));
streams[0].stop.abort();
let again;
await until(async () => (again = await listen()).status === 200);
check(again.status === 200, "when one ends there is room for another", again.status);
[streams[1], again].forEach((stream) => stream.stop.abort());

const dora = await quotas.open("dora");
const holder = new Holder(quotas);
let answered = [];
for (let round = 0; round < 3 && late(answered).length < 3; round++) { // on a machine that stands still some come when others have their answer
  await holder.hold();
  const parked = Array.from({ length: 6 }, (_, i) => quotas.ask("PUT", `/v1/locks/policy/${round}-${i}`, { token: quotas.token, session: dora, body: {} }));
  const early = [];
  parked.forEach((one) => one.then((answer) => early.push(answer)));
  await until(() => late(early).length === 3, 450);
  await holder.letGo();
  answered = await Promise.all(parked);
}
holder.done();
check(answered.filter((answer) => [201, 423].includes(answer.status)).length === 3 && late(answered).length === 3, "so many requests under way at a time", statuses(answered));
check((await quotas.ask("GET", "/v1/types", { token: quotas.token })).status === 200, "afterwards there is room again");
check((await quotas.stop()).code === 0, "it stops cleanly");

// ---- how much at once ----

const MOST = 64 << 20; // bytes of an answer, head and all
const large = await Server.start();
const wide = "x".repeat(250);
const shelf = `policy/${wide}`, desk = `desk/${wide}`, empty = (size) => `claim/${"x".repeat(size)}`;
for (let i = 0; i < 60; i++) {
  const reader = await large.open(`${wide}${i}`, { name: wide });
  const locks = [{ resource: shelf, mode: "shared", purpose: wide }, { resource: desk, purpose: wide }].slice(0, i === 0 ? 2 : 1);
  await large.ask("POST", "/v1/locks", { session: reader, body: { locks } });
}
const lookUp = (resources) => large.ask("POST", "/v1/locks/lookup", { token: large.token, body: { resources } });
const frame = '{"resources":[]}'.length - 1; // and a comma less
const sizeOf = async (resource) => (await lookUp([resource])).text.length - frame;
const crowded = await sizeOf(shelf), one = await sizeOf(desk), none = await sizeOf(empty(1));
check(crowded * 1000 > MOST + 1000000, "a thousand such records are more than can be sent", crowded);
// As long as can be, but that there is no room left for a head.
const near = Array(Math.floor((MOST - 2000) / crowded)).fill(shelf);
let room = MOST - 20 - frame - near.length * crowded;
for (; room > one + 400; room -= one) near.push(desk);
for (; room > 400; room -= none + 99) near.push(empty(100));
near.push(empty(Math.floor(room / 2) - none + 1), empty(Math.ceil(room / 2) - none + 1));
const much = [await lookUp(Array(1000).fill(shelf)), await lookUp(near)];
check(near.length <= 1000 && much.every((answer) => answer.status === 413 && answer.json.code === "too_large" && answer.json.message.endsWith("Ask for less at once.")),
  "an answer that can't be sent is a 413", [near.length, ...much.map((answer) => `${answer.status} ${answer.text.slice(0, 300)}`)]);
const seen = await metrics(large);
check(seen('holdfast_http_requests_total{route="lookup",method="POST",code="4xx"}') === 2 &&
  seen('holdfast_http_requests_total{route="lookup",method="POST",code="2xx"}') === 3, "and the metrics say so");
check((await lookUp(near.slice(-3))).status === 200, "less is answered");
// What was done is not refused, whatever can be told of it.
const clerk = await large.open("clerk");
const looks = Array(1000).fill({ op: "who", resource: `policy/${wide}` });
const mixed = await large.ask("POST", "/v1/batch", { token: large.token, body: { ops: [{ op: "acquire", session: `${clerk.id}.${clerk.key}`, resource: "claim/1" }, ...looks] } });
check(mixed.status === 504 && mixed.json.code === "unsure" && mixed.json.message.startsWith("The batch was carried out"),
  "of a batch that has changed something it is unsure", `${mixed.status} ${mixed.text.slice(0, 300)}`);
check((await lookUp(["claim/1"])).json.resources[0].holders.length === 1, "and it is done");
check((await large.stop()).code === 0, "it stops cleanly");

// ---- what streams follow, together ----

const followed = await Server.start(["--names-token", "64K", "--streams-session", "0"]);
const made = async () => (await followed.ask("POST", "/v1/tokens", { token: followed.token, body: { name: "watcher", roles: "use observe" } })).json.token;
const names = (count) => Array.from({ length: count }, (_, i) => `policy/${i}-${"x".repeat(240)}`);
const follow = async (headers, count = 150) => {
  const stop = new AbortController();
  const response = await fetch(`${followed.url}/v1/events`, { method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify({ resources: names(count) }), signal: stop.signal });
  return { status: response.status, stop, json: response.status === 200 ? undefined : await response.json() };
};
const bearers = [];
for (let i = 0; i < 6; i++) bearers.push(await made());
const byToken = (i) => ({ Authorization: `Bearer ${bearers[i]}` });
const opener = (await followed.ask("POST", "/v1/sessions", { token: bearers[0], body: { user: "fay" } })).json;
const bySession = { "Holdfast-Session": `${opener.id}.${opener.key}` };
const mine = [await follow(byToken(0)), await follow(bySession)];
check(mine[0].status === 200 && mine[1].status === 429 && mine[1].json.code === "too_many" && /65536 bytes .*names-token/.test(mine[1].json.message), "what the streams of a token and its sessions follow is bounded together", mine[1].json);
check((await follow(bySession, 20)).status === 200, "a few more fit");
const others = [];
for (let i = 1; i < 6; i++) for (let j = 0; j < 2; j++) others.push(await follow(byToken(i), 110));
check(others.map(({ status }) => status).join(" ") === "200 200 200 200 200 200 200 429 429 429" && /All streams/.test(others[7].json.message), "so is what all follow", others.map(({ status }) => status));
for (const one of [...mine, ...others]) one.stop.abort();
let free;
check(await until(async () => (free = await follow(byToken(5))).status === 200), "streams that end make room", free?.json);
free.stop.abort();
check((await followed.stop()).code === 0, "it stops cleanly");
finish();
