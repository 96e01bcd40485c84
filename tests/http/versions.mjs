#!/usr/bin/env node
// Versions over HTTP: ETags and conditions, saves by a session and in a user's name, deletion, sets
// with what they rely on, look-ups, events, and what makes no sense.
import { check, finish, Server } from "./server.mjs";

const ORIGIN = "https://shop.example";
const server = await Server.start(["--allow-origin", ORIGIN]);
const { token } = server;
const at = (record) => `/v1/versions/${record}`;
const by = (user, more = {}) => ({ token, body: { user, ...more } });
const read = (version) => ({ "If-Match": `"${version}"` });
const NEW = { "If-None-Match": "*" };
const ask = (method, record, how, headers = {}) => server.ask(method, at(record), { ...how, headers });
const version = async (record) => (await ask("GET", record, { token })).json?.version ?? 0;

// NAME: that status and code, and a part of the sentence; and no record has changed.
const records = ["paper/1", "paper/2", "paper/3", "tax/DE", "sealed/1"];
const look = async () => (await server.ask("POST", "/v1/versions/lookup", { token, body: { resources: records } })).text;
async function refused(name, status, code, part, asked) {
  const before = await look();
  const answer = await asked();
  check(answer.status === status && answer.json?.code === code && answer.json.message.includes(part) &&
    answer.json.status === status && (await look()) === before, name, `${answer.status} ${answer.text}`);
  return answer;
}

// ---- one record ----

await refused("what was never saved is not found", 404, "not_found", "paper/1 was never saved", () => ask("GET", "paper/1", { token }));
const first = await ask("PUT", "paper/1", by("alice", { name: "Alice Chen", reason: "typo" }), NEW);
check(first.status === 201 && first.json.version === 1 && first.headers.get("etag") === '"1"' && first.json.session === null &&
  first.headers.get("holdfast-fence") === String(first.json.fence), "a first save is 201, with ETag and fence", first.text);
const second = await ask("PUT", "paper/1", by("bob", { name: "Bob Smith" }), read(1));
check(second.status === 200 && second.headers.get("etag") === '"2"' && second.json.fence > first.json.fence, "the next is 200, with a higher fence", second.text);
const got = await ask("GET", "paper/1", { token });
check(got.status === 200 && got.text === second.text && got.headers.get("etag") === '"2"', "GET tells what the last save was", got.text);
const head = await ask("HEAD", "paper/1", { token });
check(head.status === 200 && head.text === "" && head.headers.get("etag") === '"2"' && head.headers.get("holdfast-fence") !== null, "HEAD tells it in headers");
for (const method of ["GET", "HEAD"]) {
  const known = await ask(method, "paper/1", { token }, { "If-None-Match": '"2"' });
  check(known.status === 304 && known.text === "" && known.headers.get("etag") === '"2"', `${method} of what is known is 304`, known.status);
}
check((await ask("GET", "paper/1", { token }, { "If-None-Match": '"1"' })).status === 200, "of an older one it is 200");
check((await ask("GET", "paper/1", { token }, { "If-None-Match": "*" })).status === 304, "and * is known if it is there");
check((await ask("GET", "paper/1", { token }, { "If-Match": '"2"' })).status === 200, "is it still so? yes");
check((await ask("GET", "paper/1", { token }, { "If-Match": "*" })).status === 200, "is it there? yes");
const stale = await refused("is it still so? no", 412, "stale", "paper/1 was changed by Bob Smith at", () => ask("GET", "paper/1", { token }, read(1)));
check(stale.json.present?.version === 2 && stale.json.resource === "paper/1", "and what it is now", stale.text);
const late = await refused("a stale save is told what, who and when", 412, "stale", "(you read version 1, it is now 2)",
  () => ask("PUT", "paper/1", by("carol"), read(1)));
check(late.json.present?.user === "bob", "and has the present version", late.text);
await refused("what is there is not new", 412, "stale", "paper/1 is there already", () => ask("PUT", "paper/1", by("carol"), NEW));
const odd = await server.ask("PUT", "/v1/versions/paper/a%2Fb", { ...by("alice"), headers: NEW });
check(odd.status === 201 && odd.json.resource === "paper/a/b", "a slash in an id is written %2F", odd.text);

// ---- deletion ----

