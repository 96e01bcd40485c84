#!/usr/bin/env node
// Every route by every kind of token with every kind of session: what comes of it is worked out here from the rules as the issue and
// docs/http.md put them, and compared. Then: a token that is revoked is refused by every server of the store within a second.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { check, finish, Server } from "./server.mjs";

const AT_ONCE = 24;
const server = await Server.start(["--trust-proxy", "127.0.0.1", "--rate-address", "0"]);
const second = await Server.start(["--rate-address", "0"], { data: server.data });
const admin = server.token;
const must = async (method, path, how, status) => {
  const answer = await server.ask(method, path, how);
  if (answer.status !== status) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.json;
};

// ---- tokens ----

const ALL = "use observe manage admin";
const token = async (roles, { users, expires_seconds } = {}) => {
  const made = await must("POST", "/v1/tokens", { token: admin, body: { name: `t ${roles}`, roles, users, expires_seconds } }, 201);
  return { id: made.id, secret: made.token, grants: roles.split(" "), users: users ?? "*", lives: true };
};
const tokens = {
  "no token": null,
  "an unknown token": { secret: randomBytes(32).toString("hex"), grants: ALL.split(" "), users: "*", lives: false },
  "a revoked token": await token(ALL),
  "a revoked a-* token": await token("use", { users: "a-*" }),
  "an expired token": await token(ALL, { expires_seconds: 1 }),
};
for (const roles of ["use", "use:policy", "use:other", "observe", "observe:policy", "observe:other", "manage", "manage:policy", "manage:other",
  "admin", "admin:policy", "use:other observe:policy", "use observe manage", "observe admin", ALL])
  tokens[`a token with ${roles}`] = await token(roles);
for (const roles of ["use", "use:policy", "manage", ALL]) tokens[`an a-* token with ${roles}`] = await token(roles, { users: "a-*" });

const has = (who, role, type) => who?.lives && (who.grants.includes(role) || (type !== undefined && who.grants.includes(`${role}:${type}`)));
const hasForSome = (who, role) => who?.lives && who.grants.some((grant) => grant.split(":")[0] === role);
const mayName = (who, user) => who.users === "*" || user.startsWith(who.users.slice(0, -1));

// ---- sessions ----

const body = (user) => ({ user, idle_seconds: 3600 });
const opened = async (by, user) => {
  const { id, key } = await must("POST", "/v1/sessions", { token: by.secret, body: body(user) }, 201);
  return { id, key };
};
const drawn = () => `${randomBytes(16).toString("hex")}.${randomBytes(32).toString("hex")}`;
// Many at once, in the name of a token, as only an administrator may.
const openedFor = async (by, user, count) => {
  const logins = Array.from({ length: count }, drawn);
  const ops = logins.map((session) => ({ op: "session-open", session, user, token: by.id, idle_seconds: 3600 }));
  const { answers } = await must("POST", "/v1/batch", { token: admin, body: { ops } }, 200);
  if (!answers.every((answer) => answer.status === "ok")) throw new Error(JSON.stringify(answers));
  return logins.map((login) => ({ id: login.split(".")[0], key: login.split(".")[1] }));
};
// Some routes end a session, so there are enough of each kind.
class Kind {
  constructor(by, user, more = {}) {
    Object.assign(this, { by, user, good: true, spare: [], ...more });
  }
  async stock(count) {
    this.spare.push(...(await openedFor(this.by, this.user, count)));
    this.one ??= this.spare.pop();
  }
  fresh() {
    if (!this.good) return this.one;
    if (this.spare.length === 0) throw new Error("not enough sessions");
    return this.spare.pop();
  }
}
const ENDING = 3; // routes that end a session
const everything = tokens[`a token with ${ALL}`];
const sessions = {
  "no session": null,
  "a session": new Kind(everything, "b-bob"),
  "a session of a token with use": new Kind(tokens["a token with use"], "a-ann"),
  "a session of a token with use:other": new Kind(tokens["a token with use:other"], "b-bob"),
  "an a- session of a token with use:other": new Kind(tokens["a token with use:other"], "a-ann"),
  "a session of a token with use and manage": new Kind(tokens["a token with use observe manage"], "b-bob"),
  "a session of a revoked token": new Kind(tokens["a revoked token"], "b-bob"),
  "an a- session of a revoked token": new Kind(tokens["a revoked token"], "a-ann"),
  "a session of an expired token": new Kind(tokens["an expired token"], "b-bob"),
};
await Promise.all(Object.values(sessions).map((kind) => kind?.stock(1 + ENDING * Object.keys(tokens).length)));
// Each token's own, where it may have one.
const own = new Map();
for (const who of Object.values(tokens)) {
  if (who === null || who.id === undefined || !hasForSome(who, "use")) continue;
  const kind = new Kind(who, "a-self");
  await kind.stock(2 + ENDING);
  own.set(who, kind);
}
const wrong = { id: sessions["a session"].one.id, key: "0".repeat(sessions["a session"].one.key.length) };
const ended = await opened(everything, "b-bob");
await must("DELETE", `/v1/sessions/${ended.id}`, { session: ended }, 200);
sessions["someone else's session with a wrong key"] = new Kind(null, "", { good: false, one: wrong, answers: 403 });
sessions["a session that has ended"] = new Kind(null, "", { good: false, one: ended, answers: 410 });
sessions["a session that never was"] = new Kind(null, "", { good: false, one: { id: "0".repeat(32), key: "1".repeat(64) }, answers: 404 });
sessions["a session of its own"] = "own";

