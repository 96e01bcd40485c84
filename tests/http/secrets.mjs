#!/usr/bin/env node
// Every secret that is issued, or that someone sends, is looked for in everything that comes out: answers, logs, events, metrics, lists, the file of
// the store, the list of processes. It may stand in the one answer that shows it, and nowhere else.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { check, finish, Server } from "./server.mjs";
import { exchange, until } from "./raw.mjs";

const hex = (bytes) => randomBytes(bytes).toString("hex");
const program = process.env.HOLDFAST;

// ---- what is secret, and what came out ----

class Book {
  secrets = new Map(); // text: what it is
  outputs = []; // {where, bytes}
  secret(what, text) {
    this.secrets.set(text, what);
    return text;
  }
  output(where, bytes) {
    this.outputs.push({ where, bytes: Buffer.from(bytes) });
  }
  // As text, in capitals, as bytes, in base64; parts of it too, since half a key is too much.
  static forms(text) {
    const forms = [Buffer.from(text), Buffer.from(text.slice(0, 24)), Buffer.from(text.slice(-24))];
    if (/^[0-9a-f]{32,}$/.test(text)) {
      const bytes = Buffer.from(text, "hex");
      forms.push(bytes, Buffer.from(text.toUpperCase()), Buffer.from(bytes.toString("base64").slice(0, 20)));
    }
    return [...forms, Buffer.from(Buffer.from(text).toString("base64").slice(0, 24))];
  }
  found() {
    const found = [];
    for (const [text, what] of this.secrets)
      for (const form of Book.forms(text))
        for (const { where, bytes } of this.outputs)
          if (bytes.includes(form)) found.push(`${what} in ${where}`);
    return [...new Set(found)];
  }
}

// ---- a day in the life of a server ----

// Asks, and writes the answer down, without the secrets that it is there to show.
function recorder(server, book, ask = server.ask.bind(server)) {
  return async (method, path, how = {}, shows = []) => {
    const answer = await ask(method, path, how);
    let text = answer.text + JSON.stringify([...(answer.headers ?? [])]);
    for (const secret of shows) {
      const times = text.split(secret).length - 1;
      check(times === 1, `${method} ${path.replace(/[0-9a-f]{32}/g, "...")} shows what it is there to show, once`, `${times} times`);
      text = text.replaceAll(secret, "");
    }
    book.output(`${method} ${path}`, text);
    return answer;
  };
}