const gone = await server.ask("DELETE", `${at("paper/1")}?user=bob&reason=obsolete`, { token, headers: read(2) });
check(gone.status === 200 && gone.json.gone === true && gone.json.version === 3 && gone.headers.get("etag") === null, "a deletion is a save", gone.text);
const missing = await refused("what is gone is 410, with who and when", 410, "not_found", "paper/1 was deleted by bob at", () => ask("GET", "paper/1", { token }));
check(missing.json.present?.version === 3 && missing.json.present.user === "bob" && missing.json.present.gone, "in the body too", missing.text);
check((await ask("GET", "paper/1", { token }, { "If-None-Match": '"3"' })).status === 410, "it is never 304");
await refused("saving what was deleted is stale", 412, "stale", "paper/1 was deleted by bob", () => ask("PUT", "paper/1", by("carol"), read(2)));
const back = await ask("PUT", "paper/1", by("alice"), NEW);
check(back.status === 201 && back.json.version === 4, "numbers go on over a deletion", back.text);

// ---- locks ----

const alice = await server.open("alice", { name: "Alice Chen" }), bob = await server.open("bob");
const taken = await server.ask("PUT", "/v1/locks/paper/1", { session: alice, body: {} });
check(taken.json.locks[0].version === 4, "acquire tells the version", taken.text);
const several = await server.ask("POST", "/v1/locks", { session: alice, body: { locks: [{ resource: "paper/9" }, { resource: "paper/1" }] } });
check(several.json.locks.map((lock) => lock.version).join() === ",4", "also of several", several.text);
const locked = await refused("a lock in the way is told", 423, "locked", "paper/1 is being edited by Alice Chen", () => ask("PUT", "paper/1", { session: bob, body: {} }, read(4)));
check(locked.json.holders[0]?.user === "alice", "with its holder", locked.text);
const fence = taken.json.locks[0].fence;
const held = await ask("PUT", "paper/1", { session: alice, body: {} }, { "Holdfast-Fence": String(fence) });
check(held.status === 200 && held.json.session === alice.id && held.json.version === 5, "the holder needs no condition", held.text);
await refused("the fence must be that of the lock", 409, "not_held", String(fence), () => ask("PUT", "paper/1", { session: alice, body: {} }, { "Holdfast-Fence": "1" }));
await server.ask("PUT", "/v1/types/sealed", { token, body: { policy: "exclusive-write" } });
await refused("a type's policy may want a lock to edit", 409, "not_held", "The policy of sealed", () => ask("PUT", "sealed/1", by("bob"), NEW));
await server.ask("DELETE", `/v1/sessions/${alice.id}`, { session: alice });

// ---- sets ----

const commit = (body, how = { token }, headers = {}) => server.ask("POST", "/v1/versions/commit", { ...how, headers, body });
const made = await commit({ save: [{ resource: "tax/DE", absent: true }, { resource: "paper/2", absent: true }], user: "bob", reason: "all" });
check(made.status === 200 && made.json.versions.map((one) => `${one.resource}=${one.version}`).join() === "tax/DE=1,paper/2=1",
  "a set is saved and answered in the order given", made.text);
const relied = await commit({ save: [{ resource: "paper/2", version: 1 }], rely: [{ resource: "tax/DE", version: 1 }, { resource: "paper/3", absent: true }] }, { session: bob });
check(relied.status === 200 && relied.json.versions.length === 1 && relied.json.versions[0].session === bob.id, "with what it relies on, by a session", relied.text);
const conflicts = await refused("of a refused set nothing is saved", 412, "stale", "paper/2 was changed by bob", () =>
  commit({ save: [{ resource: "paper/3", absent: true }, { resource: "paper/2", version: 1 }], rely: [{ resource: "tax/DE", absent: true }, { resource: "paper/1", version: 5 }], user: "carol" }));
check(JSON.stringify(conflicts.json.conflicts.map((one) => [one.resource, one.code, one.expected, one.present.version])) ===
  '[["paper/2","stale",1,2],["tax/DE","stale",null,1]]', "and every conflict is told", conflicts.text);
await server.ask("PUT", "/v1/locks/paper/1", { session: bob, body: {} });
const both = await refused("beside a lock in the way too", 423, "locked", "paper/1 is being edited by bob", () =>
  commit({ save: [{ resource: "paper/1", version: 5 }], rely: [{ resource: "tax/DE", version: 9 }], user: "carol" }));
