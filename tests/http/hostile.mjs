#!/usr/bin/env node
// Clients that do not behave, against the real process on a real file: too slow, too many, gone before their answer, not reading, speaking
// something else. Others are answered meanwhile; afterwards nothing is left of them.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { check, finish, Server } from "./server.mjs";
import { exchange, files, Holder, metrics, pause, Raw, survived, until, within } from "./raw.mjs";

const long = process.env.HF_TEST_LONG !== undefined;
const quick = async (server, sentence) => {
  const began = Date.now();
  const answer = await server.ask("GET", "/v1/types", { token: server.token });
  check(answer.status === 200 && Date.now() - began < 5000, `${sentence} others are answered: in ${Date.now() - began} ms`, answer.text);
};
const incident = (what) => `holdfast_http_incidents_total{what="${what}"}`;
const request = (server, method, path, more = "") => `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${server.token}\r\n${more}\r\n`;

// ---- slow ----

const slow = await Server.start(["--head-timeout", "700ms", "--body-timeout", "700ms", "--idle-timeout", "2s", "--write-timeout", "1s"]);
slow.endsIdleSoon = true;
const alice = await slow.open("alice");
let filesBefore = files(slow);
{
  const head = request(slow, "GET", "/v1/types");
  const body = request(slow, "PUT", "/v1/locks/policy/slow", `Holdfast-Session: ${alice.id}.${alice.key}\r\nContent-Length: 500\r\n`);
  const began = Date.now();
  const heads = Array.from({ length: 200 }, () => Raw.open(slow, { bytes: head.slice(0, 20) }).listen());
  const bodies = Array.from({ length: 200 }, () => Raw.open(slow, { bytes: body }).listen());
  const silent = Array.from({ length: 50 }, () => Raw.open(slow).listen());
  let at = 20;
  const drip = setInterval(() => {
    heads.forEach((raw) => raw.send(head[at % (head.length - 4)]));
    bodies.forEach((raw) => raw.send(" "));
    at++;
  }, 50);
  await quick(slow, "while 400 send slowly");
  const all = await within(Promise.all([...heads, ...bodies].map((raw) => raw.closed)), 15000, []);
  check(all.length === 400, "slow senders are dropped, however they go on", all.length);
  check([...heads, ...bodies].every((raw) => raw.statuses.length === 0 || (raw.statuses.length === 1 && raw.statuses[0] === 408)), "with 408",
    [...new Set([...heads, ...bodies].map((raw) => raw.statuses.join()))]);
  check([...heads, ...bodies].some((raw) => raw.statuses[0] === 408), "which most can read");
  clearInterval(drip);
  const idle = await within(Promise.all(silent.map((raw) => raw.closed)), 15000, []);
  check(idle.length === 50 && silent.every((raw) => raw.text === ""), `who says nothing is dropped without a word: after ${Date.now() - began} ms at most`);
  [...heads, ...bodies, ...silent].forEach((raw) => raw.destroy());
  const count = await metrics(slow);
  check(count(incident("timeout_head")) >= 200 && count(incident("timeout_body")) >= 200 && count(incident("timeout_idle")) >= 1, "it is counted",
    ["timeout_head", "timeout_body", "timeout_idle"].map((what) => count(incident(what))));
  const held = await slow.ask("GET", "/v1/locks/policy/slow", { token: slow.token });
  check(held.json.holders.length === 0, "nothing that came in part was carried out", held.text);
}

// ---- not reading ----

