#!/usr/bin/env node
// Push for people: a session follows the records that it names, without a token. What it is told, and how soon; what it may not
// follow; when its stream ends.
import { createHash, createHmac } from "node:crypto";
import { check, finish, Server, statuses } from "./server.mjs";
import { until } from "./raw.mjs";

const SOON = 20000; // on a machine with much to do; usually it takes a few milliseconds
const page = "https://app.example.org";
const server = await Server.start(["--allow-origin", page, "--rate-address", "0"]);
const admin = server.token;
const login = (session) => `${session.id}.${session.key}`;
const must = async (method, path, how, status) => {
  const answer = await server.ask(method, path, how);
  if (answer.status !== status) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.json;
};
const token = async (roles) => must("POST", "/v1/tokens", { token: admin, body: { name: roles, roles } }, 201);
const opened = (by, user, more = {}) => must("POST", "/v1/sessions", { token: by, body: { user, ...more } }, 201);
const take = (session, resource) => must("PUT", `/v1/locks/${resource}`, { session, body: {} }, 201);

// A stream that is read by fetch, as a page does.
class Stream {
  static async open(resources, session, { on = server, headers = {}, path, method = "GET", body } = {}) {
    const stream = new Stream();
    stream.stop = new AbortController();
    const query = (resources ?? []).map((name) => `resource=${encodeURIComponent(name)}`).join("&");
    const sent = { ...(session ? { "Holdfast-Session": login(session) } : {}), ...headers, ...(body ? { "Content-Type": "application/json" } : {}) };
    const response = await fetch(on.url + (path ?? `/v1/events?${query}`), { method, headers: sent, body: body && JSON.stringify(body), signal: stream.stop.signal });
    stream.status = response.status;
    stream.headers = response.headers;
    stream.events = [];
    stream.text = "";
    stream.ended = false;
    if (response.status === 200) stream.#read(response);
    else stream.text = await response.text();
    return stream;
  }

  async #read(response) {
    let rest = "";
    try {
      for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
        this.text += piece;
        const records = (rest + piece).split("\n\n");
        rest = records.pop();
        for (const record of records) {
          const data = /^data: (.*)$/m.exec(record);
          if (data) this.events.push({ kind: /^event: (.*)$/m.exec(record)[1], ...JSON.parse(data[1]) });
        }
      }
    } catch { /* stopped by us */ }
    this.ended = true;
  }

  kinds() {
    return this.events.map((event) => event.kind).join(" ");
  }

  // The event, when it has come; undefined: it has not.
  async hears(kind, resource = undefined) {
    const find = () => this.events.find((event) => event.kind === kind && (resource === undefined || event.resource === resource));
    await until(find, SOON);
    return find();
  }

  close() {
    this.stop.abort();
  }
}

// ---- what the waiter and the holder are told ----

const office = (await token("use:policy")).token;
const alice = await opened(office, "alice", { name: "Alice Chen" }), bob = await opened(office, "bob", { name: "Bob Smith" });
await take(alice, "policy/1");
const holder = await Stream.open(["policy/1"], alice), waiter = await Stream.open(["policy/1", "policy/2"], bob);
check(holder.status === 200 && waiter.status === 200 && holder.headers.get("content-type") === "text/event-stream", "a session follows records without a token", `${holder.status} ${holder.text}`);

