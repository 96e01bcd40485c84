#!/usr/bin/env node
// Signing in: the cookie of a page is not its token. Every server of the store takes it; signing out, the token's end and its own end end it
// everywhere; and it is nobody's editing session.
import { spawnSync } from "node:child_process";
import { check, finish, Server, times } from "./server.mjs";

const server = await Server.start();
const other = await Server.start([], { data: server.data });
const admin = server.token;
const csrf = { "Holdfast-CSRF": "1" };
const made = async (roles, more = {}) => (await server.ask("POST", "/v1/tokens", { token: admin, body: { name: `page of ${roles}`, roles, ...more } })).json;
const signIn = async (secret, at = server) => {
  const answer = await at.ask("POST", "/v1/login", { body: { secret } });
  return /^holdfast=([^;]*)/.exec(answer.headers.get("set-cookie") ?? "")?.[1];
};
const by = (cookie, more) => ({ headers: { Cookie: `holdfast=${cookie}`, ...more } });
const as = (at, cookie) => at.ask("GET", "/v1/login", by(cookie));
const signOut = (at, cookie) => at.ask("DELETE", "/v1/login", by(cookie, csrf));
// Until the cookie counts no more at either server; how long that took.
const ended = async (cookie) => {
  const since = Date.now();
  for (const at of [server, other]) while ((await as(at, cookie)).status !== 401) if (Date.now() - since > 20000) return Infinity;
  return Date.now() - since;
};

const page = await made("use observe manage admin");
const cookie = await signIn(page.token);
check(/^[0-9a-f]{32}\.[0-9a-f]{32,}$/.test(cookie) && !cookie.includes(page.token), "the cookie is not the token", cookie);
const seen = [await as(server, cookie), await as(other, cookie)];
check(seen.every(({ status, json }) => status === 200 && json.name === "page of use observe manage admin" && json.id === page.id), "every server of the store knows whose it is", seen.map(({ text }) => text));
check((await other.ask("PUT", "/v1/types/claim", { ...by(cookie, csrf), body: { policy: "exclusive-write" } })).status === 200, "it has the token's rights");

// What it is not.
const [id, key] = cookie.split(".");
const asSession = await server.ask("PUT", "/v1/locks/policy/1", { token: admin, session: { id, key }, body: {} });
check(asSession.status === 403 && /sign-in/.test(asSession.json.message), "it is no editing session, whatever token comes along", asSession.text);
check((await server.ask("POST", `/v1/sessions/${id}/beat`, { session: { id, key } })).status === 403, "nor is it beaten as one");
check((await server.ask("GET", "/v1/locks", { token: cookie })).status === 401, "it counts as a cookie only");
const alice = await server.open("alice");
for (const [what, wrong] of [["an editing session's key", `${alice.id}.${alice.key}`], ["a token's secret", page.token], ["a wrong key", `${id}.${"0".repeat(key.length)}`], ["nonsense", "x"], ["nothing", ""]])
  check((await as(server, wrong)).status === 401, `${what} is no cookie`);
const listed = [await server.ask("GET", "/v1/sessions", { token: admin }), await server.ask("POST", "/v1/batch", { token: admin, body: { ops: [{ op: "sessions" }] } })];
check(listed.every(({ text }) => text.includes(alice.id) && !text.includes(id)), "it is not among the editing sessions", listed.map(({ text }) => text));
const plain = await made("use");
const forged = { op: "session-open", session: `${"0".repeat(32)}.${"1".repeat(64)}`, user: "x", token: `sign-in:${page.id}` };
const refused = await server.ask("POST", "/v1/batch", { token: plain.token, body: { ops: [forged] } });
check(refused.json.answers[0].status === "denied" && (await as(server, forged.session)).status === 401, "nobody forges one with a token's public id", refused.text);

