#!/usr/bin/env node
// Requests that two servers could read in two ways, over real sockets: what is refused is answered once and the connection closed, and a request
// that was hidden in it, or behind it, is never carried out.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { check, finish, Server } from "./server.mjs";
import { exchange, files, Raw, survived, until, within } from "./raw.mjs";

const corpus = join(process.env.HF_SOURCE_ROOT, "tests/fuzz/corpus/framing");
const server = await Server.start(["--host", "a", "--body-max", "1M"]);
const types = async () => (await server.ask("GET", "/v1/types", { token: server.token })).json.types.map((type) => type.type);
const filesBefore = files(server);

// A request that leaves a trace if it is carried out.
const trace = (name) => {
  const body = '{"policy":"optimistic"}';
  return `PUT /v1/types/${name} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${server.token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};
check((await exchange(server, trace("seen"), { half: true })).statuses[0] === 200 && (await types()).includes("seen"), "a request that is carried out leaves its trace");

// ---- the corpus ----

// These have a good request before the bad one.
const good = { "refused-400-second-request-is-bad": 1, "refused-400-garbage-after-a-body": 1, "refused-400-garbage-after-the-last-chunk": 1 };
const wanted = new Set(["seen"]);
const names = readdirSync(corpus).sort();
for (const [index, name] of names.entries()) {
  const [, kind, number, what] = /^(accepted|refused)-(\d+)-(.*)$/.exec(name);
  const bytes = readFileSync(join(corpus, name));
  const hidden = `t${index}`;
  if (kind === "refused") {
    const { how, statuses, text } = await exchange(server, Buffer.concat([bytes, Buffer.from(trace(hidden))]));
    const before = good[name] ?? 0;
    check(how !== "open" && statuses.length === before + 1 && statuses.at(-1) === Number(number) && /\r\nConnection: close\r\n/i.test(text),
      `${what}: ${number}, and closed`, { how, statuses, text });
  } else {
    const { how, statuses } = await exchange(server, bytes, { half: true });
    const count = Number(number);
    check(how === "end" && statuses.filter((status) => status !== 408 && status !== 400).length <= count && statuses.length >= count, `${what}: ${count} answers`, { how, statuses });
    // Behind whole requests a further one is carried out; behind half a one it is part of it.
    if (!/half/.test(what)) {
      const more = await exchange(server, Buffer.concat([bytes, Buffer.from(trace(hidden))]), { half: true });
      const closes = /\r\nConnection: close\r\n(?![^]*HTTP\/1\.1 )/i.test(more.text); // HTTP/1.0, or a target that is refused
      if (!closes) wanted.add(hidden);
      check(closes ? more.statuses.length <= count : more.statuses.length === count + 1 && more.statuses.at(-1) === 200, `${what}: ${closes ? "closed" : "and one more"}`, more);
    }
  }
}
check(names.length > 100, `${names.length} files were sent`);
const seen = await types();
check(seen.length === wanted.size && seen.every((type) => wanted.has(type)), "nothing that was hidden behind a refused request was carried out", seen.filter((type) => !wanted.has(type)));

// ---- hidden in a body ----

const inside = (head, body) => `POST /v1/sessions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${server.token}\r\nContent-Type: application/json\r\n${head}\r\n\r\n${body}`;
const secret = trace("smuggled");
const chunk = (text) => `${text.length.toString(16)}\r\n${text}\r\n`;
const smuggling = {
  "length, then chunked": inside("Content-Length: 5\r\nTransfer-Encoding: chunked", `0\r\n\r\n${secret}`),
  "chunked, then length": inside(`Transfer-Encoding: chunked\r\nContent-Length: ${secret.length}`, `0\r\n\r\n${secret}`),
  "two lengths": inside(`Content-Length: 0\r\nContent-Length: ${secret.length}`, secret),
  "a length list": inside(`Content-Length: 0, ${secret.length}`, secret),
  "chunked in capitals after a space": inside("Content-Length: 4\r\nTransfer-Encoding : chunked", `0\r\n\r\n${secret}`),
  "xchunked": inside("Transfer-Encoding: xchunked", chunk(secret)),
  "identity, chunked": inside("Transfer-Encoding: identity, chunked", `0\r\n\r\n${secret}`),
  "a tab before chunked": inside("Transfer-Encoding:\tchunked\r\nContent-Length: 3", `0\r\n\r\n${secret}`),
  "a newline in a header's name": inside("X: y\nTransfer-Encoding: chunked", `0\r\n\r\n${secret}`),
  "a folded encoding": inside("Transfer-Encoding:\r\n chunked", `0\r\n\r\n${secret}`),
  "chunk lines that end with a line feed": inside("Transfer-Encoding: chunked", `0\n\n${secret}`),
  "a chunk size that overflows": inside("Transfer-Encoding: chunked", `10000000000000000\r\n${secret}`),
  "a chunk extension with a line feed": inside("Transfer-Encoding: chunked", `0;a\nb\r\n\r\n${secret}`),
  "a negative length": inside("Content-Length: -1", secret),
  "an absolute target": `GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n`,
  "HTTP/2 by its preface": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "an upgrade": `GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n`,
  "CONNECT": `CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n`,
};
for (const [what, bytes] of Object.entries(smuggling)) {
  const { statuses, how } = await exchange(server, bytes, { half: true });
  const upgrade = what === "an upgrade"; // is passed over: the request itself is good
  check(how === "end" && statuses.length === 1 && (upgrade ? statuses[0] === 200 : statuses[0] >= 400 && statuses[0] < 600), `${what} is ${upgrade ? "not taken up" : "refused"}`, { how, statuses });
}
// A body that looks like a request is a body.
const looks = await exchange(server, inside(`Content-Length: ${secret.length}`, secret), { half: true });
check(looks.statuses.length === 1 && looks.statuses[0] === 400, "a body that looks like a request is refused as JSON", looks);
check(!(await types()).includes("smuggled"), "none of them was carried out");

// ---- half-closed, cut anywhere, one after the other ----

const session = await server.open("alice");
const put = (id) => `PUT /v1/locks/policy/${id} HTTP/1.1\r\nHost: a\r\nHoldfast-Session: ${session.id}.${session.key}\r\nContent-Length: 0\r\n\r\n`;
const halves = await exchange(server, put("half"), { half: true });
check(halves.how === "end" && halves.statuses[0] === 201, "who has finished sending still gets the answer", halves);
const three = await exchange(server, put("p1") + put("p2") + put("p1"), { half: true });
check(three.statuses.join() === "201,201,200", "requests that come together are answered in their order", three);
const whole = put("cut");
const uncut = [];
for (let at = 1; at < whole.length; at += 7) {
  const raw = Raw.open(server, { bytes: whole.slice(0, at) }).listen();
  await raw.ready;
  raw.send(whole.slice(at));
  await until(() => raw.statuses.length > 0);
  if (raw.statuses.length !== 1 || ![200, 201].includes(raw.statuses[0])) uncut.push(at, raw.text);
  raw.destroy();
}
check(uncut.length === 0, "a request may be cut anywhere", uncut);
for (let at = 1; at < whole.length; at += 11) Raw.open(server, { bytes: whole.slice(0, at) }).listen().socket.end();
const rest = await exchange(server, whole.slice(0, -2), { half: true });
check(rest.how === "end", "a connection that ends within a request is closed", rest);

// The head of a stream is all of a HEAD: what follows on the connection is answered.
const asked = `Host: a\r\nAuthorization: Bearer ${server.token}\r\n\r\n`;
const head = Raw.open(server, { bytes: `HEAD /v1/events HTTP/1.1\r\n${asked}GET /v1/types HTTP/1.1\r\n${asked}` }).listen();
await until(() => head.statuses.length === 2, 3000);
check(head.statuses.join() === "200,200", "after the head of a stream the next request is answered", head.text);
head.destroy();
const stream = Raw.open(server, { bytes: `GET /v1/events HTTP/1.1\r\n${asked}` }).listen();
await until(() => stream.statuses.length === 1);
stream.socket.end();
check((await within(stream.closed, 5000, "open")) !== "open", "a stream whose client closes its side is closed");
stream.destroy();

await survived(server, filesBefore, 200);
finish();