async function live(server, book, store) {
  const admin = book.secret("the admin token", server.token);
  const ask = recorder(server, book);
  const tokens = [], sessions = [];
  const issue = async (what, method, path, how, pick) => {
    const answer = await server.ask(method, path, how);
    const text = pick(answer.json);
    if (text === undefined) throw new Error(`${what}: ${answer.text}`);
    book.secret(what, text);
    book.output(`${method} ${path}`, answer.text.replace(text, "") + JSON.stringify([...answer.headers]));
    check(answer.text.split(text).length === 2, `${what} is shown once in the answer that issues it`);
    return answer.json;
  };
  // Tokens: drawn, and derived from an Idempotency-Key.
  for (const [name, headers] of [["drawn", {}], ["derived", { "Idempotency-Key": "create-1" }]])
    tokens.push(await issue(`a token, ${name}`, "POST", "/v1/tokens", { token: admin, headers, body: { name, roles: "use observe:policy", users: "u-*" } }, (json) => json.token));
  const again = await server.ask("POST", "/v1/tokens", { token: admin, headers: { "Idempotency-Key": "create-1" }, body: { name: "derived", roles: "use observe:policy", users: "u-*" } });
  check(again.json?.token === tokens[1].token, "asking again with the same key answers the same token", again.text);
  // Sessions: drawn, derived, with a key of the caller's, replacing another.
  const given = book.secret("a key that was given", hex(32));
  for (const [name, headers, body] of [["drawn", {}, {}], ["derived", { "Idempotency-Key": "open-1" }, {}], ["given", {}, { key: given }]])
    sessions.push(await issue(`a session's key, ${name}`, "POST", "/v1/sessions", { token: tokens[0].token, headers, body: { user: `u-${name}`, ...body } }, (json) => json.key));
  sessions.push(await issue("a session's key, of one that replaces", "POST", "/v1/sessions",
    { token: tokens[0].token, body: { user: "u-drawn", replaces: `${sessions[0].id}.${sessions[0].key}` } }, (json) => json.key));
  const batchKey = book.secret("a key of a batch", hex(32)), batchId = hex(16);
  const batchToken = book.secret("a token of a batch", hex(32));
  await ask("POST", "/v1/batch", { token: tokens[0].token, body: { ops: [{ op: "session-open", session: `${batchId}.${batchKey}`, user: "u-batch" },
    { op: "acquire", session: `${batchId}.${batchKey}`, resource: "policy/batch" }, { op: "holds", session: `${batchId}.${batchKey}`, resource: "policy/batch" },
    { op: "session-find", session: `${batchId}.${batchKey}` }] } });
  const sha256 = createHash("sha256").update(batchToken).digest("hex");
  await ask("POST", "/v1/batch", { token: admin, body: { ops: [{ op: "token-create", name: "by batch", token: hex(16), sha256, roles: "use" }] } });
  check((await server.ask("GET", "/v1/types", { token: batchToken })).status === 200, "a token that a batch made is one");
  // A ticket, and one that is refused.
  const { ticket } = await issue("a ticket", "POST", "/v1/events/tickets", { session: sessions[1], body: { resources: ["policy/1"] } }, (json) => json.ticket);
  const bent = book.secret("a bent ticket", ticket.replace(/.$/, (last) => (last === "0" ? "1" : "0")));
  for (const [text, status] of [[bent, 403], [`${ticket}0`, 400], [`${ticket}&resource=policy/1`, 400]])
    check((await ask("GET", `/v1/events?ticket=${text}`, {})).status === status, `a ticket that is no good is a ${status}`);
  const seat = new AbortController();
  check((await fetch(`${server.url}/v1/events?ticket=${ticket}`, { signal: seat.signal })).status === 200, "the ticket opens a stream");
  seat.abort();
  // The cookie is a secret of its own.
  const login = await server.ask("POST", "/v1/login", { body: { secret: tokens[0].token } });
  const cookies = login.headers.get("set-cookie").split(/, (?=[^ ;]+=)/); // node 18 has no getSetCookie
  check(cookies.length === 1 && !cookies[0].includes(tokens[0].token), "the login does not show the token");
  const [signIn, signInKey] = cookies[0].split(/[=;]/)[1].split(".");
  book.secret("the key of a sign-in", signInKey);
  book.output("the login", login.text + JSON.stringify([...login.headers].filter(([name]) => name !== "set-cookie")));
  const cookie = { Cookie: `__Host-holdfast=${signIn}.${signInKey}` };
  await ask("GET", "/v1/locks?type=policy", { headers: cookie });
  await ask("DELETE", "/v1/tokens/" + tokens[1].id, { headers: cookie });
  await ask("DELETE", "/v1/login", { headers: cookie });

  // All routes, with all who might see something.
  const [, derived, third, session] = sessions;
  const unknown = book.secret("an unknown token", hex(32)), wrongKey = book.secret("a wrong key", hex(32));
  const callers = [{}, { token: admin }, { token: tokens[0].token }, { session }, { token: tokens[0].token, session: third }, { token: unknown }, { session: { id: session.id, key: wrongKey } },
    { token: unknown, session }, { headers: { Cookie: `__Host-holdfast=${unknown}` } }];
  const document = (await server.ask("GET", "/openapi.json")).json;
  const bodies = {
    acquire: { purpose: "p" }, change: { ttl_seconds: 60 }, "acquire-all": { locks: [{ resource: "policy/2" }] }, lookup: { resources: ["policy/1"] }, request: { message: "m" },
    "hand-over": { session: derived.id }, decline: { session: derived.id }, "event-ticket": { resources: ["policy/1"] }, "force-release": { reason: "r" }, "session-open": { user: "u-more" }, "type-set": { policy: "read-write" },
    "token-create": { name: "more", roles: "use" }, batch: { ops: [{ op: "tokens" }, { op: "sessions" }].slice(0, 1) },
  };
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const id = operation.operationId;
      if (["session-close", "session-close-beacon", "login", "events", "events-of-many"].includes(id)) continue;
      for (const how of callers) {
        const target = path.replace(/\{(\w+)\}/g, (_, name) => ({ type: "policy", id: "1", session: how.session?.id ?? session.id, token: tokens[1].id })[name]);
        const answer = await server.ask(method.toUpperCase(), target, { ...how, body: bodies[id] });
        let { text } = answer;
        for (const shown of [id === "session-open" && answer.json?.key, id === "token-create" && answer.json?.token, id === "event-ticket" && answer.json?.ticket].filter(Boolean)) {
          book.secret(`a secret of ${id}`, shown);
          text = text.replace(shown, "");
        }
        book.output(`${id}`, text + JSON.stringify([...answer.headers]));
      }
    }
  }

  // Secrets where they do not belong, and requests that are refused for other reasons.
  const s = `${session.id}.${session.key}`, t = tokens[0].token;
  const misplaced = [
    ["GET", "/v1/locks", { headers: { Authorization: `Basic ${Buffer.from(`x:${t}`).toString("base64")}` } }],
    ["GET", "/v1/locks", { headers: { Authorization: t } }], ["GET", "/v1/locks", { headers: { Authorization: `Bearer ${t}0` } }],
    ["GET", "/v1/locks", { headers: { Authorization: `Bearer ${t} ${t}` } }], ["GET", "/v1/locks", { headers: { "Holdfast-Session": `${s}0`.slice(0, -2) } }],
    ["PUT", "/v1/locks/policy/1", { headers: { "Holdfast-Session": `${s}!` } }], ["PUT", "/v1/locks/policy/1", { headers: { "Holdfast-Session": session.key } }],
    ["GET", `/v1/locks?token=${t}`, {}], ["GET", `/v1/locks?${t}`, {}], ["GET", `/v1/locks?limit=${t}`, { token: t }], ["GET", `/v1/locks?after=${t}`, { token: t }],
    ["GET", `/v1/audit-log?after_seq=${t}`, { token: t }], ["GET", `/${t}`, {}], ["GET", `/v1/${t}`, {}], ["DELETE", `/v1/tokens/${t}`, { token: admin }],
    ["POST", `/v1/sessions/${session.key}/beat`, { session }], ["DELETE", `/v1/sessions/${session.key}`, { session }],
    ["POST", "/v1/login", { body: `{"secret":"${t}"` }], ["POST", "/v1/login", { body: `{"secret":"${t}","secret":"${t}"}` }], ["POST", "/v1/login", { body: `{"${t}":1}` }],
    ["POST", "/v1/login", { body: `{"secret":"${t}x"}` }], ["POST", "/v1/login", { body: { secret: [t] } }], ["POST", "/v1/login", { body: `"${t}"` }],
    ["POST", `/v1/sessions/${session.id}/close`, { body: { key: wrongKey } }], ["POST", `/v1/sessions/${session.id}/close`, { body: { key: `${session.key}z` } }],
    ["POST", "/v1/sessions", { token: t, body: { user: "u-x", key: session.key.slice(1) + "z" } }], ["POST", "/v1/sessions", { token: t, body: { user: "u-x", replaces: session.key } }],
    ["POST", "/v1/sessions", { token: t, body: { user: "u-x", replaces: `${session.id}.${wrongKey}` } }], ["POST", "/v1/sessions", { token: t, body: { user: "u-x", secret: t } }],
    ["POST", "/v1/batch", { token: t, body: { ops: [{ op: t }] } }], ["POST", "/v1/batch", { token: t, body: { ops: [{ op: "beat", session: `${s}z` }] } }],
    ["POST", "/v1/batch", { token: t, body: { ops: [{ op: "beat", [session.key]: 1, session: s }] } }], ["POST", "/v1/batch", { token: t, body: `{"ops":[{"op":"beat","session":"${s}"}` }],
    ["POST", "/v1/batch", { token: t, body: { ops: [{ op: "close", session: `${session.id}.${wrongKey}` }] } }],
    ["POST", "/v1/batch", { token: t, body: { ops: [{ op: "token-find", sha256: t }] } }], ["POST", "/v1/batch", { token: admin, body: { ops: [{ op: "token-find", sha256 }] } }],
    ["PUT", "/v1/locks/policy/1", { session, headers: { "Idempotency-Key": t + t } }], ["DELETE", "/v1/locks/policy/1", { session, headers: { "Holdfast-Fence": t } }],
    ["POST", "/v1/sessions", { token: t, body: t, type: "text/plain" }], ["GET", "/v1/events", { token: t, headers: { "Last-Event-ID": session.key } }],
    ["PROPFIND", "/v1/locks", { token: t }], ["OPTIONS", "/v1/locks", { token: t, headers: { Origin: `https://${t}.example` } }],
  ];
  for (const [method, path, how] of misplaced) {
    const answer = await server.ask(method, path, how);
    const name = path.replaceAll(t, "TOKEN").replaceAll(session.key, "KEY");
    book.output(`${method} ${name}`, answer.text + JSON.stringify([...answer.headers]));
    if (answer.status < 400 && method !== "OPTIONS" && !/batch/.test(path)) check(false, `${method} ${name} is refused`, answer.status);
  }
  for (const bytes of [`GET /v1/locks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${t}\r\n Folded: x\r\n\r\n`, `GET /v1/locks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${t}\nX: y\r\n\r\n`,
    `POST /v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n{"secret":"${t}"}`, `GET /v1/locks?${t} HTTP/3.7\r\n\r\n`, `${t} / HTTP/1.1\r\n\r\n`,
    `GET /v1/locks HTTP/1.1\r\nHost: ${t}\r\n\r\n`])
    book.output("a request that is no request", (await exchange(server, bytes, { half: true })).text);

  await ask("DELETE", `/v1/sessions/${third.id}`, { session: third });
  await ask("POST", `/v1/sessions/${derived.id}/close`, { body: { key: derived.key } });
  await ask("DELETE", `/v1/tokens/${tokens[1].id}`, { token: admin });
  await ask("GET", "/v1/locks", { token: tokens[1].token });

  // What there is to see of it all.
  const stop = new AbortController();
  const stream = await fetch(`${server.url}/v1/events?after_seq=0`, { headers: { Authorization: `Bearer ${admin}` }, signal: stop.signal });
  let heard = "";
  for await (const piece of stream.body.pipeThrough(new TextDecoderStream())) {
    heard += piece;
    if (heard.includes("event: token_revoked")) break;
  }
  stop.abort();
  book.output("the event stream", heard);
  for (let after = 0, page; page === undefined || page.length > 0; after = page.at(-1)?.seq)
    page = (await ask("GET", `/v1/audit-log?limit=1000&after_seq=${after}`, { token: admin })).json.events;
  for (const path of ["/v1/tokens?limit=1000", "/v1/sessions?limit=1000", "/v1/locks?limit=1000", "/metrics", "/readyz", "/openapi.json", "/"]) await ask("GET", path, { token: admin });
  book.output("the list of processes", readFileSync(`/proc/${server.process.pid}/cmdline`));
  book.output("the name of the process", readFileSync(`/proc/${server.process.pid}/comm`));
  if (store !== undefined) for (const name of readdirSync(store)) if (name !== "admin-token") book.output(`the file ${name} while it runs`, readFileSync(join(store, name)));
  return { tokens, sessions };
}