const asked = Date.now();
await must("POST", "/v1/locks/policy/1/request", { session: bob, body: { message: "Are you done?" } }, 200);
const request = await holder.hears("requested", "policy/1");
const took = Date.now() - asked;
check(request?.session === bob.id && request.user === "bob" && request.reason === "Are you done?", `the holder is told of a request, here after ${took} ms`, holder.text);
await must("POST", "/v1/locks/policy/1/decline", { session: alice, body: { session: bob.id, message: "Not before noon" } }, 200);
const declined = await waiter.hears("declined", "policy/1");
check(declined?.session === bob.id && declined.user === "bob" && declined.actor === "alice" && declined.reason === "Not before noon", "the waiter is told that it was declined", waiter.text);
check((await must("GET", "/v1/locks/policy/1", { session: bob }, 200)).requests.length === 0, "and its request is gone");
await must("DELETE", "/v1/locks/policy/1", { session: alice }, 200);
check((await waiter.hears("released", "policy/1"))?.session === alice.id, "the waiter is told that it was released", waiter.text);
await take(alice, "policy/2");
await must("POST", "/v1/locks/policy/2/force-release", { token: admin, body: { reason: "month's end" } }, 200);
check((await waiter.hears("forced", "policy/2"))?.reason === "month's end", "... forced", waiter.text);
await take(alice, "policy/1");
await must("PUT", "/v1/versions/policy/1", { session: alice, headers: { "If-None-Match": "*" }, body: {} }, 201);
check((await waiter.hears("saved", "policy/1"))?.user === "alice", "... saved", waiter.text);
await must("POST", "/v1/locks/policy/1/hand-over", { session: alice, body: { session: bob.id } }, 200);
check((await waiter.hears("handed_over", "policy/1"))?.session === bob.id, "... handed over", waiter.text);
const hasty = await opened(office, "hasty");
await must("PUT", "/v1/locks/policy/2", { session: hasty, body: { ttl_seconds: 0.1 } }, 201);
await until(async () => (await must("GET", "/v1/locks/policy/2", { session: bob }, 200)).holders.length === 0);
await take(alice, "policy/2");
check((await waiter.hears("expired", "policy/2"))?.session === hasty.id, "... and expired, when somebody comes across it", waiter.text);

// Nothing else: not of other records, not of others' sessions, not who was refused.
const mallory = await opened((await token("use:claim")).token, "mallory");
await take(mallory, "claim/1");
check((await server.ask("PUT", "/v1/locks/policy/1", { session: mallory, body: {} })).status === 403, "someone is refused");
await take(bob, "policy/9");
const other = await Stream.open(["policy/2"], alice);
await must("DELETE", "/v1/locks/policy/1", { session: bob }, 200);
await holder.hears("released", "policy/1");
await must("DELETE", "/v1/locks/policy/2", { session: alice }, 200);
await Promise.all([waiter, holder, other].map((stream) => stream.hears("released", "policy/2")));
check(waiter.events.every((event) => ["policy/1", "policy/2"].includes(event.resource) || event.session === bob.id), "a stream has the records that were named and the session's own", waiter.kinds());
check((await waiter.hears("acquired", "policy/9"))?.session === bob.id && !holder.events.some((event) => event.resource === "policy/9"), "what happens to the session's other locks is told to it alone", holder.text);
check(![holder, waiter, other].some((stream) => /denied|unauthenticated/.test(stream.kinds())), "who was refused is for observers", waiter.kinds());
check(other.events.length === 1, "a stream begins now", other.kinds());
other.close();

// Going on where it ended, as long as the server remembers.
const last = waiter.events.findLast((event) => event.resource === "policy/2").seq;
await take(alice, "policy/2");
const later = await Stream.open(["policy/2"], bob, { headers: { "Last-Event-ID": String(last) } });
check((await later.hears("acquired", "policy/2"))?.session === alice.id, "with Last-Event-ID nothing is missed", later.text);
later.close();
const again = await Stream.open(["policy/2"], bob, { headers: { "Last-Event-ID": "9999999" } });
check((await again.hears("resync")) !== undefined, "an event that never was is a resync", again.text);
again.close();

// ---- who may follow what ----