// Signing out: here, there, and on the streams that it opened.
const [second, third] = [await signIn(page.token), await signIn(page.token, other)];
const stream = await fetch(`${other.url}/v1/events`, by(second));
const over = (async () => {
  for await (const piece of stream.body) void piece;
  return true;
})().catch(() => true);
check(stream.status === 200, "it opens a stream");
const bare = await server.ask("DELETE", "/v1/login", by(second));
check(bare.status === 403, "another page cannot sign it out", bare.text);
const out = await signOut(server, second);
check(out.status === 204 && /holdfast=;.*Max-Age=0/.test(out.headers.get("set-cookie")), "signing out takes the cookie back");
check((await as(server, second)).status === 401, "at this server it counts no more at once");
const took = await ended(second);
check(took < 2000, `at the other one neither, after ${took} ms`);
check(await Promise.race([over, new Promise((resolve) => setTimeout(resolve, 10000))]), "its stream there ends");
check((await as(server, cookie)).status === 200 && (await as(server, third)).status === 200, "other sign-ins of the token go on");
check((await as(server, second)).json.message.includes("sign in again"), "it is told what to do");
check((await signOut(server, second)).status === 204 && (await signOut(server, "nonsense")).status === 204 && (await server.ask("DELETE", "/v1/login")).status === 204, "signing out without being signed in is no mistake");
const log = (await server.ask("GET", "/v1/audit-log?limit=1000", { token: admin })).json.events.filter(({ session }) => session === second.split(".")[0]);
check(log.map(({ kind, reason, user }) => `${kind} ${reason} ${user}`).join("; ") ===
  "session_opened signed in page of use observe manage admin; session_closed signed out page of use observe manage admin", "the audit log has both", log);

// The token's end.
const short = await made("observe", { expires_seconds: 2 });
const lasting = await signIn(short.token);
check((await as(other, lasting)).status === 200, "a token that will expire signs in");
check((await server.ask("DELETE", `/v1/tokens/${page.id}`, { token: admin })).status === 200 && (await ended(cookie)) < 2000 && (await ended(third)) < 2000, "with its token each sign-in is revoked");
check((await as(server, cookie)).json.message.includes("was revoked"), "that is told");
check((await ended(lasting)) < 5000, "with its token it expires");
await ended(await signIn(short.token) ?? "0"); // a server may believe in a token for half a second more
check((await signIn(short.token)) === undefined, "a dead token signs nobody in");

// The last token that governs stays, whoever asks, also when two ask at once; who holds the store itself can always go on.
const governing = async (by) => (await server.ask("POST", "/v1/tokens", { token: by, body: { name: "governor", roles: "admin" } })).json;
const revoke = (at, by, who) => at.ask("DELETE", `/v1/tokens/${who.id}`, { token: by });
let survivor = await governing(admin);
const firstId = (await server.ask("GET", "/v1/login", { token: admin })).json.id;
check((await revoke(server, admin, { id: firstId })).status === 200, "an administrator revokes their own token, while there is another");
const alone = await revoke(other, survivor.token, survivor);
check(alone.status === 403 && /last live token/.test(alone.json.message) && /token revoke/.test(alone.json.message), "the last one is not revoked, and it is told how to go on", alone.text);
for (let round = 0; round < 8; round++) {
  const rival = await governing(survivor.token);
  const both = await Promise.all([revoke(server, survivor.token, rival), revoke(other, rival.token, survivor)]);
  const done = both.filter(({ status }) => status === 200).length;
  if (!check(done === 1 || (done === 0 && both.some(({ status }) => status === 423)), "of two that are revoked at once one stays", both.map(({ text }) => text))) break;
  const live = [];
  for (const one of [survivor, rival]) if ((await other.ask("GET", "/v1/tokens", { token: one.token })).status === 200) live.push(one);
  if (live.length === 0) { check(false, "an administrator is left"); break; }
  survivor = live[0];
  for (const one of live.slice(1)) await revoke(server, survivor.token, one);
}
const last = spawnSync(process.env.HOLDFAST, ["token", "revoke", survivor.id, "--store", `sqlite:${server.data}/holdfast.db`], { encoding: "utf8" });
check(last.status === 0, "on the store itself it is revoked", last.stderr);

// Guesses are paid for by their address, as unknown tokens are.
const narrow = await Server.start(["--rate-address", "1", "--burst-address", "5"], { data: server.data });
const guesses = await times(20, (i) => narrow.ask("DELETE", "/v1/login", by(`${i.toString(16).padStart(32, "0")}.${"1".repeat(64)}`, csrf)));
check(guesses.filter(({ status }) => status === 429).length >= 10, "who guesses is told to wait", guesses.map(({ status }) => status).join(" "));
for (const one of [narrow, other, server]) check((await one.stop()).code === 0, "it stops cleanly");
finish();