function verdict(book, sentence) {
  const found = book.found();
  check(book.secrets.size >= 12 && book.outputs.length > 100, `${sentence}: ${book.secrets.size} secrets were looked for in ${book.outputs.length} outputs`);
  check(found.length === 0, `${sentence}: none was found`, found.slice(0, 20).join("\n# "));
}

// The search itself finds what is there.
const trial = new Book();
trial.secret("a key", "00112233445566778899aabbccddeeff");
trial.output("text", "x 00112233445566778899aabb x");
trial.output("bytes", Buffer.from("00112233445566778899aabbccddeeff", "hex"));
trial.output("nothing", "00112233");
check(trial.found().join() === "a key in text,a key in bytes", "the search finds what is there", trial.found());

for (const format of ["json", "text"]) {
  const book = new Book();
  const server = await Server.start(["--log-level", "debug", "--rate-address", "0"], { format });
  await live(server, book, server.data);
  const { data } = server;
  server.own = false;
  const end = await server.stop();
  check(end.code === 0, "it stops cleanly", end);
  book.output(`the log as ${format}`, server.lines.join("\n"));
  book.output("stdout", server.output);
  check(server.lines.length > 300, `the log has a line for every request: ${server.lines.length}`);
  for (const name of readdirSync(data)) {
    if (name === "admin-token") check((statSync(join(data, name)).mode & 0o777) === 0o600 && readFileSync(join(data, name), "utf8").trim() === server.token, "the admin token's file is for its owner alone");
    else book.output(`the file ${name}`, readFileSync(join(data, name)));
  }
  const backup = join(data, "backup.db");
  const made = spawnSync(program, ["backup", backup, "--store", `sqlite:${join(data, "holdfast.db")}`], { encoding: "utf8" });
  check(made.status === 0, "a backup is made", made.stderr);
  book.output("a backup", readFileSync(backup));
  verdict(book, `with the log as ${format}`);
  rmSync(data, { recursive: true, force: true });
}

