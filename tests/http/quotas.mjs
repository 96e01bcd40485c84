#!/usr/bin/env node
// How much may be held: locks by one session, live sessions by one token. Q1 to Q7 stand in server/access/quotas.h.
import { check, finish, Server, statuses, times } from "./server.mjs";
import { metrics, until } from "./raw.mjs";

const atOnce = (count, ask) => Promise.all(Array.from({ length: count }, (_, i) => ask(i)));
const having = (answers, status) => answers.filter((answer) => answer.status === status).length;
const take = (server, session, id, more = {}) => server.ask("PUT", `/v1/locks/policy/${id}`, { session, body: {}, ...more });
const giveBack = (server, session, id) => server.ask("DELETE", `/v1/locks/policy/${id}`, { session });
const held = async (server, session) => (await server.ask("GET", `/v1/locks?session=${session.id}&limit=1000`, { token: server.token })).json.locks.length;
const login = (session) => `${session.id}.${session.key}`;
const batch = async (server, ops, token) => (await server.ask("POST", "/v1/batch", { body: { ops }, token })).json.answers;
const acquire = (session, id, more = {}) => ({ op: "acquire", session: login(session), resource: `policy/${id}`, ...more });
const words = (answers) => answers.map((answer) => answer.status).join(" ");
const counted = async (server, body) => (await batch(server, [{ op: "count", ...body }], server.token))[0];

// ---- locks of one session, one after the other ----

const one = await Server.start(["--locks-session", "10", "--rate-session", "0"]);
const alice = await one.open("alice");
const first = await times(12, (i) => take(one, alice, i));
check(having(first.slice(0, 10), 201) === 10 && having(first, 429) === 2, "a session may hold ten locks, and not one more", statuses(first));
const no = first[11];
check(no.json.code === "too_many" && no.json.message === "The session holds 10 locks, as many as one session may on this server (locks-session): release some first.",
  "it is told which limit it is, and what to do", no.text);
check(no.headers.get("retry-after") === null, "waiting would not help, so it is not told to wait");
check((await held(one, alice)) === 10, "ten are in the store");
check((await counted(one, { target: alice.id })).total_locks === 10, "which counts them");
const own = await take(one, alice, 3);
check(own.status === 200 && own.json.locks[0].fence === first[3].json.locks[0].fence, "what is the session's already can be taken again at the limit", own.text);
const beat = await one.ask("POST", `/v1/sessions/${alice.id}/beat`, { session: alice });
check(beat.status === 200, "beats are not concerned", beat.text);
check((await giveBack(one, alice, 4)).status === 200, "one is given back");
const after = await times(3, (i) => take(one, alice, 100 + i));
check(statuses(after) === "201 429 429", "then there is room for one", statuses(after));
const bob = await one.open("bob");
check((await take(one, bob, 200)).status === 201, "another session is not concerned");
const handOver = (server, session, id, to, more = {}) => server.ask("POST", `/v1/locks/policy/${id}/hand-over`, { session, body: { session: to.id }, ...more });
const tooMuch = await handOver(one, bob, 200, alice);
check(tooMuch.status === 429 && tooMuch.json.message === "The session that was to get it holds 10 locks, as many as one session may on this server (locks-session): release some first." &&
  (await held(one, alice)) === 10, "what is handed over counts for the one who gets it", tooMuch.text);
const overInBatch = await batch(one, [{ op: "hand-over", session: login(bob), resource: "policy/200", target: alice.id }, { op: "holds", session: login(bob), resource: "policy/200" }]);
check(words(overInBatch) === "too_many ok", "in a batch too", overInBatch);
await giveBack(one, alice, 0);
const retry = { headers: { "Idempotency-Key": "given" } };
check((await handOver(one, bob, 200, alice, retry)).status === 200 && (await held(one, alice)) === 10, "where there is room it is handed over");
check((await handOver(one, bob, 200, alice, retry)).status === 200, "asked again at the limit it was done");
const reader = (session, id) => take(one, session, id, { body: { mode: "shared" } });
await giveBack(one, alice, 200);
check((await reader(alice, 201)).status === 201 && (await reader(bob, 201)).status === 201 && (await handOver(one, bob, 201, alice)).status === 200,
  "what it reads already can be handed over to it at the limit");
check((await take(one, alice, 300)).status === 429, "and counts");
await giveBack(one, alice, 1);
check((await take(one, alice, 300)).status === 201, "until there is room again");
check((await one.ask("DELETE", `/v1/sessions/${alice.id}`, { session: alice })).status === 200, "the session is closed");