// Now some die.
for (const name of ["a revoked token", "a revoked a-* token"]) {
  await must("DELETE", `/v1/tokens/${tokens[name].id}`, { token: admin }, 200);
  tokens[name].lives = false;
}
for (let answer = 200; answer !== 401;)
  answer = (await server.ask("GET", "/v1/types", { token: tokens["an expired token"].secret })).status;
tokens["an expired token"].lives = false;

// ---- the rules ----
//
// What each comes to when it is refused: 401, nothing was presented that could; 403, it was, and lacks a right; otherwise what the session
// came to. "done" is up to the route.

const done = "done";
const dead = (who) => who !== null && !who.lives;
const rules = {
  // Anyone may.
  open: () => done,
  // Giving back needs the session's key, whatever became of the token.
  key: (who, session) => (session === null ? 401 : session.good ? done : session.answers),
  // What has ended needs no ending.
  ending: (who, session) => (session?.answers === 410 ? done : rules.key(who, session)),
  // A session stands for its own work within the rights of the token that opened it; a presented token may help those it may name. A
  // token that is no good is never passed over.
  work: (who, session) => {
    if (dead(who) || session === null) return 401;
    if (!session.good) return session.answers;
    if (has(session.by, "use", "policy") || (has(who, "use", "policy") && mayName(who, session.user))) return done;
    return who !== null || session.by.lives ? 403 : 401;
  },
  beat: (who, session) => {
    if (dead(who) || session === null) return 401;
    if (!session.good) return session.answers;
    if (session.by.lives || (hasForSome(who, "use") && mayName(who, session.user))) return done;
    return who !== null ? 403 : 401;
  },
  // Whoever may use or observe a type may see who holds a record, a session too.
  look: (who, session) => {
    if (dead(who)) return 401;
    const able = [who, session?.good ? session.by : null];
    if (able.some((one) => has(one, "use", "policy") || has(one, "observe", "policy"))) return done;
    if (who !== null) return 403;
    if (session === null) return 401;
    return !session.good ? session.answers : session.by.lives ? 403 : 401;
  },
  // Types are for everyone who is known.
  known: (who, session) => {
    if (dead(who)) return 401;
    if (who !== null) return done;
    return session === null ? 401 : session.good ? done : session.answers;
  },
  // The rest is for tokens alone, whatever session comes along.
  token: (role, type) => (who) => (!who?.lives ? 401 : has(who, role, type) ? done : 403),
  // Nobody ends someone else's lock without a token that has this very role; a session that is named beside it must be good.
  force: (who, session) => {
    const judged = rules.token("manage", "policy")(who);
    return judged !== done || session === null || session.good ? judged : session.answers;
  },
  // A user without a session saves by a token that may name them.
  naming: (user) => (who) => (!who?.lives ? 401 : has(who, "use", "policy") && mayName(who, user) ? done : 403),
  opening: (user) => (who) => (!who?.lives ? 401 : hasForSome(who, "use") && mayName(who, user) ? done : 403),
  // A ticket is for a session, whatever token comes along.
  looking: (who, session) => (dead(who) || session === null ? 401 : rules.look(null, session)),
  // Without a token a session follows the records that it may look at.
  following: (byToken, bySession) => (who, session) => (who === null && session !== null ? bySession(who, session) : byToken(who)),
  openingFor: (who) => (!who?.lives ? 401 : hasForSome(who, "use") && has(who, "admin") ? done : 403),
};
// The same where the Holdfast-Session header is not read: a few sessions are enough to show that.
const withoutSession = (rule) => Object.assign((who) => rule(who, null), { few: true });
rules.open.few = true;
// And where the ops are judged as those of another route are.
const alike = (rule) => Object.assign((who, session) => rule(who, session), { few: true });

// ---- the routes ----