{
  const locks = Array.from({ length: 1000 }, (_, i) => ({ resource: `policy/${"list-".repeat(20)}${i}`, purpose: "p".repeat(200) }));
  const made = await slow.ask("POST", "/v1/locks", { session: alice, body: { locks } });
  check(made.status === 201, "there is a list worth reading");
  const list = request(slow, "GET", "/v1/locks?limit=1000");
  const deaf = Array.from({ length: 20 }, () => Raw.open(slow, { bytes: list.repeat(100) })); // 60 MB each, if it were read
  deaf.forEach((raw) => raw.socket.pause());
  await quick(slow, "while 20 do not read");
  const counted = await until(async () => (await metrics(slow))(incident("timeout_write")) >= 20);
  check(counted, "who does not read is dropped", (await metrics(slow))(incident("timeout_write")));
  deaf.forEach((raw) => raw.destroy());
  const answer = await exchange(slow, list, { half: true });
  check(answer.statuses[0] === 200 && answer.text.length > 300000, "who reads gets all of it", answer.text.length);
}
await survived(slow, filesBefore, 300);

// ---- many ----

const hard = Number(/Max open files\s+\S+\s+(\d+)/.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? 4096);
const MANY = Math.min(10000, hard - 500);
const server = await Server.start();
const bob = await server.open("bob");
filesBefore = files(server);
{
  const began = Date.now();
  const crowd = [];
  while (crowd.length < MANY) {
    const some = Array.from({ length: Math.min(500, MANY - crowd.length) }, (_, i) => Raw.open(server, { localAddress: `127.0.0.${2 + ((crowd.length + i) % 4)}` }));
    const ready = await Promise.all(some.map((raw) => raw.ready));
    crowd.push(...some);
    if (ready.includes(false)) break;
  }
  const there = await until(async () => (await metrics(server))("holdfast_http_connections") >= MANY);
  check(there, `${MANY} connections stay open and say nothing (${Date.now() - began} ms; the system allows ${hard} files)`, (await metrics(server))("holdfast_http_connections"));
  for (let i = 0; i < 3; i++) await quick(server, "beside them");
  const lock = await server.ask("PUT", "/v1/locks/policy/beside", { session: bob, body: {} });
  check(lock.status === 201, "changes, too", lock.text);
  crowd.forEach((raw) => raw.destroy());
  check(await until(async () => (await metrics(server))("holdfast_http_connections") < 50), "when they go it is noticed");
}

// ---- gone while their request is in the store ----

const holder = new Holder(server);
{
  const wanted = long ? 10000 : 1000, each = 200;
  const sessions = await Promise.all(Array.from({ length: 20 }, (_, i) => server.open(`leaver-${i}`)));
  let parked = 0, left = 0, most = 0, round = 0;
  for (; parked < wanted && round < (4 * wanted) / each; round++) {
    const clients = Array.from({ length: each }, () => Raw.open(server));
    await Promise.all(clients.map((raw) => raw.ready));
    const leftBefore = (await metrics(server))(incident("left"));
    await holder.hold();
    const began = Date.now();
    clients.forEach((raw, i) => {
      const session = sessions[i % sessions.length];
      const what = i % 3 === 0 ? `/v1/sessions/${session.id}/beat` : `/v1/locks/policy/left-${round}-${i}`;
      raw.send(`${i % 3 === 0 ? "POST" : "PUT"} ${what} HTTP/1.1\r\nHost: localhost\r\nHoldfast-Session: ${session.id}.${session.key}\r\nContent-Length: 0\r\n\r\n`);
    });
    await until(async () => (most = (await metrics(server))("holdfast_http_requests_in_flight")) > each, 300);
    clients.forEach((raw, i) => (i % 4 === 3 ? raw.destroy() : raw.socket.resetAndDestroy())); // a FIN, else a RST
    await until(async () => (await metrics(server))("holdfast_http_connections") < each / 2, 300);
    const took = Date.now() - began;
    await holder.letGo();
    const over = await until(async () => (await metrics(server))("holdfast_http_requests_in_flight") === 1);
    if (!over) check(false, `round ${round}: all that was parked comes to its end`);
    const seen = (await metrics(server))(incident("left")) - leftBefore;
    // The store waits half a second. If the machine stood still meanwhile, they were answered before they left: that round was in vain.
    if (took > 400 && seen < most / 2) continue;
    parked += Math.min(each, most - 1);
    left += seen;
  }
  check(parked >= wanted, `${round * each} clients left, ${parked} of them while their request was parked`, parked);
  check(left >= parked * 0.5, `the server saw ${left} of them leave before their answer`, left);
  const answers = await Promise.all(sessions.map((session) => server.ask("POST", `/v1/sessions/${session.id}/beat`, { session })));
  check(answers.every((answer) => answer.status === 200), "their sessions live on");
  // What they asked for was done or not done, and can be given back.
  const closed = await Promise.all(sessions.map((session) => server.ask("DELETE", `/v1/sessions/${session.id}`, { session })));
  const released = closed.reduce((sum, answer) => sum + answer.json.released, 0);
  check(closed.every((answer) => answer.status === 200) && released === answers.reduce((sum, answer) => sum + answer.json.locks, 0), `and held ${released} locks`);
  holder.done();
}
await survived(server, filesBefore, 400);