const observer = (await token("observe:policy use:claim")).token;
const mixed = await opened(observer, "olga");
const refused = async (resources, session, how) => {
  const stream = await Stream.open(resources, session, how);
  stream.close();
  return stream;
};
check((await refused(["policy/1", "claim/1"], mixed)).status === 200, "to observe a type is enough, for each of the records");
const foreign = await refused(["policy/1", "claim/1"], alice);
check(foreign.status === 403 && /'claim'/.test(foreign.text), "a type that the session's token has no right for is a 403", foreign.text);
check((await refused(["policy/1"], { id: alice.id, key: bob.key })).status === 403, "a wrong key is a 403");
check((await refused(["policy/1"], { id: "0".repeat(32), key: bob.key })).status === 404, "a session that never was is a 404");
check((await refused(["policy/1"])).status === 401, "nobody is a 401");
const nothing = await refused([], alice);
check(nothing.status === 400 && /resource=TYPE\/ID/.test(nothing.text), "a session names its records", nothing.text);
check((await refused(null, alice, { path: "/v1/events?type=policy" })).status === 400, "a type is not enough");
check((await refused(null, alice, { path: "/v1/events?type=policy&resource=policy/1" })).status === 400, "both are one too many");
const bad = await refused(["policy/1", "Policy"], alice);
check(bad.status === 400, "a name that is none is refused", bad.text);
const many = Array.from({ length: 101 }, (_, i) => `policy/${i}`);
const full = await refused(many, alice);
check(full.status === 413 && /100/.test(full.text) && (await refused(many.slice(1), alice)).status === 200, "a query names 100 records, and not one more", full.text);
const doubled = await Stream.open(["policy/7", "policy/7"], alice);
await take(bob, "policy/7");
await must("DELETE", "/v1/locks/policy/7", { session: bob }, 200);
await doubled.hears("released");
check(doubled.kinds() === "acquired released", "a record that is named twice is told of once", doubled.kinds());
doubled.close();

// A token follows several records too, and what it presents besides does not matter.
const watching = (resources, how) => Stream.open(resources, alice, { headers: { Authorization: `Bearer ${how}` } });
const tokens = await watching(["policy/7", "claim/7"], admin);
await take(bob, "policy/7");
await take(mallory, "claim/7");
check((await tokens.hears("acquired", "policy/7")) && (await tokens.hears("acquired", "claim/7")) && !tokens.events.some((event) => event.session === alice.id), "a token follows several records", tokens.kinds());
tokens.close();
check((await watching(["policy/7"], office)).status === 403, "for a token it needs to observe, whatever session comes along");

// ---- pages of other origins ----