const bystander = await opened(everything, "c-carol");
const victim = await token("use");
await must("PUT", "/v1/types/policy", { token: admin, body: { policy: "read-write" } }, 200);
const hold = (cell, session) => must("PUT", `/v1/locks/policy/${cell.id}`, { token: everything.secret, session, body: {} }, 201);
// The session holds the record, if it can; or someone else does.
const heldByIt = async (cell) => cell.kind?.good && (await hold(cell, cell.session));
const heldByAnother = (cell) => hold(cell, bystander);
const askedOfIt = async (cell) =>
  (await heldByIt(cell)) && must("POST", `/v1/locks/policy/${cell.id}/request`, { token: everything.secret, session: bystander, body: {} }, 200);
const login = (cell) => ({ body: { secret: cell.who?.secret ?? "0".repeat(64) }, token: undefined });

// By operationId, or a name of its own with `as`: how it is asked, the rule, what it comes to when all is well.
const routes = [
  { name: "acquire", rule: rules.work, body: {}, done: 201 },
  { name: "release", rule: rules.key, before: heldByIt, done: 200 },
  { name: "change", rule: rules.work, before: heldByIt, body: { ttl_seconds: 60 }, done: 200 },
  { name: "who", rule: rules.look, done: 200 },
  { name: "acquire-all", rule: rules.work, body: (cell) => ({ locks: [{ resource: `policy/${cell.id}` }] }), done: 201 },
  { name: "list", rule: withoutSession(rules.token("observe")), done: 200 },
  { name: "list of a type", as: "list", query: "?type=policy", rule: withoutSession(rules.token("observe", "policy")), done: 200 },
  { name: "lookup", rule: rules.look, body: (cell) => ({ resources: [`policy/${cell.id}`] }), done: 200 },
  { name: "request-lock", rule: rules.work, before: heldByAnother, body: {}, done: 200 },
  { name: "hand-over", rule: rules.work, before: heldByIt, body: { session: bystander.id }, done: 200 },
  { name: "decline", rule: rules.work, before: askedOfIt, body: { session: bystander.id }, done: 200 },
  { name: "force-release", rule: rules.force, before: heldByAnother, body: { reason: "table" }, done: 200 },
  { name: "version-get", rule: alike(rules.look), done: 404 }, // never saved, but they may know
  { name: "version-save", rule: rules.work, before: heldByIt, headers: { "If-None-Match": "*" }, body: {}, needed: true, done: 201 },
  // The policy wants a lock: the right is there, and the store refuses.
  { name: "version-save for a-ann", as: "version-save", rule: rules.naming("a-ann"), alone: true,
    headers: { "If-None-Match": "*" }, body: { user: "a-ann" }, done: 409 },
  { name: "version-delete", rule: alike(rules.work), before: heldByIt, needed: true, done: 200 },
  { name: "version-commit", rule: alike(rules.work), before: heldByIt,
    body: (cell) => ({ save: [{ resource: `policy/${cell.id}`, absent: true }], rely: [{ resource: `policy/not-${cell.id}`, absent: true }] }), needed: true, done: 200 },
  { name: "version-commit for b-bob", as: "version-commit", rule: rules.naming("b-bob"), alone: true,
    body: (cell) => ({ save: [{ resource: `policy/${cell.id}`, absent: true }], user: "b-bob" }), done: 409 },
  { name: "version-lookup", rule: alike(rules.look), body: (cell) => ({ resources: [`policy/${cell.id}`] }), done: 200 },
  { name: "session-open", rule: withoutSession(rules.opening("b-bob")), body: body("b-bob"), done: 201 },
  { name: "session-open for a-ann", as: "session-open", rule: withoutSession(rules.opening("a-ann")), body: body("a-ann"), done: 201 },
  { name: "beat", rule: rules.beat, done: 200, named: true },
  { name: "session-close", rule: rules.ending, done: 200, ends: true, named: true },
  { name: "session-close-beacon", rule: rules.ending, body: (cell) => ({ key: cell.session.key }), plain: true, done: 200, ends: true, named: true, needed: true },
  { name: "sessions", rule: withoutSession(rules.token("observe")), done: 200 },
  { name: "type-get", rule: rules.known, done: 200 },
  { name: "type-set", rule: withoutSession(rules.token("admin", "policy")), body: { policy: "read-write" }, done: 200 },
  { name: "types", rule: rules.known, done: 200 },
  { name: "token-create", rule: withoutSession(rules.token("admin")), body: { name: "made", roles: "observe:nothing" }, done: 201 },
  { name: "tokens", rule: withoutSession(rules.token("admin")), done: 200 },
  { name: "token-revoke", rule: withoutSession(rules.token("admin")), done: 200 },
  { name: "login", rule: withoutSession((who) => (who?.lives ? done : 401)), how: login, done: 204 },
  { name: "login-show", rule: withoutSession((who) => (who?.lives ? done : 401)), done: 200 },
  { name: "history", rule: withoutSession(rules.token("observe")), done: 200 },
  { name: "logout", rule: rules.open, done: 204 },
  { name: "events", rule: alike(rules.following(rules.token("observe"), () => 400)), stream: true, done: 200 },
  { name: "events of a type", as: "events", query: "?type=policy", rule: alike(rules.following(rules.token("observe", "policy"), () => 400)), stream: true, done: 200 },
  { name: "events of records", as: "events", query: "?resource=policy/1&resource=policy/2", rule: rules.following(rules.token("observe", "policy"), rules.look), stream: true, done: 200 },
  { name: "events-of-many", rule: rules.following(rules.token("observe", "policy"), rules.look), body: { resources: ["policy/1", "policy/2"] }, stream: true, done: 200 },
  { name: "event-ticket", rule: rules.looking, body: { resources: ["policy/1"] }, done: 201 },
  { name: "audit-log", rule: withoutSession(rules.token("observe")), done: 200 },
  { name: "batch", rule: rules.open, body: { ops: [{ op: "types" }] }, done: 200 },
  { name: "health", rule: rules.open, done: 200 },
  { name: "ready", rule: rules.open, done: 200 },
  { name: "metrics", rule: rules.open, on: second, done: 200 },
  { name: "metrics from elsewhere", as: "metrics", headers: { "X-Forwarded-For": "192.0.2.7" }, rule: withoutSession(rules.token("observe")), done: 200 },
  { name: "openapi", rule: rules.open, done: 200 },
  { name: "api", rule: rules.open, done: 200 },
  ...["front", "dashboard-script", "style", "icon", "edit-lock"].map((name) => ({ name, rule: rules.open, done: 200 })),
];