// ---- gone while it is looked up who they are ----

const socketFolder = mkdtempSync(join(tmpdir(), "holdfast-unix-"));
const socket = join(socketFolder, "socket");
const streaming = await Server.start(["--streams-token", "4", "--listen", "127.0.0.1:0", "--listen", `unix:${socket}`]);
await streaming.ask("GET", "/healthz");
filesBefore = files(streaming);
{
  // The server stands still while they come and go, and until what it knows of the token is too old: so all of them are parked for one look.
  streaming.process.kill("SIGSTOP");
  const leavers = Array.from({ length: 5 }, () => Raw.open(streaming, { connecting: () => connect({ path: socket }), bytes: request(streaming, "GET", "/v1/events") }));
  await Promise.all(leavers.map((raw) => raw.ready));
  leavers.forEach((raw) => raw.socket.end());
  await pause(100);
  leavers.forEach((raw) => raw.destroy());
  await pause(700);
  streaming.process.kill("SIGCONT");
  const told = await until(async () => (await metrics(streaming))(incident("left")) >= 5);
  check(told, "5 clients of Unix sockets left before their stream began", (await metrics(streaming))(incident("left")));
  const nobody = await until(async () => (await metrics(streaming))("holdfast_event_followers") === 0, 2000);
  check(nobody, "nobody follows in their place", (await metrics(streaming))("holdfast_event_followers"));
  const streams = Array.from({ length: 4 }, () => Raw.open(streaming, { bytes: request(streaming, "GET", "/v1/events") }).listen());
  const begun = await until(() => streams.every((raw) => raw.statuses.length === 1));
  check(begun && streams.every((raw) => raw.statuses[0] === 200), "the token has as many streams as before", streams.map((raw) => raw.statuses));
  streams.forEach((raw) => raw.destroy());
  check(await until(async () => (await metrics(streaming))("holdfast_event_followers") === 0), "until they leave");
}
await survived(streaming, filesBefore, 200);
rmSync(socketFolder, { recursive: true });

// ---- names that are no text ----

