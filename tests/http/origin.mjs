#!/usr/bin/env node
// What is judged before a request is looked at: whom it was meant for, which page sent it, whether its cookie counts; and how much one
// caller may ask.
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { exchange } from "./raw.mjs";
import { check, finish, Server } from "./server.mjs";

// Headers that fetch would not send as they are, by TCP or a Unix socket.
function raw(server, method, path, headers, body) {
  return new Promise((resolve, reject) => {
    const [host, port] = server.address.split(":");
    const way = host === "unix" ? { socketPath: port } : { host, port };
    const sent = request({ ...way, method, path, headers, setHost: headers.host === undefined }, (response) => {
      let text = "";
      response.on("data", (piece) => (text += piece));
      response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, text }));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

const origin = "https://app.example.org";
const server = await Server.start(["--allow-origin", origin, "--host", "locks.example.org", "--host", "[fd00::3]", "--host", "192.0.2.5"]);
const bearer = { authorization: `Bearer ${server.token}` };

// ---- Host ----

for (const [host, status] of [["127.0.0.1", 200], ["localhost:1", 200], ["[::1]:7420", 200], ["LOCKS.example.org", 200], ["locks.example.org:443", 200],
  ["[fd00::3]", 200], ["[fd00:0::3]:7420", 200], ["192.0.2.5:7420", 200], ["[::ffff:127.0.0.1]:7420", 200],
  ["[fd00::4]", 403], ["192.0.2.6", 403], ["0.0.0.0", 403], ["[::]:7420", 403],
  ["evil.example.com", 403], ["127.0.0.1.evil.com", 403], ["localhost.evil.com", 403], ["locks.example.org.evil.com", 403], ["127.evil", 403]]) {
  const answer = await raw(server, "GET", "/healthz", { host });
  check(answer.status === status, `Host ${host} is ${status === 200 ? "ours" : "refused"}`, answer);
}
for (const host of ["[::1]evil", "[::1]:evil", "localhost:evil", "localhost:80:80", "127.0.0.1:80evil", "fd00::3", "[fd00::3", "[127.0.0.1]", "[]", "[localhost]", "user@localhost",
  "localhost/evil", "localhost evil", "localhost\\evil"]) {
  const answer = await raw(server, "GET", "/healthz", { host });
  check(answer.status === 400 && JSON.parse(answer.text).code === "invalid", `Host ${host} is malformed`, answer);
}
// The host of a target counts, whatever the header says.
for (const [target, host, status] of [["http://localhost/healthz", "evil.example.com", 200], ["http://[::1]:7420/healthz", "a", 200], ["HTTPS://locks.example.org/healthz?", "a", 200],
  ["http://evil.example.com/healthz", "localhost", 403], ["http://localhost:evil/healthz", "localhost", 400], ["http://[::1]evil/healthz", "localhost", 400],
  ["http://evil@localhost/healthz", "localhost", 400], ["http:///healthz", "localhost", 400], ["//localhost/healthz", "localhost", 404]]) {
  const answer = await exchange(server, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`, { half: true });
  check(answer.statuses.join() === String(status), `GET ${target} with Host: ${host} is answered with ${status}`, answer);
}

// A load balancer's check may be HTTP/1.0 without a Host (HAProxy's is, unless it is told otherwise); no browser sends that.
for (const [line, status] of [["GET /healthz", 200], ["GET /readyz", 200], ["HEAD /healthz", 200], ["HEAD /readyz", 200], ["OPTIONS /", 204],
  ["GET /", 403], ["GET /openapi.json", 403], ["GET /v1/locks", 403], ["GET /healthz/x", 403], ["POST /healthz", 405]]) {
  const answer = await exchange(server, `${line} HTTP/1.0\r\n\r\n`);
  check(answer.statuses.join() === String(status) && answer.how === "end", `${line} over HTTP/1.0 without a Host is answered with ${status}`, answer);
}
for (const head of ["GET /healthz HTTP/1.0\r\nHost: evil.example.com", "GET /healthz HTTP/1.0\r\nHost:"])
  check((await exchange(server, `${head}\r\n\r\n`)).statuses.join() === "403", `${JSON.stringify(head)} is refused all the same`);
check((await exchange(server, "GET /healthz HTTP/1.1\r\n\r\n")).statuses.join() === "400", "HTTP/1.1 needs a Host");

// Whoever comes by an address of the machine may call the server by it, whatever its names are.
const wide = await Server.start(["--listen", "0.0.0.0:0", "--allow-plain", "--host", "locks.example.org"]);
const port = wide.address.split(":")[1];
const mine = Object.values(networkInterfaces()).flat().filter(({ family }) => family === "IPv4").map(({ address }) => address);
for (const address of mine) {
  const there = { address: `${address}:${port}` };
  const answer = await raw(there, "GET", "/healthz", { host: there.address });
  check(answer.status === 200, `a client that came to ${address} may call the server so`, answer);
  for (const other of ["198.51.100.6", "0.0.0.0", "evil.example.com", `${address}.evil.com`, ...mine.filter((one) => one !== address && !one.startsWith("127."))])
    check((await raw(there, "GET", "/healthz", { host: other })).status === 403, `but not ${other}`);
}
check((await wide.stop()).code === 0, "it stops cleanly");

// ---- Origin ----

const own = await raw(server, "GET", "/v1/locks", { ...bearer, origin: server.url });
check(own.status === 200 && !own.headers["access-control-allow-origin"], "a page of the server's own may ask", own);
const foreign = await raw(server, "GET", "/v1/locks", { ...bearer, origin: "https://evil.example.com" });
check(foreign.status === 403 && !foreign.headers["access-control-allow-origin"], "a page of someone else's may not", foreign);
const near = await raw(server, "GET", "/v1/locks", { ...bearer, origin: origin + ".evil.com" });
check(near.status === 403, "nor one whose name only begins like an allowed one", near);
const nothing = await raw(server, "GET", "/v1/locks", { ...bearer, origin: "null" });
check(nothing.status === 403, "nor one without an origin of its own", nothing);
const allowed = await raw(server, "GET", "/v1/locks", { ...bearer, origin });
check(allowed.status === 200 && allowed.headers["access-control-allow-origin"] === origin && allowed.headers.vary?.includes("Origin"),
  "a page of an allowed origin may, and is told so", allowed.headers);
const refusal = await raw(server, "GET", "/v1/nowhere", { origin });
check(refusal.status === 404 && refusal.headers["access-control-allow-origin"] === origin, "it can read refusals too", refusal.headers);
const before = await raw(server, "OPTIONS", "/v1/locks/policy/1", { origin, "access-control-request-method": "PUT" });
check(before.status === 204 && /PUT/.test(before.headers["access-control-allow-methods"]) &&
  /Holdfast-Session/.test(before.headers["access-control-allow-headers"]), "its question before a request is answered", before.headers);
check(!before.headers["access-control-allow-credentials"], "cookies are not for pages of other origins");
const plain = await raw(server, "OPTIONS", "/v1/locks", {});
check(plain.status === 204 && /POST/.test(plain.headers.allow) && !plain.headers["access-control-allow-methods"], "OPTIONS without an origin says what is allowed", plain.headers);

// ---- cookies ----

const json = { "content-type": "application/json" };
const login = await raw(server, "POST", "/v1/login", json, JSON.stringify({ secret: server.token }));
const cookie = login.headers["set-cookie"]?.[0] ?? "";
check(login.status === 204 && /^holdfast=/.test(cookie) && !/; Secure/.test(cookie) && /; HttpOnly/.test(cookie) &&
  /; SameSite=Strict/.test(cookie) && /; Path=\//.test(cookie) && !/Domain/i.test(cookie), "the cookie is for this server alone, and no script's", cookie.replace(server.token, "..."));
const carried = { cookie: `other=1; ${cookie.split(";")[0]}; last=2` };
check((await raw(server, "GET", "/v1/locks", carried)).status === 200, "it authorises a look");
const bare = await raw(server, "PUT", "/v1/types/claim", { ...carried, ...json }, '{"policy":"optimistic"}');
check(bare.status === 403 && /Holdfast-CSRF/.test(bare.text), "a change that it authorises needs the header", bare.text);
const shown = await raw(server, "PUT", "/v1/types/claim", { ...carried, ...json, "holdfast-csrf": "1" }, '{"policy":"optimistic"}');
check(shown.status === 200, "with the header it is made", shown.text);
const opened = await server.open("alice");
await server.ask("PUT", "/v1/locks/policy/1", { session: opened, body: {} });
const beacon = (key, headers) => raw(server, "POST", `/v1/sessions/${opened.id}/close`, { "content-type": "text/plain;charset=UTF-8", ...headers }, JSON.stringify({ key }));
const guessed = await beacon("0".repeat(64), { ...carried, origin });
check(guessed.status === 403 && !/CSRF/.test(guessed.text), "a beacon counts by the key in it, not by the cookie of an administrator", guessed.text);
const strange = await beacon(opened.key, { ...carried, origin: "https://evil.example.com" });
check(strange.status === 403, "no page of someone else's sends one", strange.text);
const closing = await beacon(opened.key, { ...carried, origin });
check(closing.status === 200 && JSON.parse(closing.text).released === 1, "the beacon of a page of the same site closes, though a cookie comes along that it did not ask for", closing.text);
// Safari keeps no Secure cookie of a page on plain HTTP, not even on this machine; everywhere else the cookie is Secure.
const cookieAt = async (headers, to = server) => {
  const got = await raw(to, "POST", "/v1/login", { ...json, ...headers }, JSON.stringify({ secret: to.token }));
  return `${got.status} ${got.headers["set-cookie"]?.join("\n") ?? ""}`;
};
for (const host of ["localhost:7420", "127.0.0.2", "[::1]:7420"]) {
  const plainCookie = await cookieAt({ host, origin: `http://${host}` });
  check(/^204 holdfast=/.test(plainCookie) && !/Secure/.test(plainCookie) && /HttpOnly; SameSite=Strict/.test(plainCookie), `on http://${host} the cookie is kept by every browser`, plainCookie);
}
for (const [what, headers] of [["by another name", { host: "locks.example.org" }], ["that a proxy passed on", { "x-forwarded-for": "127.0.0.1" }], ["that a proxy passed on, by Forwarded", { forwarded: "for=127.0.0.1" }]])
  check(/^204 __Host-holdfast=.*; Secure/.test(await cookieAt(headers)), `a login ${what} gets a Secure cookie`);
const trusting = await Server.start(["--trust-proxy", "127.0.0.1"]);
for (const proto of ["https", "http"])
  check(/^204 __Host-holdfast=.*; Secure/.test(await cookieAt({ host: "localhost", "x-forwarded-for": "127.0.0.1", "x-forwarded-proto": proto }, trusting)), `so does one by a trusted proxy that had it by ${proto}`);
await trusting.stop();
const planted = await raw(server, "GET", "/v1/login", { host: "locks.example.org", cookie: cookie.split(";")[0] });
check(planted.status === 401, "elsewhere a cookie without the prefix, which anyone on the way could plant, counts for nothing", planted.text);
for (const [sentence, old] of [["while logged in", carried], ["over a cookie that counts no more", { cookie: `__Host-holdfast=${"0".repeat(64)}` }]]) {
  const again = await raw(server, "POST", "/v1/login", { ...json, ...old }, JSON.stringify({ secret: server.token }));
  check(again.status === 204 && again.headers["set-cookie"]?.[0].startsWith("holdfast="), `a login ${sentence} goes as any`, again.text);
  const both = [old.cookie, again.headers["set-cookie"][0].split(";")[0]].filter((one) => !one.includes("other=")).join("; ");
  check((await raw(server, "GET", "/v1/login", { cookie: both })).status === 200, `and a cookie ${sentence} is not in its way`);
}
for (const type of [json, { "content-type": "text/plain" }, {}]) {
  const forged = await raw(server, "POST", "/v1/login", { ...type, ...carried, origin: "https://evil.example.com" }, JSON.stringify({ secret: server.token }));
  check(forged.status === 403 && !forged.headers["set-cookie"], `a page of someone else's logs nobody in (${type["content-type"] ?? "no type"})`, forged.text);
}
check((await raw(server, "DELETE", "/v1/login", carried)).status === 403, "nor out");
const wrong = await raw(server, "POST", "/v1/login", json, JSON.stringify({ secret: "0".repeat(64) }));
check(wrong.status === 401 && !wrong.headers["set-cookie"], "a secret that is no token's gets no cookie", wrong.text);
const out = await raw(server, "DELETE", "/v1/login", {});
check(out.status === 204 && out.headers["set-cookie"].length === 2 && out.headers["set-cookie"].every((one) => /^(__Host-)?holdfast=;.*Max-Age=0/.test(one)), "logging out takes it back, by both names", out.headers);

// ---- bodies and credentials that are not what they should be ----

const typed = await raw(server, "POST", "/v1/sessions", { ...bearer, "content-type": "text/plain" }, '{"user":"eve"}');
check(typed.status === 415, "a body that a form could send is refused", typed.text);
for (const authorization of ["Basic abc", "Bearer", "Bearer ", "Bearer x", `Bearer ${server.token.slice(1)}`, `Bearer ${server.token} x`]) {
  const answer = await raw(server, "GET", "/v1/locks", { authorization });
  check(answer.status === 401 && answer.headers["www-authenticate"], `'${authorization.slice(0, 8)}...' (${authorization.length}) authorises nothing`, answer.text);
}
for (const session of ["x", "a.b", `${"0".repeat(32)}.${"0".repeat(32)}`, `${"0".repeat(32)}.`]) {
  const answer = await raw(server, "PUT", "/v1/locks/policy/1", { "holdfast-session": session });
  check([400, 401, 403, 404, 410].includes(answer.status), `the session '${session.slice(0, 6)}...' (${session.length}) gets ${answer.status}`, answer.text);
}
const anyone = await raw(server, "POST", "/v1/tokens", { ...bearer, ...json }, '{"name":"n","roles":"use","users":""}');
check(anyone.status === 400 && /pattern of users is empty/.test(anyone.text), "an empty pattern of users is no pattern for all", anyone.text);
check((await server.stop()).code === 0, "it stops cleanly");

// ---- behind a proxy, by a Unix socket ----

const folder = mkdtempSync(join(tmpdir(), "holdfast-gate-"));
const inner = await Server.start(["--listen", `unix:${folder}/socket`, "--trust-proxy", "unix", "--host", "locks.example.org", "--rate-address", "1", "--burst-address", "3"]);
const entry = { authorization: `Bearer ${inner.token}`, host: "locks.example.org" };
const passed = (client, more = {}) => ({ host: "locks.example.org", "x-forwarded-for": client, "x-forwarded-proto": "https", ...more });
const page = await raw(inner, "GET", "/v1/locks", passed("192.0.2.7", { ...entry, origin: "https://locks.example.org" }));
check(page.status === 200 && !page.headers["access-control-allow-origin"], "a page of the server's own, by TLS to the proxy, may ask", page);
const clear = await raw(inner, "GET", "/v1/locks", passed("192.0.2.7", { ...entry, origin: "https://locks.example.org", "x-forwarded-proto": "http" }));
check(clear.status === 403, "not when the proxy says that it came in the clear", clear);
for (const [sentence, more] of [["that the proxy passes on", {}], ["whose headers contradict each other", { forwarded: "for=192.0.2.99" }]]) {
  const rebound = await raw(inner, "GET", "/healthz", passed("192.0.2.8", { host: "evil.example.com", ...more }));
  check(rebound.status === 403 && /--host/.test(rebound.text), `a Host that is not ours is refused of someone ${sentence}`, rebound);
}
check((await raw(inner, "GET", "/metrics", passed("192.0.2.9"))).status === 401, "someone from elsewhere does not see the metrics");
check((await raw(inner, "GET", "/metrics", { host: "locks.example.org" })).status === 401, "nor someone of whom the proxy says nothing");
const strangers = async (client, count) => {
  const got = [];
  for (let i = 0; i < count; i++) got.push((await raw(inner, "GET", "/v1/locks", passed(client))).status);
  return got.join(" ");
};
check(/^401 401 401 .*429/.test(await strangers("192.0.2.10", 20)), "a stranger who asks too often is told to wait");
check((await strangers("192.0.2.11", 1)) === "401", "another one is not");
let noted;
for (const until = Date.now() + 20000; !/from 192\.0\.2\.11: /.test(noted ?? "") && Date.now() < until;)
  noted = (await raw(inner, "GET", "/v1/audit-log?limit=1000", passed("192.0.2.7", entry))).text;
check(/from 192\.0\.2\.10: /.test(noted) && /from 192\.0\.2\.11: /.test(noted), "the audit log has the addresses that the proxy told", noted);
check((await inner.stop()).code === 0, "it stops cleanly");
const direct = await Server.start(["--listen", `unix:${folder}/socket`]);
check((await raw(direct, "GET", "/healthz", { host: "anything" })).status === 200, "who comes straight to a Unix socket may put anything into Host");
check((await raw(direct, "GET", "/healthz", { host: "anything", "x-forwarded-for": "192.0.2.7" })).status === 403, "who was passed on may not");
check((await direct.stop()).code === 0, "it stops cleanly");
rmSync(folder, { recursive: true });

// ---- how much one caller may ask ----

const narrow = await Server.start(["--rate-token", "2", "--burst-token", "5"]);
const answers = [];
for (let i = 0; i < 12; i++) answers.push(await narrow.ask("GET", "/v1/types", { token: narrow.token }));
const late = answers.filter((answer) => answer.status === 429);
check(answers.slice(0, 5).every((answer) => answer.status === 200), "a burst is let through");
check(late.length >= 4 && late.every((answer) => answer.headers.get("retry-after") >= "1" && answer.json.code === "too_many"), "then it is told to wait, and for how long",
  answers.map((answer) => answer.status));
check((await narrow.stop()).code === 0, "it stops cleanly");
finish();