check(both.json.conflicts.map((one) => one.code).join() === "locked,stale" && both.json.holders.length === 1, "both are told", both.text);
const alone = await refused("so is the conflict of one alone", 412, "stale", "tax/DE", () => commit({ save: [{ resource: "tax/DE", version: 9 }], user: "carol" }));
check(alone.json.conflicts.length === 1 && alone.json.present.version === 1, "in both places", alone.text);
const ended = await commit({ save: [{ resource: "paper/2", version: 2, gone: true }, { resource: "paper/1" }] }, { session: bob });
check(ended.status === 200 && ended.json.versions[0].gone && ended.json.versions[1].version === 6, "a set deletes, and saves what is held", ended.text);
const listed = await server.ask("POST", "/v1/versions/lookup", { session: bob, body: { resources: ["paper/2", "paper/none", "tax/DE"] } });
check(JSON.stringify(listed.json?.versions?.map((one) => [one.resource, one.version, one.gone])) ===
  '[["paper/2",3,true],["paper/none",0,false],["tax/DE",1,false]]', "versions are looked up in the order given", listed.text);

// ---- asking again ----

const once = { "Idempotency-Key": "v-1" };
const tries = [await ask("PUT", "paper/3", by("bob"), { ...NEW, ...once }), await ask("PUT", "paper/3", by("bob"), { ...NEW, ...once })];
check(tries.every((answer) => answer.status === 201) && tries[0].text === tries[1].text && (await version("paper/3")) === 1,
  "a save asked again with its key is done once", tries.map((answer) => answer.text));
const set = { save: [{ resource: "paper/3", version: 1 }], rely: [{ resource: "tax/DE", version: 1 }], user: "bob" };
const twice = [await commit(set, { token }, { "Idempotency-Key": "v-2" }), await commit(set, { token }, { "Idempotency-Key": "v-2" })];
const taxed = await ask("PUT", "tax/DE", by("carol"), read(1));
twice.push(await commit(set, { token }, { "Idempotency-Key": "v-2" }));
check(taxed.status === 200 && twice.every((answer) => answer.status === 200 && answer.text === twice[0].text) && twice[0].text === twice[1].text, "a set, too, though what it relied on has changed since", twice.map((answer) => answer.text));

// ---- what makes no sense ----

for (const method of ["PUT", "DELETE"]) {
  const how = method === "PUT" ? by("carol") : { token };
  const target = method === "PUT" ? "paper/3" : "paper/3?user=carol";
  const no = (name, status, part, headers) => refused(`${method} ${name}`, status, "invalid", part, () => ask(method, target, how, headers));
  await no("without a condition is 428", 428, "Nothing says what paper/3 was", {});
  await no("with If-Match: * is 428", 428, "does not say which version was read", { "If-Match": "*" });
  await no("with a weak ETag", 400, "is weak", { "If-Match": 'W/"2"' });
  for (const etag of ['"0"', '"-1"', '"02"', '"2', "2", '""', '"two"', '"2", "3"', '"9223372036854775808"', '"2"x'])
    await no(`with the ETag ${etag}`, 400, "must be one ETag", { "If-Match": etag });
  await no("with If-None-Match of an ETag", 400, "If-None-Match must be *", { "If-None-Match": '"2"' });
  await no("with both conditions", 400, "absent", { ...read(2), ...NEW });
}
await refused("a session without a lock needs a condition too", 428, "invalid", "Nothing says", () => ask("PUT", "paper/3", { session: bob, body: {} }));
await refused("what is absent can't be deleted", 400, "invalid", "can't be deleted", () => ask("DELETE", "paper/3?user=carol", { token }, NEW));
await refused("a save by nobody", 400, "invalid", "by a session or by a user", () => ask("PUT", "paper/3", { token, body: {} }, read(2)));
await refused("a save by a session and a user", 400, "invalid", "by a session or by a user", () => ask("PUT", "paper/3", { session: bob, body: { user: "bob" } }, read(2)));
await refused("a fence without a session", 400, "invalid", "only a session has", () => ask("PUT", "paper/3", by("bob"), { ...read(2), "Holdfast-Fence": "3" }));
for (const etag of ['W/"2"', "two"])
  await refused(`GET with the ETag ${etag}`, 400, "invalid", "ETag", () => ask("GET", "paper/3", { token }, { "If-None-Match": etag }));