// The ops of a batch, by the same rules; here sessions stand in the op.
const opening = (user, more = {}) => () => ({ session: drawn(), user, ...more });
const record = (cell) => ({ resource: `policy/${cell.id}` });
const ops = [
  { op: "session-open", rule: rules.opening("b-bob"), of: opening("b-bob"), alone: true },
  { op: "session-open", name: "session-open for another token", rule: rules.openingFor, of: opening("a-ann", { token: victim.id }), alone: true },
  { op: "beat", rule: rules.beat, needs: true },
  { op: "close", rule: rules.ending, needs: true, ends: true },
  { op: "acquire", rule: rules.work, of: record, needs: true },
  { op: "renew", rule: rules.work, before: heldByIt, of: record, needs: true },
  { op: "downgrade", rule: rules.work, before: heldByIt, of: record, needs: true },
  { op: "release", rule: rules.key, before: heldByIt, of: record, needs: true },
  { op: "release-all", rule: rules.key, needs: true },
  { op: "holds", rule: rules.work, before: heldByIt, of: record, needs: true },
  { op: "who", rule: withoutSession(rules.look), of: record, alone: true },
  { op: "version", rule: withoutSession(rules.look), of: (cell) => ({ ...record(cell), absent: true }), alone: true },
  { op: "save", rule: rules.work, before: heldByIt, of: record, needs: true },
  { op: "request", rule: rules.work, before: heldByAnother, of: record, needs: true },
  { op: "hand-over", rule: rules.work, before: heldByIt, of: (cell) => ({ ...record(cell), target: bystander.id }), needs: true },
  { op: "decline", rule: rules.work, before: askedOfIt, of: (cell) => ({ ...record(cell), target: bystander.id }), needs: true },
  { op: "force-release", rule: rules.force, before: heldByAnother, of: (cell) => ({ ...record(cell), reason: "table" }) },
  { op: "type-get", rule: withoutSession(rules.known), of: () => ({ type: "policy" }), alone: true },
  { op: "note", rule: rules.token("admin"), of: () => ({ reason: "table", kind: "denied" }), alone: true },
  { op: "session-find", rule: rules.key, needs: true },
  { op: "type-set", rule: rules.token("admin", "policy"), of: () => ({ type: "policy", policy: "read-write" }), alone: true },
  { op: "types", rule: withoutSession(rules.known), alone: true },
  { op: "list", rule: rules.token("observe"), alone: true },
  { op: "list", name: "list of a type", rule: rules.token("observe", "policy"), of: () => ({ type: "policy" }), alone: true },
  { op: "sessions", rule: rules.token("observe"), alone: true },
  { op: "events", rule: rules.token("observe"), alone: true },
  { op: "sweep", rule: rules.token("admin"), of: () => ({ limit: 1 }), alone: true },
  { op: "token-create", rule: rules.token("admin"), of: () => ({ name: "x", token: randomBytes(16).toString("hex"), sha256: randomBytes(32).toString("hex"), roles: "use:x" }), alone: true },
  { op: "token-find", rule: rules.token("admin"), of: () => ({ token: victim.id }), alone: true },
  { op: "tokens", rule: rules.token("admin"), alone: true },
  { op: "token-revoke", rule: rules.token("admin"), of: () => ({ token: victim.id }), alone: true },
  { op: "count", rule: rules.token("observe"), alone: true },
];