// Asking again what has been granted.
const cora = await one.open("cora");
const again = await times(10, (i) => take(one, cora, `c${i}`, { headers: { "Idempotency-Key": `k${i}` } }));
const repeated = await take(one, cora, "c9", { headers: { "Idempotency-Key": "k9" } });
check(having(again, 201) === 10 && [200, 201].includes(repeated.status) && repeated.json.locks[0].fence === again[9].json.locks[0].fence,
  "a request that is repeated at the limit gets its answer", repeated.text);
const forced = await one.ask("POST", "/v1/locks/policy/c1/force-release", { token: one.token, body: { reason: "test" } });
check(forced.status === 200 && statuses(await times(2, (i) => take(one, cora, `d${i}`))) === "201 429", "what was taken away makes room", forced.text);

// ---- fifty at once ----

for (let round = 0; round < 5; round++) {
  const dora = await one.open("dora");
  if (round % 2) await times(round, (i) => take(one, dora, `r${round}-x${i}`));
  const many = await atOnce(50, (i) => take(one, dora, `r${round}-${i}`));
  const before = round % 2 ? round : 0;
  check(having(many, 201) === 10 - before && having(many, 429) === 40 + before && (await held(one, dora)) === 10, "of fifty at once as many are granted as fit", statuses(many));
}

// ---- all or nothing ----

const emil = await one.open("emil");
const all = (ids) => one.ask("POST", "/v1/locks", { session: emil, body: { locks: ids.map((id) => ({ resource: `policy/${id}` })) } });
const names = (prefix, count) => Array.from({ length: count }, (_, i) => `${prefix}${i}`);
check((await all(names("e", 7))).status === 201, "seven are taken together");
const four = await all(names("f", 4));
check(four.status === 429 && (await held(one, emil)) === 7, "four more do not fit, and none of them is taken", four.text);
check(four.json.message.startsWith("The session holds 7 locks; with what is asked for it would have more than the 10 that one session may hold"), "they are told so", four.json.message);
check((await all(names("f", 3))).status === 201, "three do");
check((await all(names("e", 7))).status === 200, "those it holds can be taken again");
check((await all([...names("e", 7), "g"])).status === 429, "with one new one they can't");

// ---- batches ----

const fred = await one.open("fred");
const gina = await one.open("gina");
const refusedBefore = (await metrics(one))('holdfast_callers_refused_total{reason="rate_limited"}');
let answers = await batch(one, [...names("h", 12).map((id) => acquire(fred, id)), acquire(gina, "i0"), { op: "beat", session: login(fred) }]);
check(words(answers) === `${"ok ".repeat(10)}too_many too_many ok ok`, "of a batch as many are carried out as fit, and each of the others is told why", words(answers));
check(answers[10].message.includes("(locks-session)"), "in a sentence", answers[10].message);
check((await metrics(one))('holdfast_callers_refused_total{reason="rate_limited"}') === refusedBefore + 2 &&
  (await metrics(one))('holdfast_ops_total{op="acquire",status="too_many"}') === 2, "the metrics know it");
answers = await batch(one, [acquire(fred, "h3"), acquire(fred, "j"), { op: "release", session: login(fred), resource: "policy/h1" }]);
check(words(answers) === "ok too_many ok", "what it holds is no new one, and giving back goes on", words(answers));
answers = await batch(one, [acquire(fred, "k0", { linked: true }), acquire(fred, "k1"), acquire(fred, "k2")]);
check(words(answers) === "not_applied too_many ok" && (await held(one, fred)) === 10, "a linked run goes as a whole or not at all", words(answers));
answers = await batch(one, [acquire(gina, "l0", { linked: true }), acquire(fred, "l1", { linked: true }), acquire(gina, "l2"), ...names("m", 9).map((id) => acquire(gina, id))]);
check(words(answers) === `not_applied too_many not_applied ${"ok ".repeat(9)}`.trim() && (await held(one, gina)) === 10, "what a run that does not fit would have taken is there for the others", words(answers));
const hex = () => Array.from({ length: 32 }, () => Math.floor(Math.random() * 16).toString(16)).join("");
const hugo = { id: hex(), key: hex() + hex() };
answers = await batch(one, [{ op: "session-open", session: login(hugo), user: "hugo" }, ...names("n", 11).map((id) => acquire(hugo, id))], one.token);
check(words(answers) === `ok ${"ok ".repeat(10)}too_many`, "a session that the same batch opens has its limit too", words(answers));
const mixed = await atOnce(20, (i) => batch(one, [fred, gina, hugo, emil].flatMap((who) => [acquire(who, `o${i}`), { op: "release", session: login(who), resource: `policy/o${i}` }]).sort(() => Math.random() - 0.5)));
check(mixed.every((one) => one.length === 8), "batches of several sessions do not wait for each other in a ring");
for (const who of [fred, gina, hugo, emil]) check((await held(one, who)) <= 10, "and nobody holds more than they may", await held(one, who));