// ---- passwords of stores, keys of certificates ----

const book = new Book();
const folder = mkdtempSync(join(tmpdir(), "holdfast-secrets-"));
const password = book.secret("the store's password", `pw-${hex(16)}`);
const run = (where, args, env = {}) => {
  const done = spawnSync(program, args, { encoding: "utf8", env: { ...process.env, HOLDFAST_STORE: "", ...env }, timeout: 60000 });
  book.output(where, done.stdout + done.stderr);
  return done;
};
const shapes = ["postgres://app:PW@127.0.0.1:1/sales", "postgres://app@127.0.0.1:1/sales?password=PW", "postgres://app:PW@127.0.0.1:1/sales?sslmode=disable&connect_timeout=1",
  "postgres://app:PW%40x@127.0.0.1:1/sales", "mysql://app:PW@127.0.0.1:1/sales", "mysql://app:PW@/sales?socket=/nowhere", "redis://app:PW@127.0.0.1:1/0", "http://app:PW@127.0.0.1:1/", "nothing://app:PW@127.0.0.1/x",
  "postgres://app:PW?x@127.0.0.1:1/sales", "postgres://app:PW/x@127.0.0.1:1/sales", "mysql://app:x/PW@127.0.0.1:1/sales", "mysql://app:#PW@127.0.0.1:1/sales"];