const document = (await server.ask("GET", "/openapi.json")).json;
const operations = {};
for (const [path, methods] of Object.entries(document.paths))
  for (const [method, operation] of Object.entries(methods)) operations[operation.operationId] = { path, method: method.toUpperCase() };
const named = new Set(routes.map((route) => route.as ?? route.name));
check(Object.keys(operations).every((id) => named.has(id)), "there is a rule here for every route of the document", Object.keys(operations).filter((id) => !named.has(id)));
const kinds = [...new Set([...readFileSync(join(process.env.HF_SOURCE_ROOT, "docs/wire.md"), "utf8").split("### Answers")[0].matchAll(/^\| `([a-z-]+)` \|.*\|.*\|$/gm)].map((row) => row[1]))];
const judged = new Set(ops.map((op) => op.op));
const wire = kinds.filter((kind) => !/_/.test(kind));
check(ops.every((op) => wire.includes(op.op)) && wire.filter((kind) => judged.has(kind)).length === judged.size, "every op that has a rule here is one of docs/wire.md");

// ---- asking ----

const https = { ok: 200, invalid: 400, unauthenticated: 401, denied: 403, not_found: 404, not_held: 409, not_applied: 409, expired: 410, locked: 423 };
let cells = 0;

async function askStream(path, how) {
  const stop = new AbortController();
  const headers = { ...(how.token ? { Authorization: `Bearer ${how.token}` } : {}), ...(how.session ? { "Holdfast-Session": `${how.session.id}.${how.session.key}` } : {}) };
  if (how.body) headers["Content-Type"] = "application/json";
  const response = await fetch(server.url + path, { method: how.body ? "POST" : "GET", headers, body: how.body && JSON.stringify(how.body), signal: stop.signal });
  const text = response.status === 200 ? "" : await response.text();
  stop.abort();
  return { status: response.status, text };
}

async function askRoute(route, cell) {
  const { path, method } = operations[route.as ?? route.name];
  const parts = { type: "policy", id: cell.id, session: cell.session?.id ?? "0".repeat(32), token: victim.id };
  const target = path.replace(/\{(\w+)\}/g, (_, name) => parts[name]) + (route.query ?? "");
  const how = {
    token: cell.who?.secret, session: cell.session, headers: route.headers,
    body: typeof route.body === "function" ? route.body(cell) : route.body, type: route.plain ? "text/plain" : undefined,
    ...route.how?.(cell),
  };
  return route.stream ? askStream(target, how) : (route.on ?? server).ask(method, target, how);
}

async function askOp(op, cell) {
  const session = cell.session ? { session: `${cell.session.id}.${cell.session.key}` } : {};
  const asked = { op: op.op, ...session, ...op.of?.(cell) };
  const answer = await server.ask("POST", "/v1/batch", { token: cell.who?.secret, body: { ops: [asked] } });
  if (answer.status !== 200) return answer;
  return { status: https[answer.json.answers[0].status] ?? answer.json.answers[0].status, text: answer.text };
}

// All tokens with all sessions, many at a time.
function cellsOf(route) {
  const all = [];
  for (const [by, who] of Object.entries(tokens)) {
    for (const [as, one] of Object.entries(sessions)) {
      const kind = one === "own" ? own.get(who) : one;
      if (route.rule.few && one !== null && !["a session", "someone else's session with a wrong key"].includes(as)) continue;
      if (kind === undefined || (kind === null && (route.needs || route.needed)) || (kind !== null && route.alone)) continue;
      all.push({ by, as, who, kind, id: `c-${++cells}`, session: kind === null ? undefined : route.ends ? kind.fresh() : kind.one });
    }
  }
  return all;
}