const spoken = await Server.start();
await spoken.ask("GET", "/healthz");
filesBefore = files(spoken);
{
  const carol = await spoken.open("carol");
  const strict = new TextDecoder("utf-8", { fatal: true });
  const whole = (bytes) => {
    try {
      return JSON.parse(strict.decode(bytes));
    } catch {
      return undefined;
    }
  };
  const names = ["a/%e2%82", "%ff/x", "a/%ff", `a/${"%C3%A9".repeat(200)}`, `a/x${"%C3%A9".repeat(200)}`, `${"a".repeat(200)}/x`, "a/%1b", "A/1", "a/%ed%a0%80"];
  const routes = [["GET", ""], ["PUT", ""], ["PATCH", "", { ttl_seconds: 5 }], ["DELETE", ""], ["POST", "/request", {}], ["POST", "/decline", { session: "0".repeat(32) }], ["POST", "/hand-over", { session: carol.id }],
    ["POST", "/force-release", { reason: "r" }]];
  const callers = [{ Authorization: `Bearer ${spoken.token}` }, { "Holdfast-Session": `${carol.id}.${carol.key}` }, { "Holdfast-Session": `${carol.id}.${"0".repeat(64)}` }, {}];
  const paths = names.flatMap((name) => routes.map(([method, tail, body]) => [method, `/v1/locks/${name}${tail}`, body]));
  for (const type of ["%ff", "a%c3"]) paths.push(["GET", `/v1/types/${type}`], ["PUT", `/v1/types/${type}`, { policy: "read-write" }], ["GET", `/v1/locks?type=${type}`],
    ["GET", `/v1/locks?user=${type}`], ["GET", `/v1/sessions?user=${type}`], ["GET", `/v1/events?resource=${type}/1`], ["DELETE", `/v1/tokens/${type}`], ["GET", `/${type}`]);
  const bad = [];
  for (const [method, path, body] of paths)
    for (const headers of callers) {
      const response = await fetch(spoken.url + path, { method, headers: { ...headers, ...(body && { "Content-Type": "application/json" }) }, body: body && JSON.stringify(body) });
      const bytes = new Uint8Array(await response.arrayBuffer());
      const json = whole(bytes);
      if (json === undefined || (response.status >= 400 && json.code === undefined)) bad.push([method, path.slice(0, 60), response.status, Buffer.from(bytes).toString("latin1")]);
    }
  check(bad.length === 0, `${paths.length * callers.length} requests with names that are none get JSON in UTF-8`, bad.slice(0, 10));
  const taken = await spoken.ask("PUT", "/v1/locks/policy/%C3%A9", { session: carol, body: {} });
  const dave = await spoken.open("dave");
  const refused = await spoken.ask("PUT", "/v1/locks/policy/%C3%A9", { session: dave, body: {} });
  check(taken.status === 201 && refused.status === 423 && refused.json.resource === "policy/\u00e9", "a name that is one stands in the refusal", refused.text);
  const wrongKey = await spoken.ask("DELETE", "/v1/locks/policy/%C3%A9", { session: { id: carol.id, key: "0".repeat(64) } });
  check(wrongKey.status === 403 && wrongKey.json.resource === "policy/\u00e9", "also when the key is wrong", wrongKey.text);
}
await survived(spoken, filesBefore, 200);

// ---- bodies that never end ----