for (const shape of shapes) {
  const url = shape.replace("PW", password);
  const serve = (args, env) => new Promise((resolve) => {
    const serving = spawn(program, ["serve", ...args, "--data", folder, "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } });
    let text = "";
    for (const stream of [serving.stdout, serving.stderr])
      stream.on("data", (piece) => {
        text += piece;
        if (/waits for it.* why=.*\n/.test(text)) serving.kill(); // a store that is not there is waited for
      });
    serving.on("close", (status) => resolve([text, status !== 0]));
  });
  const [said, failed] = await serve(["--store", url], { HOLDFAST_STORE: "" });
  book.output(`serve --store ${shape}`, said);
  check(failed || /waits for it/.test(said), `serve on ${shape} fails or waits, and says why`, said);
  book.output("serve by the environment", (await serve([], { HOLDFAST_STORE: url }))[0]);
  for (const json of [[], ["--json"]]) {
    run("--print-config of a flag", ["serve", "--print-config", ...json, "--store", url, "--data", folder]);
    run("--print-config of the environment", ["serve", "--print-config", ...json, "--data", folder], { HOLDFAST_STORE: url });
    const file = join(folder, "holdfast.ini");
    writeFileSync(file, `[server]\nstore = ${url}\n`);
    const printed = run("--print-config of a file", ["serve", "--print-config", ...json, "--config", file, "--data", folder]);
    if (!/nothing:|redis:|http:/.test(shape)) check(printed.status === 0 && printed.stdout.includes("store"), `--print-config of ${shape}`, printed.stderr);
    writeFileSync(file, `[server]\nstore = ${url}\nbody-max = many\n`);
    run("a file with a flaw", ["serve", "--config", file, "--data", folder]);
  }
  run("another verb", ["list", "--store", url]);
}
// A certificate whose key is not its own, or no key: the sentence names the file, not what is in it.
const make = (name) => {
  const [certificate, key] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
  execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost"], { stdio: "pipe" });
  const text = readFileSync(key, "utf8");
  for (const line of text.split("\n").filter((line) => line.length > 30 && !line.startsWith("-"))) book.secret(`the key of ${name}`, line);
  return [certificate, key];
};
const [certificate, key] = make("one"), [, other] = make("two");
run("serve with another's key", ["serve", "--data", folder, "--listen", "127.0.0.1:0", "--tls-certificate", certificate, "--tls-key", other]);
run("serve with the key as certificate", ["serve", "--data", folder, "--listen", "127.0.0.1:0", "--tls-certificate", key, "--tls-key", key]);
const tls = await Server.start(["--tls-certificate", certificate, "--tls-key", key, "--log-level", "debug"]);
writeFileSync(key, readFileSync(other));
tls.process.kill("SIGHUP");
check(await until(() => tls.lines.some((line) => /could not be read again/.test(line))), "a certificate that no longer fits is told of", tls.lines);
check((await tls.stop()).code === 0, "it stops cleanly");
book.output("the log of a reload", tls.lines.join("\n"));

// What is typed on the command line is in the list of processes at first, but not for long.
const url = new URL(process.env.HF_TEST_POSTGRES_TCP);
const admins = url.href, name = `guard_${hex(6)}`;
const psql = (sql) => execFileSync("psql", ["-qX", "-v", "ON_ERROR_STOP=1", admins, "-c", sql], { stdio: "pipe" });
psql(`CREATE ROLE ${name} LOGIN PASSWORD '${password}'`);
psql(`CREATE DATABASE ${name} OWNER ${name}`);
Object.assign(url, { username: name, password, pathname: `/${name}` });
const listed = (pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
const served = await Server.start(["--store", url.href, "--log-level", "debug", "--rate-address", "0"]);
await live(served, book);
check(/--store postgres/.test(listed(served.process.pid)), "the store stands in the list of processes", listed(served.process.pid).replaceAll(password, "PW"));
book.output("the list of processes", listed(served.process.pid));
check((await served.stop()).code === 0, "it stops cleanly");
book.output("the log on PostgreSQL", served.lines.join("\n"));
const watching = spawn(program, ["watch", `--store=${url.href}`], { stdio: "ignore" });
check(await until(() => /watch --store=postgres/.test(listed(watching.pid)) && !listed(watching.pid).includes(password), 5000), "another verb's, too");
watching.kill();
psql(`DROP DATABASE ${name} WITH (FORCE)`);
psql(`DROP ROLE ${name}`);
verdict(book, "passwords and keys");
rmSync(folder, { recursive: true, force: true });
finish();