const preflight = await server.ask("OPTIONS", "/v1/events", { headers: { Origin: page, "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "holdfast-session" } });
check(preflight.status === 204 && /Holdfast-Session/.test(preflight.headers.get("access-control-allow-headers")) && /Last-Event-ID/.test(preflight.headers.get("access-control-allow-headers")) &&
  /GET/.test(preflight.headers.get("access-control-allow-methods")), "a page's question before it asks is answered", JSON.stringify([...preflight.headers]));
const crossed = await Stream.open(["policy/1"], alice, { headers: { Origin: page } });
check(crossed.status === 200 && crossed.headers.get("access-control-allow-origin") === page, "and so is what it asks");
crossed.close();
check((await refused(["policy/1"], alice, { headers: { Origin: "https://evil.example.org" } })).status === 403, "other pages are refused");

// ---- many records, and tickets ----

const many2 = Array.from({ length: 1000 }, (_, i) => `policy/list-${i}`);
const post = (resources, session, more = {}) => Stream.open(null, session, { path: "/v1/events", method: "POST", body: { resources }, ...more });
const list = await post(many2, alice);
await take(bob, "policy/list-999");
await take(bob, "policy/list-1000");
await take(bob, "policy/list-0");
check((await list.hears("acquired", "policy/list-0")) && (await list.hears("acquired", "policy/list-999")) && list.events.length === 2, "a body names a thousand records", list.kinds());
list.close();
const posted = [await post([...many2, "policy/x"], alice), await post([], alice), await post(["policy/1", "claim/1"], alice), await post(["policy"], alice), await post(["policy/1"]),
  await post(["policy/1"], { id: alice.id, key: bob.key }), await post([], null, { headers: { Authorization: `Bearer ${admin}` } })];
check(statuses(posted) === "413 400 403 400 401 403 400", "and not one more, nor what the session may not look at", statuses(posted));
const asToken = await post(["policy/1"], null, { headers: { Authorization: `Bearer ${admin}` } });
check(asToken.status === 200, "a token follows a list too", asToken.text);
asToken.close();
const asked2 = await server.ask("OPTIONS", "/v1/events", { headers: { Origin: page, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "holdfast-session, content-type" } });
check(/POST/.test(asked2.headers.get("access-control-allow-methods")) && /Content-Type/.test(asked2.headers.get("access-control-allow-headers")), "a page may post it");

const ask = (resources, session, more = {}) => server.ask("POST", "/v1/events/tickets", { session, body: { resources }, ...more });
const byTicket = (ticket, more = {}) => Stream.open(null, null, { path: `/v1/events?ticket=${ticket}`, ...more });
const given = await ask(["policy/t", "policy/ü x"], alice, { headers: { Origin: page } });
const lasts = Date.parse(given.json.expires) - Date.now();
check(given.status === 201 && lasts > 0 && lasts < 120000, "a session is given a ticket", given.text);
check(given.headers.get("access-control-allow-origin") === page && given.headers.get("cache-control") === "no-store", "which a page of another origin can read, and nobody keeps");
const second = await Server.start(["--allow-origin", page], { data: server.data });
const seats = [await byTicket(given.json.ticket), await byTicket(given.json.ticket, { on: second, headers: { Origin: page } })];
check(statuses(seats) === "200 200" && seats[1].headers.get("access-control-allow-origin") === page, "it opens streams, on any server of the store", seats[1].text);
await take(bob, "policy/t");
await take(bob, "policy/other");
await take(bob, "policy/%C3%BC%20x");
for (const [i, seat] of seats.entries())
  check((await seat.hears("acquired", "policy/ü x")) && seat.events.filter((event) => event.session === bob.id).length === 2, `stream ${i + 1} has the records that the ticket names`, seat.kinds());
const goneOn = await byTicket(`${given.json.ticket}&after_seq=${seats[0].events.at(-2).seq}`);
check((await goneOn.hears("acquired", "policy/ü x")) !== undefined, "the next one goes on where the last one ended", goneOn.text);
goneOn.close();

// What it says is made here anew, as whoever holds the session's key could.
const made = (id, key, expires, names) => {
  const lines = Buffer.from([`${id} ${expires * 1000}`, ...names].join("\n"));
  const sentence = `holdfast events ticket ${createHash("sha256").update(lines).digest("hex")}`;
  const mac = createHmac("sha256", createHash("sha256").update(key).digest()).update(sentence).digest("hex");
  return `${lines.toString("hex")}.${mac}`;
};
const soon = Date.now() + 30000;
const twin = await byTicket(made(alice.id, alice.key, soon, ["policy/t"]));
check(twin.status === 200, "a ticket is what is written here", twin.text);
twin.close();
const [front, mac] = given.json.ticket.split(".");
const forged = Buffer.from(front, "hex").toString().replace(alice.id, bob.id);
const bent = [
  ["past its end", made(alice.id, alice.key, Date.now() - 1000, ["policy/t"]), 410],
  ["that lasts too long", made(alice.id, alice.key, Date.now() + 3600000, ["policy/t"]), 410],
  ["of another session", `${Buffer.from(forged).toString("hex")}.${mac}`, 403],
  ["by another's key", made(alice.id, bob.key, soon, ["policy/t"]), 403],
  ["for more records", `${front}${Buffer.from("\npolicy/more").toString("hex")}.${mac}`, 403],
  ["with a digit changed", `${front}.${mac.slice(0, -1)}${mac.endsWith("0") ? "1" : "0"}`, 403],
  ["for a type without the right", made(alice.id, alice.key, soon, ["claim/1"]), 403],
  ["for what is no record", made(alice.id, alice.key, soon, ["claim"]), 400],
  ["for nothing", made(alice.id, alice.key, soon, []), 400],
  ["of a session that never was", made("0".repeat(32), alice.key, soon, ["policy/t"]), 404],
  ["without a proof", front, 400], ["cut short", given.json.ticket.slice(0, -1), 400], ["that is none", "ticket", 400], ["that is empty", ".", 400],
  ["with a record beside it", `${given.json.ticket}&resource=policy/1`, 400],
];
for (const on of [server, second])
  for (const [what, ticket, status] of bent) {
    const stream = await byTicket(ticket, { on });
    stream.close();
    check(stream.status === status && !stream.text.includes(mac), `a ticket ${what} is a ${status}`, `${stream.status} ${stream.text}`);
  }
const refusedTickets = [await ask(["policy/1"], undefined), await ask(["claim/1"], alice), await ask([], alice), await ask(["policy/1"], { id: alice.id, key: bob.key }),
  await ask(Array.from({ length: 300 }, (_, i) => `policy/a-long-name-${i}`), alice)];
check(statuses(refusedTickets) === "401 403 400 403 413", "nobody is given one for what they may not follow, or for too much", refusedTickets.map((answer) => answer.text).join("\n#"));

// It lives no longer than the session.
let short, cutShort;
for (let idle = 1; cutShort?.status !== 200 && idle <= 16; idle *= 4) { // on a busy machine it may be over before that
  const brief = await opened(office, "brief", { idle_seconds: idle });
  short = (await ask(["policy/t"], brief)).json.ticket;
  cutShort = await byTicket(short ?? "none", { on: second });
}
await until(() => cutShort.ended, SOON);
check(cutShort.status === 200 && cutShort.ended, "its stream ends with the session", cutShort.text);
check((await byTicket(short)).status === 410, "and it opens no other");
seats.forEach((seat) => seat.close());
check((await second.stop()).code === 0, "the other server stops cleanly");

// ---- when it ends ----

const leaver = await opened(office, "leaver");
const left = await Stream.open(["policy/1"], leaver);
await must("DELETE", `/v1/sessions/${leaver.id}`, { session: leaver }, 200);
await until(() => left.ended, SOON);
check(left.ended && left.events.at(-1).kind === "session_closed", "it ends with the session, and says so", left.text);
check((await refused(["policy/1"], leaver)).status === 410, "and does not begin again");

let slept, kept = false;
for (let idle = 1; !kept && idle <= 16; idle *= 4) { // on a busy machine a beat may come too late
  const sleeper = await opened(office, "sleeper", { idle_seconds: idle });
  slept = await Stream.open(["policy/1"], sleeper);
  kept = slept.status === 200;
  for (let i = 0; i < 6 && kept; i++) {
    kept = (await server.ask("POST", `/v1/sessions/${sleeper.id}/beat`, { session: sleeper })).status === 200;
    await new Promise((resolve) => setTimeout(resolve, 300 * idle));
  }
  kept = kept && !slept.ended;
}
check(kept, "beats keep it open", slept.text);
await until(() => slept.ended, SOON);
check(slept.ended, "it ends when the session has expired, though nobody comes across it", slept.text);

const fired = await token("use:policy");
const former = await opened(fired.token, "former");
const cut = await Stream.open(["policy/1"], former);
await must("DELETE", `/v1/tokens/${fired.id}`, { token: admin }, 200);
await until(() => cut.ended, SOON);
check(cut.ended, "it ends when the token that opened the session is revoked");
check((await refused(["policy/1"], former)).status === 401, "and does not begin again");

// ---- how many ----

const few = await Server.start(["--streams-session", "2", "--streams-token", "5"], { data: server.data });
const crowd = [await opened(office, "one"), await opened(office, "two"), await opened(office, "three")];
const open = [];
for (const session of crowd) for (let i = 0; i < 3; i++) open.push(await Stream.open(["policy/1"], session, { on: few }));
check(statuses(open) === "200 200 429 200 200 429 200 429 429", "so many streams of one session, and of all that one token has opened", statuses(open));
check(/session has as many streams/.test(open[2].text) && /token has as many streams/.test(open[7].text), "it is told whose limit it is", open[2].text + open[7].text);
open[0].close();
await until(async () => {
  open.push(await Stream.open(["policy/1"], crowd[2], { on: few }));
  return open.at(-1).status === 200;
}, SOON);
check(open.at(-1).status === 200, "when one ends there is room for another", open.at(-1).text);
// A stream on one server hears what another does.
await must("DELETE", "/v1/locks/policy/7", { session: bob }, 200);
const across = await Stream.open(["policy/7"], crowd[1], { on: few }).then((stream) => (stream.close(), open[3]));
await must("PUT", "/v1/locks/policy/1", { session: crowd[0], body: {} }, 201);
check((await across.hears("acquired", "policy/1"))?.user === "one", "what another server does is heard", across.text);
open.forEach((stream) => stream.close());

[holder, waiter].forEach((stream) => stream.close());
check((await few.stop()).code === 0 && (await server.stop()).code === 0, "they stop cleanly");
finish();