async function judge(title, route, ask) {
  const all = cellsOf(route), flaws = [];
  const seen = {};
  let next = 0;
  const work = async () => {
    while (next < all.length) {
      const cell = all[next++];
      const verdict = route.rule(cell.who, cell.kind);
      const wanted = verdict === done ? (route.done ?? 200) : verdict;
      await route.before?.(cell);
      const answer = await ask(route, cell);
      seen[wanted] = (seen[wanted] ?? 0) + 1;
      if (answer.status !== wanted) flaws.push(`${cell.by}, ${cell.as}: ${answer.status} instead of ${wanted} ${answer.text}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const counts = Object.entries(seen).map(([status, count]) => `${count} times ${status}`).join(", ");
  check(flaws.length === 0, `${title}: ${counts}`, `${flaws.length} of ${all.length}:\n#   ${flaws.slice(0, 12).join("\n#   ")}`);
}

for (const route of routes) await judge(`${route.name} by ${route.rule === rules.open ? "anyone" : "each kind of caller"}`, route, askRoute);
for (const op of ops) await judge(`${op.name ?? op.op} in a batch`, op, askOp);
check(cells > 4000, `${cells} cells were asked`);

// ---- effects that the table does not show ----

// No power to unblock unless it was given by name.
const held = await opened(everything, "c-carol");
await must("PUT", "/v1/locks/policy/unblock", { session: held, body: {} }, 201);
for (const name of ["a token with admin", "a token with observe admin", "a token with manage:other", "an a-* token with use"]) {
  const answer = await server.ask("POST", "/v1/locks/policy/unblock/force-release", { token: tokens[name].secret, body: { reason: "no" } });
  check(answer.status === 403 && /manage/.test(answer.json.message), `${name} can't force a lock free, and is told which role it lacks`, answer.text);
}
const still = await must("GET", "/v1/locks/policy/unblock", { session: held }, 200);
check(still.holders.length === 1 && still.holders[0].user === "c-carol", "the lock is still there");

// A refusal does not tell what its caller may not look at: whatever asks for a record that someone holds is answered as for a free one.
const elsewhere = sessions["a session of a token with use:other"];
const unseeing = [[null, elsewhere.one], [tokens["a token with use:other"], elsewhere.one], [tokens["a token with manage:policy"], undefined]];
const fenced = (cell) => (cell.fence ? { fence: 1 } : {});
const askedAbout = [
  ...routes.filter((route) => !route.stream && (operations[route.as ?? route.name].path.includes("{id}") || String(route.body).includes("cell.id")))
    .map((route) => [route.name, (cell) => askRoute({ ...route,
      headers: { ...route.headers, ...(cell.fence && { "Holdfast-Fence": "1" }) },
      ...(route.name === "force-release" && { body: { ...route.body, ...fenced(cell) } }) }, cell)]),
  ...ops.filter((op) => String(op.of ?? "").includes("cell") && !op.ends)
    .map((op) => [`${op.name ?? op.op} in a batch`, (cell) => askOp({ ...op, of: (it) => ({ ...op.of(it), ...fenced(it) }) }, cell)]),
];
check(askedAbout.length > 25, `${askedAbout.length} ways to ask about a record`);
const told = [];
for (const [name, ask] of askedAbout) {
  for (const [who, session] of unseeing) {
    for (const fence of [false, true]) {
      if (who?.grants[0] === "manage:policy" && !fence) continue; // without a fence it would end the lock, as it may
      const id = `unseen-${++cells}`;
      await hold({ id }, bystander);
      const answers = [];
      for (const one of [id, `free-${id}`]) answers.push(await ask({ who, session, id: one, fence }).then(({ status, text }) => `${status} ${text.replaceAll(one, "ID").replace(/"now":"[^"]+"/, "")}`));
      if (answers[0] !== answers[1] || /carol/.test(answers[0])) told.push(`${name}${fence ? " with a fence" : ""}: ${answers.join(" | ")}`);
    }
  }
}
check(told.length === 0, "no refusal tells whether someone holds a record of a type that its caller has no right to", told.join("\n#   "));

// Nor does a beat, of what the session held while a token helped it.
const helped = await opened(tokens["a token with use:other"], "a-ann");
const byHelp = { token: everything.secret, session: helped };
await must("PUT", "/v1/locks/policy/taken-over", { ...byHelp, body: { ttl_seconds: 0.1 } }, 201);
await must("PUT", "/v1/locks/policy/asked-for", { ...byHelp, body: {} }, 201);
for (let taken = 423; taken !== 201;)
  taken = (await server.ask("PUT", "/v1/locks/policy/taken-over", { token: everything.secret, session: bystander, body: {} })).status;
await must("POST", "/v1/locks/policy/asked-for/request", { session: bystander, body: { message: "a word" } }, 200);
const beaten = await must("POST", `/v1/sessions/${helped.id}/beat`, { session: helped }, 200);
check(beaten.locks === 1 && beaten.lost.length === 1 && beaten.lost[0].why === "expired" && beaten.requests.length === 0 && !/carol|a word/.test(JSON.stringify(beaten)),
  "a beat names nobody who has taken over, or asks for, a record of a type that the session has no right to", beaten);
const beatenByHelp = await must("POST", `/v1/sessions/${helped.id}/beat`, byHelp, 200);
check(beatenByHelp.lost[0]?.by === "c-carol" && beatenByHelp.requests[0]?.message === "a word", "and names them to a token that may look", beatenByHelp);

// A pattern binds whoever is named, an actor too.
const asOther = await server.ask("POST", "/v1/locks/policy/unblock/force-release", { token: tokens["an a-* token with manage"].secret, body: { reason: "no", actor: "b-bob" } });
check(asOther.status === 403, "a token can't act in the name of a user it may not name", asOther.text);
const asOwn = await server.ask("POST", "/v1/locks/policy/unblock/force-release", { token: tokens["an a-* token with manage"].secret, body: { reason: "yes", actor: "a-ann" } });
check(asOwn.status === 200, "but of one it may", asOwn.text);

// A session that is replaced must be proven as well.
const older = await opened(everything, "b-bob");
const guess = await server.ask("POST", "/v1/sessions", { token: everything.secret, body: { user: "b-bob", replaces: `${older.id}.${"0".repeat(64)}` } });
check(guess.status === 403, "a session is not replaced without its key", guess.text);
check((await server.ask("POST", `/v1/sessions/${older.id}/beat`, { session: older })).status === 200, "and lives on");

// Nobody can borrow a session by pretending to open it in the same batch.
const borrowed = { ops: [{ op: "session-open", session: `${older.id}.${"2".repeat(64)}`, user: "a-ann" },
  { op: "acquire", session: `${older.id}.${"2".repeat(64)}`, resource: "policy/borrowed" }] };
const borrow = await server.ask("POST", "/v1/batch", { token: everything.secret, body: borrowed });
check(borrow.json.answers.every((answer) => answer.status !== "ok"), "nobody can open a session that there is", borrow.text);
const narrowed = { ops: [{ op: "session-open", session: drawn(), user: "b-bob" }] };
narrowed.ops.push({ op: "acquire", session: narrowed.ops[0].session, resource: "policy/narrowed" });
const narrow = await server.ask("POST", "/v1/batch", { token: tokens["a token with use:other"].secret, body: narrowed });
check(narrow.json.answers[0].status === "ok" && narrow.json.answers[1].status === "denied", "what a batch opens has the rights of its token", narrow.text);

// Who may observe one type hears of that type alone.
const overheard = new AbortController();
const heard = await fetch(`${server.url}/v1/events?type=policy&after_seq=0`,
  { headers: { Authorization: `Bearer ${tokens["a token with observe:policy"].secret}` }, signal: overheard.signal });
let story = "";
for await (const piece of heard.body.pipeThrough(new TextDecoderStream())) {
  story += piece;
  if (story.includes("policy/unblock")) break;
}
overheard.abort();
const events = [...story.matchAll(/^data: (\{.*\})$/gm)].map((line) => JSON.parse(line[1]));
check(events.length > 100 && events.every((event) => event.resource === "policy" || event.resource?.startsWith("policy/")), "who may observe one type hears of that type alone",
  events.filter((event) => !event.resource?.startsWith("policy/")).slice(0, 3));

// A HEAD is a GET without its body.
for (const [id, { path, method }] of Object.entries(operations)) {
  if (method !== "GET") continue;
  const target = path.replace(/\{(\w+)\}/g, (_, name) => ({ type: "policy", id: "1" })[name]);
  for (const [name, who] of [["no token", null], ["a token with use", tokens["a token with use"]], ["everything", everything]]) {
    const wanted = await (id === "events" ? askStream : (to, how) => server.ask("GET", to, how))(target, { token: who?.secret });
    const answer = await server.ask("HEAD", target, { token: who?.secret });
    check(answer.status === wanted.status && answer.text === "", `HEAD ${path} with ${name} answers as GET does, without a body`, `${answer.status} ${wanted.status} ${answer.text}`);
  }
}

// ---- who may be given a lock ----

// Whoever gets a lock must be one who could have taken it: by the token that opened the session, or by the one that is presented.
const giver = await opened(await token("use:policy"), "d-dora");
const others = await token("use:other");
const former = await token("use:policy");
const receivers = { right: await opened(await token("use:policy"), "d-dan"), wrong: await opened(others, "d-eve"), dead: await opened(former, "d-fay") };
await must("DELETE", `/v1/tokens/${former.id}`, { token: admin }, 200);
let handed = 0;
async function handOver(where, to, presented) {
  const path = `/v1/locks/policy/handed-${++handed}`;
  await must("PUT", path, { session: giver, body: {} }, 201);
  const by = { session: giver, token: presented };
  const answer = await where.ask("POST", `${path}/hand-over`, { ...by, body: { session: to.id } });
  const ops = [{ op: "hand-over", session: `${giver.id}.${giver.key}`, resource: `policy/handed-${handed}`, target: to.id }];
  const batch = answer.status === 200 ? null : await where.ask("POST", "/v1/batch", { ...by, body: { ops } });
  const { holders } = await must("GET", path, { token: admin }, 200);
  return { ...answer, holder: holders[0]?.session, batch: batch?.json.answers[0].status };
}
for (const where of [server, second]) { // the second has not seen these sessions
  const name = where === server ? "the server that opened it" : "another server";
  const good = await handOver(where, receivers.right);
  check(good.status === 200 && good.holder === receivers.right.id, `${name}: a session whose token may use the type is given a lock`, good.text);
  for (const kind of ["wrong", "dead"]) {
    const bad = await handOver(where, receivers[kind]);
    check(bad.status === 403 && bad.json.code === "denied" && bad.json.message.includes("'policy'") && bad.json.message.includes(receivers[kind].id) &&
      bad.json.message.includes(`policy/handed-${handed}`), `${name}: one whose token may not (${kind}) is refused, with a sentence`, bad.text);
    check(bad.batch === "denied" && bad.holder === giver.id, "in a batch too, and the giver still holds it", [bad.batch, bad.holder]);
  }
  const presented = await handOver(where, receivers.wrong, tokens["a token with use"].secret);
  check(presented.status === 200 && presented.holder === receivers.wrong.id, `${name}: a presented token that may work for it will do`, presented.text);
  const pattern = await handOver(where, receivers.wrong, tokens["an a-* token with use"].secret);
  check(pattern.status === 403, `${name}: but not one that may not name its user`, pattern.text);
}
await must("PUT", "/v1/locks/policy/handed-new", { session: giver, body: {} }, 201);
const fresh = drawn();
const inBatch = await must("POST", "/v1/batch", { token: others.secret, body: { ops: [{ op: "session-open", session: fresh, user: "d-gil" },
  { op: "hand-over", session: `${giver.id}.${giver.key}`, resource: "policy/handed-new", target: fresh.split(".")[0] }] } }, 200);
check(inBatch.answers.map((answer) => answer.status).join() === "ok,denied", "nor is one that the same batch opens", inBatch.answers);
const nobody = await handOver(server, { id: "0".repeat(32) });
check(nobody.status === 404, "that there is no such session is still told", nobody.text);

// ---- two servers, one store ----

const SECOND = 1000;
// How long after it was revoked on `here` it still counts on `there`, in milliseconds.
async function revokedFor(here, there) {
  const made = await token("use observe");
  const session = await opened(made, "d-dora");
  for (const one of [server, second]) {
    const answers = [await one.ask("GET", "/v1/locks", { token: made.secret }), await one.ask("POST", `/v1/sessions/${session.id}/beat`, { session })];
    if (answers.some((answer) => answer.status !== 200)) throw new Error("a new token is known at once on both servers");
  }
  const stop = new AbortController();
  const stream = await fetch(`${there.url}/v1/events`, { headers: { Authorization: `Bearer ${made.secret}` }, signal: stop.signal });
  let over = false;
  stream.body.pipeTo(new WritableStream()).then(() => (over = true), () => (over = true));
  const began = Date.now();
  await here.ask("DELETE", `/v1/tokens/${made.id}`, { token: admin });
  for (;;) {
    const answers = [await there.ask("GET", "/v1/locks", { token: made.secret }),
      await there.ask("PUT", `/v1/locks/policy/late-${made.id}`, { session, body: {} }),
      await there.ask("POST", `/v1/sessions/${session.id}/beat`, { session })];
    if ((over && answers.every((answer) => answer.status === 401)) || Date.now() - began > 10 * SECOND) break;
  }
  const took = Date.now() - began;
  stop.abort();
  if ((await there.ask("DELETE", `/v1/sessions/${session.id}`, { session })).status !== 200) throw new Error("what it holds can still be given back");
  return took;
}
for (const [here, there, where] of [[server, server, "the same server"], [server, second, "another server"], [second, server, "the other way round"]]) {
  let took = await revokedFor(here, there);
  for (let again = 0; again < 8 && took > SECOND; again++) took = await revokedFor(here, there); // the machine may have been busy
  check(took <= SECOND, `${where}: a revoked token, its sessions and its event stream have ended within a second`, `${took} ms`);
}
// Expiry is the store's to judge, and nobody needs to tell the servers.
const brief = await must("POST", "/v1/tokens", { token: admin, body: { name: "brief", roles: "observe", expires_seconds: 1 } }, 201);
check((await second.ask("GET", "/v1/locks", { token: brief.token })).status === 200, "a token lives until its end");
let late = 0;
const until = Date.now() + 20 * SECOND;
while (late !== 401 && Date.now() < until) late = (await second.ask("GET", "/v1/locks", { token: brief.token })).status;
check(late === 401, "and not longer", late);

check((await second.stop()).code === 0, "the second server stops cleanly");
check((await server.stop()).code === 0, "the first, too");
finish();