const laden = await Server.start(["--idle-timeout", "60s"]);
await laden.ask("GET", "/healthz");
filesBefore = files(laden);
{
  const half = (credentials) => `POST /v1/batch HTTP/1.1\r\nHost: localhost\r\n${credentials}Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n${" ".repeat(600000)}`;
  const lie = `Authorization: Bearer ${"0".repeat(64)}\r\n`;
  const crowd = Array.from({ length: 400 }, () => Raw.open(laden, { localAddress: "127.0.0.2", bytes: half(lie) }).listen());
  const strangers = Array.from({ length: 10 }, () => Raw.open(laden, { localAddress: "127.0.0.4", bytes: half("") }).listen());
  await Promise.all([...crowd, ...strangers].map((raw) => raw.ready));
  await until(async () => (await metrics(laden))(incident("refused_memory")) >= 200);
  const asked = (from) => exchange(laden, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", { half: true, localAddress: from });
  const healthy = await Promise.all(["127.0.0.2", "127.0.0.2", "127.0.0.3", "127.0.0.1"].map(asked));
  check(healthy.every((answer) => answer.statuses.join() === "200"), "while one address sends 400 bodies that never end, /healthz answers", healthy.map((answer) => answer.text.slice(0, 200)));
  const large = await exchange(laden, `${request(laden, "PUT", "/v1/locks/policy/x", "Content-Length: 900000\r\n")}${" ".repeat(900000)}`, { half: true, localAddress: "127.0.0.3" });
  check(large.statuses.join() === "400", "and another address may send a large one", large.text.slice(0, 300)); // of blanks: it was read
  check(strangers.every((raw) => raw.statuses.join() === "413"), "without credentials it is refused by its head", strangers.map((raw) => raw.text.slice(0, 200)));
  const told = crowd.filter((raw) => raw.statuses.join() === "429").length;
  check(told >= 100 && told < 400, "one address has its share of the memory, and is told so", told);
  [...crowd, ...strangers].forEach((raw) => raw.destroy());
}
await survived(laden, filesBefore, 250);

// ---- a stop while requests come in part ----

{
  const hour = ["--head-timeout", "1h", "--body-timeout", "1h", "--idle-timeout", "1h", "--write-timeout", "1h", "--stop-timeout", "1h"];
  const stopped = await Server.start(hour);
  const erin = await stopped.open("erin");
  const holding = new Holder(stopped);
  const lock = `Holdfast-Session: ${erin.id}.${erin.key}\r\n`;
  const heads = Array.from({ length: 20 }, () => Raw.open(stopped, { bytes: request(stopped, "GET", "/v1/types").slice(0, 30) }).listen());
  const bodies = Array.from({ length: 20 }, () => Raw.open(stopped, { bytes: request(stopped, "PUT", "/v1/locks/policy/part", `${lock}Content-Length: 500\r\n`) }).listen());
  await until(async () => (await metrics(stopped))("holdfast_http_connections") > 40);
  await holding.hold();
  const whole = Raw.open(stopped, { bytes: request(stopped, "PUT", "/v1/locks/policy/whole", `${lock}Content-Length: 0\r\n`) }).listen();
  await until(async () => (await metrics(stopped))("holdfast_http_requests_in_flight") > 1);
  stopped.process.kill("SIGTERM");
  await until(() => stopped.lines.some((line) => line.includes("Stopping")));
  await holding.letGo();
  const end = await within(stopped.gone, 60000, "not in a minute");
  check(end.code === 0, "a stop does not wait for requests that come in part", end);
  await Promise.all([whole, ...heads, ...bodies].map((raw) => raw.closed));
  check([...heads, ...bodies].every((raw) => raw.statuses.join() === "503"), "they are told so", [...heads, ...bodies].map((raw) => raw.text.slice(0, 60)));
  check(whole.statuses.join() === "201", "what was whole is answered", whole.text);
  holding.done();
  if (end.code !== 0) stopped.process.kill("SIGKILL");
  rmSync(stopped.data, { recursive: true, force: true });
}

// ---- more than there may be ----

const narrow = await Server.start(["--connections-max", "40", "--connections-address", "0"]);
await narrow.ask("GET", "/healthz");
filesBefore = files(narrow);
{
  const crowd = Array.from({ length: 120 }, () => Raw.open(narrow).listen());
  const ended = new Set();
  crowd.forEach((raw) => raw.closed.then(() => ended.add(raw)));
  const shed = await until(() => ended.size >= 79);
  check(shed, "beyond connections-max they are closed", ended.size);
  check([...ended].every((raw) => raw.text === "" || raw.statuses[0] === 503) && [...ended].filter((raw) => raw.statuses[0] === 503).length >= 40, "and most are told 503",
    [...ended].filter((raw) => raw.statuses[0] === 503).length);
  check(crowd.length - ended.size >= 38, "those within it stay", crowd.length - ended.size);
  crowd.forEach((raw) => raw.destroy());
  let answer;
  await until(async () => (answer = await narrow.ask("GET", "/v1/types", { token: narrow.token }).catch(() => ({}))).status === 200);
  check(answer.status === 200, "when they have gone, others are answered", answer.text);
}
await survived(narrow, filesBefore, 200);
const shared = await Server.start(["--connections-max", "40"]);
{
  const crowd = Array.from({ length: 60 }, () => Raw.open(shared).listen());
  let ended = 0;
  crowd.forEach((raw) => raw.closed.then(() => ended++));
  check(await until(() => ended >= 40), "one address has at most half of connections-max, however large connections-address is", ended);
  const other = await exchange(shared, request(shared, "GET", "/healthz", "Connection: close\r\n"), { localAddress: "127.0.0.2" });
  check(other.statuses.join() === "200" && ended <= 42, "the other half is for others", [ended, other.text]);
  crowd.forEach((raw) => raw.destroy());
}
check((await shared.stop()).code === 0, "it stops cleanly");

// ---- TLS ----

const folder = mkdtempSync(join(tmpdir(), "holdfast-tls-"));
const [certificate, key] = ["certificate.pem", "key.pem"].map((name) => join(folder, name));
execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
  "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], { stdio: "pipe" });
const secure = await Server.start(["--tls-certificate", certificate, "--tls-key", key, "--head-timeout", "700ms", "--listen", "127.0.0.1:0", "--listen", `unix:${folder}/socket`]);
const ca = readFileSync(certificate);
const byTls = (more = {}) => exchange(secure, request(secure, "GET", "/v1/types", "Connection: close\r\n"),
  { connecting: (options) => connectTls({ ...options, ca, servername: "localhost", ...more }) });
check((await byTls()).statuses[0] === 200, "TLS is spoken");
filesBefore = files(secure);
{
  for (const version of ["TLSv1.2", "TLSv1.3"])
    check((await byTls({ minVersion: version, maxVersion: version })).statuses[0] === 200, `${version} is spoken`);
  for (const version of ["TLSv1", "TLSv1.1"]) {
    const old = await byTls({ minVersion: version, maxVersion: version, ciphers: "DEFAULT@SECLEVEL=0" });
    check(old.how === "error" && old.text === "", `${version} is not`, old);
  }
  for (const [what, bytes] of [["plain HTTP", request(secure, "GET", "/v1/types")], ["SSLv2", Buffer.from("802e0100020015000000100100800300800700c0", "hex")],
    ["garbage", Buffer.alloc(4096, 0x5a)], ["a record that is too long", Buffer.from("160301ffff01", "hex")], ["an alert at once", Buffer.from("15030100020228", "hex")]]) {
    const { how, text } = await exchange(secure, bytes);
    check(how !== "open" && !/HTTP\/1\.1 2/.test(text) && !/"types"/.test(text), `${what} on the TLS port is closed`, { how, text });
  }
  // Handshakes that are never finished.
  const hello = Buffer.from("1603010200010001fc0303", "hex");
  const began = Date.now();
  const stalls = Array.from({ length: 200 }, (_, i) => Raw.open(secure, { bytes: i % 2 ? hello : undefined }).listen());
  await until(async () => (await byTls()).statuses[0] === 200, 5000);
  check(Date.now() - began < 5000, "while 200 handshakes stall, others are answered");
  const all = await within(Promise.all(stalls.map((raw) => raw.closed)), 15000, []);
  check(all.length === 200, `handshakes that stall are dropped: after ${Date.now() - began} ms at most`);
  stalls.forEach((raw) => raw.destroy());
  // Clients that leave in the middle of a handshake, or of an answer.
  for (let i = 0; i < 50; i++) {
    const raw = Raw.open(secure, { connecting: (options) => connectTls({ ...options, ca, servername: "localhost" }), bytes: request(secure, "GET", "/openapi.json") });
    await pause(i % 5);
    raw.destroy();
  }
  const still = await byTls();
  check(still.statuses[0] === 200, "TLS is still spoken", still);
}
// fetch knows nothing of the certificate; the Unix socket needs none.
secure.ask = async () => {
  const { statuses, text } = await byTls();
  return { status: statuses[0], text };
};
await survived(secure, filesBefore, 200);
rmSync(folder, { recursive: true });
finish();