const bad = [
  [{ save: [] }, 400, "1 to 512 objects"], [{ save: [{ resource: "paper/3", version: 0 }] }, 400, "There is no version 0"],
  [{ save: [{ resource: "paper/3", version: -7 }] }, 400, "There is no version -7"], [{ save: [{ resource: "paper/3", version: "2" }] }, 400, "whole number"],
  [{ save: [{ resource: "paper/3", version: 2, absent: true }] }, 400, "absent too"], [{ save: [{ resource: "paper/3" }] }, 400, "Nothing says what paper/3"],
  [{ save: [{ resource: "paper/3", version: 2 }, { resource: "paper/3", version: 2 }] }, 400, "paper/3 is named twice"],
  [{ save: [{ resource: "paper/3", version: 2 }], rely: [{ resource: "paper/3", version: 2 }] }, 400, "paper/3 is named twice"],
  [{ save: [{ resource: "paper/3", version: 2 }], rely: [{ resource: "tax/DE" }] }, 400, "Nothing says what tax/DE"],
  [{ save: [{ resource: "paper/3", version: 2 }], rely: [{ resource: "tax/DE", version: 1, gone: true }] }, 400, "gone"],
  [{ save: [{ resource: "Paper/3", version: 2 }] }, 400, "type"], [{ save: [{ version: 2 }] }, 400, "resource"],
  [{ save: Array.from({ length: 513 }, (_, i) => ({ resource: `many/${i}`, absent: true })) }, 413, "1 to 512 objects"],
];
for (const [body, status, part] of bad)
  await refused(`a set that makes no sense: ${JSON.stringify(body).slice(0, 90)}`, status, status === 413 ? "too_large" : "invalid", part, () => commit({ user: "bob", ...body }));
const narrow = (await server.ask("POST", "/v1/tokens", { token, body: { name: "narrow", roles: "use:paper", users: "b*" } })).json.token;
await refused("a user outside the token's pattern", 403, "denied", "may not name the user 'carol'", () => ask("PUT", "paper/3", { token: narrow, body: { user: "carol" } }, read(2)));
await refused("a type outside its roles", 403, "denied", "for type 'tax'", () => commit({ save: [{ resource: "tax/DE", version: 2 }], user: "bob" }, { token: narrow }));
await refused("what it may not see it may not rely on", 403, "denied", "for type 'tax'", () =>
  commit({ save: [{ resource: "paper/3", version: 2 }], rely: [{ resource: "tax/DE", version: 1 }], user: "bob" }, { token: narrow }));
const path = await server.ask("GET", "/v1/versions/paper/a/b", { token });
check(path.status === 404 && path.json.message.includes("%2F"), "a slash in a path is told how to be written", path.text);

// ---- events, pages, metrics ----

async function follow(query, wanted) {
  const stop = new AbortController();
  const response = await fetch(`${server.url}/v1/events?after_seq=0&${query}`, { headers: { Authorization: `Bearer ${token}` }, signal: stop.signal });
  let text = "";
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    if (new RegExp(`event: ${wanted}\ndata: .*\n`).test(text)) break;
  }
  return [...text.matchAll(/data: (.*)\n/g)].map((match) => JSON.parse(match[1]));
}
const ofTax = await follow("resource=tax/DE", "saved");
check(ofTax[0].kind === "saved" && ofTax.every((one) => one.resource === "tax/DE") && ofTax[0].user === "bob" && ofTax[0].reason === "all", "saves are events, by record", ofTax);
const ofBob = await follow("user=bob&type=paper", "deleted");
check(ofBob.some((one) => one.kind === "deleted" && one.resource === "paper/1" && one.reason === "obsolete") && ofBob.every((one) => one.user === "bob"),
  "deletions too, by user and type", ofBob);
const page = await server.ask("OPTIONS", at("paper/1"), { headers: { Origin: ORIGIN } });
check(/If-Match/.test(page.headers.get("access-control-allow-headers")) && /PUT/.test(page.headers.get("access-control-allow-methods")), "a page may send conditions");
const shown = await ask("GET", "paper/3", { token }, { Origin: ORIGIN });
check(/ETag, Holdfast-Fence/.test(shown.headers.get("access-control-expose-headers")), "and read the answer's headers");
const counted = (await server.ask("GET", "/metrics")).text;
check(/holdfast_refusals_total\{type="paper"\} [1-9]/.test(counted) && /holdfast_refusals_total\{type="tax"\} [1-9]/.test(counted), "stale saves are counted by type");

const end = await server.stop();
check(end.code === 0, "it stops cleanly", end);
finish();