// Taking and giving back, all at once: never more than ten at a time.
const ida = await one.open("ida");
let most = 0;
let granted = 0;
let over = false;
const watching = (async () => { while (!over) most = Math.max(most, (await counted(one, { target: ida.id })).total_locks ?? 0); })();
await atOnce(15, async (i) => {
  for (let turn = 0; turn < 12; turn++)
    if ((await take(one, ida, `p${i}`)).status === 201 && ++granted && turn < 11) await giveBack(one, ida, `p${i}`);
});
over = true;
await watching;
check(most <= 10 && granted > 20, `never more than ten while fifteen take and give back (${granted} granted, ${most} at most)`);
check((await one.stop()).code === 0, "it stops cleanly");

// ---- sessions of one token ----

const many = await Server.start(["--sessions-token", "5", "--rate-session", "0"]);
const makeToken = async (name) => (await many.ask("POST", "/v1/tokens", { token: many.token, body: { name, roles: "use" } })).json;
const shop = await makeToken("shop");
const desk = await makeToken("desk");
check(shop.token && desk.token, "there are two tokens");
const openAs = (token, more = {}) => many.ask("POST", "/v1/sessions", { token: token.token, body: { user: "kim", ...more.body }, headers: more.headers });
let opened = await times(7, () => openAs(shop));
check(statuses(opened) === "201 201 201 201 201 429 429", "a token may have five live sessions", statuses(opened));
check(opened[6].json.message === "The token has 5 live sessions, as many as one token may on this server (sessions-token): close some first.", "it is told so", opened[6].text);
check((await openAs(desk)).status === 201, "another token is not concerned");
check((await take(many, opened[0].json, 1)).status === 201, "nor is what its sessions do");
check((await many.ask("DELETE", `/v1/sessions/${opened[0].json.id}`, { session: opened[0].json })).status === 200, "one is closed");
opened = await times(2, () => openAs(shop, { headers: { "Idempotency-Key": "again" } }));
check(statuses(opened) === "201 201" && opened[0].json.id === opened[1].json.id, "then there is room for one, and asking again for it gives the same", statuses(opened));
check((await openAs(shop)).status === 429, "but not for another");
const pens = await atOnce(30, () => openAs(desk));
check(having(pens, 201) === 4 && having(pens, 429) === 26, "of thirty at once as many are opened as fit", statuses(pens));
check((await counted(many, { token: desk.id })).total_sessions === 5, "the store counts as many");
const brief = await makeToken("brief");
await times(5, () => openAs(brief, { body: { idle_seconds: 3 } }));
check((await openAs(brief)).status === 429, "a third token is full too");
check(await until(async () => (await openAs(brief)).status === 201), "until its sessions have died");
check((await many.stop()).code === 0, "it stops cleanly");

// ---- no limit ----

const none = await Server.start(["--locks-session", "0", "--sessions-token", "0", "--rate-session", "0"]);
const lena = await none.open("lena");
answers = await batch(none, names("q", 1000).map((id) => acquire(lena, id)));
check(answers.every((answer) => answer.status === "ok"), "0 is no limit");
check((await none.stop()).code === 0, "it stops cleanly");

// ---- two servers on one store ----

const left = await Server.start(["--locks-session", "40", "--rate-session", "0"]);
const right = await Server.start(["--locks-session", "40", "--rate-session", "0"], { data: left.data });
const mia = await left.open("mia");
let taken = 0;
const turns = await times(60, async (i) => {
  const answer = await take(i % 2 ? right : left, mia, i);
  taken += answer.status === 201;
  return answer;
});
check(taken === 40 && turns.slice(40).every((answer) => answer.status === 429), "two servers that are asked in turn keep to the limit together", `${taken}: ${statuses(turns)}`);
const nora = await left.open("nora"); // of whom the left one believes that there is room for twenty without a look
const rightAll = await times(45, (i) => take(right, nora, `n${i}`));
const leftAll = await times(45, (i) => take(left, nora, `m${i}`));
check(having(rightAll, 201) === 40, "the right server lets forty through", statuses(rightAll));
check(having(leftAll, 201) === 20 && leftAll[44].status === 429, "the left one at most half of what was free when it looked last", statuses(leftAll));
check((await take(right, nora, "x")).status === 429 && (await take(left, nora, "x")).status === 429, "then both know");
const olga = await right.open("olga");
const rush = await atOnce(100, (i) => take(i % 2 ? right : left, olga, `o${i}`));
check(having(rush, 201) >= 40 && having(rush, 201) <= 80, `a hundred at once, at two servers: not more than the limit for each (${having(rush, 201)})`, statuses(rush));
check((await right.stop()).code === 0 && (await left.stop()).code === 0, "they stop cleanly");
finish();
