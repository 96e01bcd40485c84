#!/usr/bin/env node
// The document at /openapi.json is valid, and what it says is so: every route in it is asked, every answer fits its schema, and what it does not
// take is refused.
import { request } from "node:http";
import { createRequire } from "node:module";
import { exchange } from "./raw.mjs";
import { check, finish, Server } from "./server.mjs";

const require = createRequire(process.env.HF_NPM + "/");
const { Validator } = await import(require.resolve("@seriousme/openapi-schema-validator"));
const Ajv = require("ajv/dist/2020").default;
const formats = require("ajv-formats").default;

const server = await Server.start();
const document = (await server.ask("GET", "/openapi.json")).json;
const verdict = await new Validator().validate(structuredClone(document));
check(verdict.valid, "a validator accepts the document", verdict.errors);

const ajv = new Ajv({ strict: false, allErrors: true });
formats(ajv);
ajv.addSchema({ $id: "doc", ...document });
const fits = (pointer, value) => {
  const validate = ajv.compile({ $ref: `doc#${pointer}` });
  return validate(value) ? null : ajv.errorsText(validate.errors);
};

const operations = {};
for (const [path, methods] of Object.entries(document.paths))
  for (const [method, operation] of Object.entries(methods))
    operations[operation.operationId] = { ...operation, path, method: method.toUpperCase() };
check(new Set(Object.keys(operations)).size === Object.values(document.paths).flatMap(Object.keys).length && !operations.request,
  "every operation has a name of its own, and none is called request", Object.keys(operations));
const escaped = (part) => part.replaceAll("~", "~0").replaceAll("/", "~1");
const asked = new Map();

// Asks by the document alone: the path from its parts, the answer judged by what is promised for its status.
async function call(id, { path = {}, query = {}, ...how } = {}, status) {
  const operation = operations[id];
  if (!operation) throw new Error(`the document has no ${id}`);
  let target = operation.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(path[name]));
  const parameters = new URLSearchParams(query).toString();
  if (parameters) target += `?${parameters}`;
  const answer = await server.ask(operation.method, target, how);
  if (status !== undefined && !check(answer.status === status, `${id} answers ${status}`, `${answer.status} ${answer.text}`))
    return answer;
  check(operation.responses[answer.status] !== undefined, `the document has a ${answer.status} of ${id}`, Object.keys(operation.responses));
  const known = String(answer.status);
  const { "$ref": at, ...itself } = operation.responses[known] ?? {};
  const response = at ? at.slice(2).split("/").reduce((part, name) => part[name], document) : itself;
  const type = answer.status >= 300 ? "application/problem+json" : "application/json";
  if (response.content?.[type]) {
    const pointer = `${at?.slice(1) ?? `/paths/${escaped(operation.path)}/${operation.method.toLowerCase()}/responses/${known}`}/content/${escaped(type)}/schema`;
    const flaw = fits(pointer, answer.json);
    check(flaw === null, `the ${answer.status} of ${id} fits its schema`, `${flaw}: ${answer.text}`);
    check(answer.headers.get("content-type") === type, `the ${answer.status} of ${id} is ${type}`, answer.headers.get("content-type"));
  }
  if (answer.status < 300) asked.set(id, new Set([...(asked.get(id) ?? []), known]));
  return answer;
}

// ---- a story in which every route has its part ----

const token = server.token;
const alice = (await call("session-open", { token, body: { user: "alice", name: "Alice Chen", idle_seconds: 60 } }, 201)).json;
const bob = (await call("session-open", { token, body: { user: "bob" } }, 201)).json;
const record = { type: "policy", id: "12/3 4" };
await call("acquire", { path: record, session: alice, body: { purpose: "renewal", ttl_seconds: 600 } }, 201);
await call("acquire", { path: record, session: alice, body: {} }, 200);
const refused = await call("acquire", { path: record, session: bob, body: {} }, 423);
check(refused.json.holders[0].name === "Alice Chen" && refused.json.resource === "policy/12/3 4", "a refusal names the holder", refused.text);
await call("request-lock", { path: record, session: bob, body: { message: "when you can" } }, 200);
const beat = await call("beat", { path: { session: alice.id }, session: alice }, 200);
check(beat.json.requests[0]?.message === "when you can", "the holder hears of it with a beat", beat.text);
await call("who", { path: record, token }, 200);
await call("who", { path: record, session: bob }, 200);
await call("change", { path: record, session: alice, body: { ttl_seconds: 60 } }, 200);
await call("change", { path: record, session: alice, body: { mode: "shared" } }, 200);
await call("acquire", { path: record, session: bob, body: { mode: "shared" } }, 201);
const again = { headers: { "Idempotency-Key": "once" } };
await call("release", { path: record, session: alice, ...again }, 200);
await call("release", { path: record, session: alice, ...again }, 204);
await call("release", { path: record, session: alice }, 409);
await call("change", { path: record, session: bob, body: { ttl_seconds: 2 } }, 200);
const given = { path: record, session: bob, body: { session: alice.id }, ...again };
await call("request-lock", { path: record, session: alice, body: { message: "Are you done?" } }, 200);
const no = { path: record, session: bob, body: { session: alice.id, message: "Not yet" }, headers: { "Idempotency-Key": "no" } };
for (let i = 0; i < 2; i++) await call("decline", no, 200);
const brief = { type: "policy", id: "brief" };
await call("acquire", { path: brief, session: bob, body: { ttl_seconds: 1 } }, 201);
await call("request-lock", { path: brief, session: alice, body: {} }, 200);
await call("decline", { ...no, path: brief }, 200);
while ((await server.ask("GET", "/v1/locks/policy/brief", { token })).json.holders.length > 0);
await call("decline", { ...no, path: brief }, 204);
await call("decline", { path: record, session: bob, body: { session: alice.id } }, 404);
await call("decline", { path: record, session: alice, body: { session: bob.id } }, 409);
await call("hand-over", given, 200);
while ((await server.ask("GET", "/v1/locks/policy/12%2F3%204", { token })).json.holders.length > 0);
await call("hand-over", given, 204);
const where = "/v1/locks/policy/12%2F3%204";
for (const session of [alice, bob]) await call("acquire", { path: record, session, body: { mode: "shared" } }, 201);
// No grant has this number: it must not be taken for "any".
const none = [
  await server.ask("POST", `${where}/force-release`, { token, body: { reason: "no grant", fence: 0 } }),
  await server.ask("DELETE", where, { session: alice, headers: { "Holdfast-Fence": "0" } }),
  await server.ask("PATCH", where, { session: alice, headers: { "Holdfast-Fence": "0" }, body: { ttl_seconds: 60 } }),
  await server.ask("POST", `${where}/hand-over`, { session: alice, headers: { "Holdfast-Fence": "0" }, body: { session: bob.id } }),
];
const asOp = { op: "force-release", resource: `${record.type}/${record.id}`, reason: "no grant", fence: 0 };
none.push(await server.ask("POST", "/v1/batch", { token, body: { ops: [asOp] } }));
const still = await call("who", { path: record, token }, 200);
check(none.every((answer) => answer.status === 400 && answer.json.message.includes("No grant has the fence 0")) &&
  still.json.holders.length === 2, "the fence 0 is refused, and nobody loses anything", [...none.map((answer) => answer.text), still.text]);
check(/"minimum":1[,}]/.test(JSON.stringify(operations["force-release"].requestBody)), "and the document says so");
const oneOnly = { reason: "left for lunch", fence: still.json.holders[0].fence };
await call("force-release", { path: record, token, body: oneOnly }, 200);
const other = await call("who", { path: record, token }, 200);
check(other.json.holders.length === 1 && other.json.holders[0].fence === still.json.holders[1].fence, "a fence ends that grant alone", other.text);
await call("force-release", { path: record, token, body: { reason: "left for the day" } }, 200);
const set = { locks: [{ resource: "policy/2" }, { resource: "policy/1", mode: "shared" }] };
const several = await call("acquire-all", { session: alice, body: set }, 201);
check(several.json.locks.map((lock) => lock.resource).join() === "policy/2,policy/1", "several locks are answered in the order given");
await call("acquire-all", { session: alice, body: set }, 200);
await call("acquire-all", { session: alice, body: { locks: [{ resource: "odd/." }, { resource: "odd/.." }] } }, 201);
const page = await call("list", { token, query: { limit: "2" } }, 200);
const rest = await call("list", { token, query: { limit: "2", after: page.json.next } }, 200);
check(page.json.locks.length === 2 && rest.json.locks.length === 2 && !rest.json.next, "a list goes on where it stopped");
await call("lookup", { token, body: { resources: ["policy/1", "policy/none"] } }, 200);
const paper = { type: "paper", id: "12/3 4" };
const saving = { path: paper, token, body: { user: "alice", reason: "typo" } };
await call("version-get", { path: paper, token }, 404);
await call("version-save", saving, 428);
await call("version-save", { ...saving, headers: { "If-None-Match": "*" } }, 201);
await call("version-save", { ...saving, headers: { "If-Match": '"1"' } }, 200);
await call("version-save", { ...saving, headers: { "If-Match": '"1"' } }, 412);
await call("version-get", { path: paper, session: bob }, 200);
await call("version-get", { path: paper, token, headers: { "If-None-Match": '"2"' } }, 304);
const relying = { resource: "paper/12/3 4", version: 2 };
await call("version-commit", { token, body: { save: [{ resource: "tax/DE", absent: true }], rely: [relying], user: "bob" } }, 200);
await call("version-commit", { token, body: { save: [{ resource: "tax/DE", absent: true }], rely: [relying], user: "bob" } }, 412);
await call("version-lookup", { token, body: { resources: ["tax/DE", "tax/FR"] } }, 200);
await call("version-delete", { path: paper, token, query: { user: "bob" }, headers: { "If-Match": '"2"' } }, 200);
await call("version-get", { path: paper, token }, 410);
await call("type-set", { path: { type: "claim" }, token, body: { policy: "read-write", ttl_seconds: 60.5 } }, 200);
await call("type-get", { path: { type: "claim" }, token }, 200);
await call("types", { session: bob }, 200);
await call("sessions", { token, query: { user: "bob" } }, 200);
const made = (await call("token-create", { token, body: { name: "kiosk", roles: "use observe:policy", users: "kiosk-*" } }, 201)).json;
const listed = await call("tokens", { token }, 200);
check(!listed.text.includes(made.token) && listed.text.includes(made.id), "a list of tokens shows no secret");
await call("login", { body: { secret: made.token } }, 204);
await call("login-show", { token: made.token }, 200);
await call("history", { token, query: { span: "day" } }, 200);
await call("logout", {}, 204);
await call("token-revoke", { path: { token: made.id }, token }, 200);
await call("audit-log", { token, query: { limit: "1000" } }, 200);
const batch = { ops: [{ op: "who", resource: "policy/1" }, { op: "release", resource: "policy/9", session: `${bob.id}.${bob.key}` }] };
const answers = await call("batch", { token, body: batch }, 200);
check(answers.json.answers[1].status === "not_held", "a refused op of a batch does not fail the others", answers.text);
for (const [op, rows] of [["list", "locks"], ["sessions", "sessions"], ["types", "types"], ["tokens", "tokens"]]) {
  const [there, here] = [await call("batch", { token, body: { ops: [{ op }] } }, 200), await call(op, { token }, 200)];
  check(here.json[rows].length > 0 && JSON.stringify(there.json.answers[0][rows]) === JSON.stringify(here.json[rows]),
    `${rows} are the same JSON in a batch`, [there.text, here.text]);
}
await call("session-close", { path: { session: alice.id }, session: alice }, 200);
await call("session-close-beacon", { path: { session: bob.id }, body: JSON.stringify({ key: bob.key }), type: "text/plain;charset=UTF-8" }, 200);
await call("health", {}, 200);
await call("ready", {}, 200);
await call("ready", { token }, 200);
await call("metrics", {}, 200);
await call("openapi", {}, 200);
for (const page of ["api", "front", "dashboard-script", "style", "icon", "edit-lock"]) await call(page, {}, 200);
await stream();
const follower = await server.open("follower");
const pass = (await call("event-ticket", { session: follower, body: { resources: ["policy/1"] } }, 201)).json.ticket;
await streams("events", `/v1/events?ticket=${pass}`, {});
await streams("events-of-many", "/v1/events", { method: "POST", body: '{"resources":["policy/1"]}', headers: { "Content-Type": "application/json", "Holdfast-Session": `${follower.id}.${follower.key}` } });

async function streams(id, path, how) {
  const stop = new AbortController();
  const response = await fetch(server.url + path, { ...how, signal: stop.signal });
  check(response.status === 200 && response.headers.get("content-type") === "text/event-stream", `${id} is a stream`, response.status);
  stop.abort();
  asked.set(id, new Set(["200"]));
}

// The stream is the one answer that does not end.
async function stream() {
  const stop = new AbortController();
  const response = await fetch(`${server.url}/v1/events?after_seq=0`, { headers: { Authorization: `Bearer ${token}` }, signal: stop.signal });
  check(response.status === 200 && response.headers.get("content-type") === "text/event-stream", "events are a stream");
  let text = "";
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    if (text.includes("event: session_closed")) break;
  }
  const first = /data: (.*)\n/.exec(text)[1];
  check(fits("/components/schemas/Event", JSON.parse(first)) === null, "an event of the stream fits its schema", first);
  asked.set("events", new Set(["200"]));
}

for (const [id, operation] of Object.entries(operations)) {
  const promised = Object.keys(operation.responses).filter((code) => code < "300");
  const seen = asked.get(id) ?? new Set();
  check(promised.every((code) => seen.has(code)), `every success of ${id} has been seen`, `${[...seen]} of ${promised}`);
}

// ---- what the document does not have ----

const carol = await server.open("carol");
const known = { type: "policy", id: "7", session: carol.id, token: "0".repeat(32) };
const sessionRoutes = (operation) => operation.security.some((scheme) => "session" in scheme);
async function refuse(id, sentence, body, wanted) {
  const operation = operations[id];
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name) => known[name]);
  const who = sessionRoutes(operation) ? { session: carol } : { token };
  const answer = await server.ask(operation.method, path, { ...who, body });
  const flaw = answer.json === undefined ? "no JSON" : fits("/components/schemas/Problem", answer.json);
  check(wanted.includes(answer.status) && flaw === null && operation.responses[answer.status], `${id}: ${sentence}`, `${answer.status} ${answer.text} ${flaw}`);
  return answer;
}
const deep = "[".repeat(100) + "]".repeat(100);
for (const [id, operation] of Object.entries(operations)) {
  if (!operation.requestBody) continue;
  const schema = operation.requestBody.content["application/json"].schema;
  await refuse(id, "text that is no JSON is refused", "{", [400]);
  await refuse(id, "bytes that are no UTF-8 are refused", new Uint8Array([123, 34, 0xff, 34, 58, 49, 125]), [400]);
  const [field] = Object.keys(schema.properties ?? { ops: [] });
  const twice = await refuse(id, "a field given twice is refused", `{"${field}":"a","${field}":"b"}`, [400]);
  check(twice.json.message.includes("a field of this name stands there already"), `${id}: for that reason`, twice.text);
  await refuse(id, "an array is refused", "[]", [400]);
  await refuse(id, "deep nesting is refused", `{"${field}":${deep}}`, [400, 413]);
  await refuse(id, "a body over the limit is refused", `{"${field}":"${"x".repeat(1100 << 10)}"}`, [413]);
  const unknown = await refuse(id, "an unknown field is refused", { flavour: "mint" }, [400]);
  if (id !== "batch") check(unknown.json.message.includes("flavour"), `${id}: the sentence names it`, unknown.text);
  for (const name of Object.keys(schema.properties ?? {})) {
    const wrong = await refuse(id, `${name} of a wrong type is refused`, { [name]: { no: true } }, [400]);
    check(wrong.json.message.includes(name), `${id}: the sentence names ${name}`, wrong.text);
  }
  for (const name of schema.required ?? []) {
    const missing = await refuse(id, `it is refused without ${name}`, {}, [400]);
    check(schema.required.some((one) => missing.json.message.includes(one)), `${id}: the sentence names what is missing`, missing.text);
  }
}
// Clients that always send JSON (axios, curl --json) send {} where there is nothing to say. By node's own client: fetch gives no GET a body.
function plain(operation, body) {
  const who = sessionRoutes(operation) ? { "Holdfast-Session": `${carol.id}.${carol.key}` } : { Authorization: `Bearer ${token}` };
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name) => known[name]);
  const headers = { ...who, ...(body && { "Content-Type": "application/json", "Content-Length": body.length }) };
  return new Promise((resolve, reject) => {
    const sent = request(server.url + path, { method: operation.method, headers }, (response) => {
      let text = "";
      response.on("data", (piece) => (text += piece));
      response.on("end", () => resolve({ status: response.statusCode, text }));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
for (const [id, operation] of Object.entries(operations)) {
  if (operation.requestBody || id === "events") continue;
  const tried = [];
  for (const body of [undefined, "{}", " {\n} "]) {
    if (id === "session-close") Object.assign(carol, await server.open("carol"));
    known.session = carol.id;
    tried.push(await plain(operation, body));
  }
  check(tried.every((answer) => answer.status === tried[0].status), `${id} takes an empty object for no body`, tried.map((answer) => answer.text));
  for (const body of ['{"flavour":"mint"}', "[]", "null", "{"]) {
    const answer = await plain(operation, body);
    check(answer.status === 400, `${id} takes no ${body}`, answer.text);
  }
  if (id === "session-close") Object.assign(carol, await server.open("carol"));
}

// ---- what a client made from the document needs ----

// Who is told 401 for bringing nothing, and who is not: as the document says.
for (const [id, operation] of Object.entries(operations)) {
  if (["session-open", "events", "metrics"].includes(id)) continue; // a stream; open to this machine
  const schema = operation.requestBody?.content["application/json"].schema;
  const body = operation.requestBody && (schema.properties?.key ? { key: "0".repeat(32) } : schema.properties?.secret ? { secret: "0".repeat(64) } : operation.requestBody.content["application/json"].example);
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name) => known[name]);
  const answer = await server.ask(operation.method, path, { body });
  const open = operation.security.length === 0 || operation.security.some((scheme) => Object.keys(scheme).length === 0);
  check(open ? answer.status !== 401 || id === "login" : answer.status === 401 || (id === "batch" && answer.text.includes("unauthenticated")),
    `${id} ${open ? "needs no credentials" : "needs some"}, as the document says`, `${answer.status} ${answer.text}`);
}
check(operations.login.security.length === 0, "a login needs no token but the one in its body", operations.login.security);
const { cookie, csrf } = document.components.securitySchemes;
check(cookie?.type === "apiKey" && cookie.in === "cookie" && csrf?.type === "apiKey" && csrf.in === "header", "a page's cookie is described", document.components.securitySchemes);
const byToken = Object.values(operations).filter((operation) => operation.security.some((scheme) => "token" in scheme));
check(byToken.every(({ security, method }) => security.some((scheme) => "cookie" in scheme && (method === "GET") !== "csrf" in scheme)),
  "it does wherever a token does, for changes with its header", byToken.map(({ path }) => path));
const signIn = (await server.ask("POST", "/v1/login", { body: { secret: token } })).headers.get("set-cookie").split(/[=;]/)[1];
const visit = { [csrf?.name]: "1", Cookie: `${cookie?.name}=${signIn}` };
const asPage = [await call("list", { headers: { Cookie: visit.Cookie } }, 200), await call("type-set", { path: { type: "page" }, headers: visit, body: { policy: "optimistic" } }, 200)];
check(asPage.every(({ status }) => status === 200) && (await server.ask("PUT", "/v1/types/page", { headers: { Cookie: visit.Cookie }, body: { policy: "optimistic" } })).status === 403,
  "and so it is");
const beacon = operations["session-close-beacon"].requestBody.content["text/plain"]?.schema;
check(beacon?.type === "string" && beacon.contentMediaType === "application/json" && beacon.contentSchema?.required.includes("key"),
  "a beacon may come as plain text with JSON in it", beacon);
const fieldOf = (id, name) => operations[id].requestBody.content["application/json"].schema.properties[name];
for (const [id, name, values] of [["acquire", "mode", "exclusive shared"], ["change", "mode", "shared"],
  ["type-set", "policy", "optimistic exclusive-write exclusive-read read-write"]]) {
  const listed = JSON.stringify(fieldOf(id, name)).match(/"enum":\[([^\]]*)\]/)?.[1].replaceAll('"', "").replaceAll(",", " ");
  check(listed === values, `${id} has the values of ${name}`, listed);
  for (const value of [...values.split(" "), "neither"]) {
    const answer = await call(id, { path: { type: `values-${value}`, id: "1" }, session: carol, token, body: { [name]: value } });
    check((answer.status === 400) === (value === "neither"), `${id} takes ${value} as it says`, answer.text);
  }
}

// ---- examples ----

for (const [id, operation] of Object.entries(operations)) {
  for (const parameter of operation.parameters) {
    const validate = ajv.compile(parameter.schema);
    check(parameter.example !== undefined && validate(parameter.example), `${id} has an example of ${parameter.name}`, parameter);
  }
  const content = operation.requestBody?.content["application/json"];
  if (!content) continue;
  const pointer = `/paths/${escaped(operation.path)}/${operation.method.toLowerCase()}/requestBody/content/application~1json/schema`;
  check(content.example !== undefined && fits(pointer, content.example) === null, `${id} has an example of its body`, content.example);
  if (id === "events-of-many") continue; // a stream
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name) => (name === "type" ? `example-${id}` : known[name]));
  const answer = await server.ask(operation.method, path, { token, ...(sessionRoutes(operation) && !content.example.user && { session: carol }), body: content.example });
  check(![400, 415, 422, 500].includes(answer.status), `and it is understood`, `${answer.status} ${answer.text}`);
}
for (const [name, schema] of Object.entries(document.components.schemas)) {
  const flaws = (schema.examples ?? []).map((example) => fits(`/components/schemas/${name}`, example)).filter((flaw) => flaw !== null);
  check(flaws.length === 0 && (schema.examples?.length > 0 || schema.type === "string"), `the schema ${name} has an example that fits`, flaws);
}
const refusals = Object.keys(document.components.responses);
check(["400", "414", "417", "422", "431", "501", "505"].every((code) => refusals.some((name) => document.components.responses[name].description.startsWith(code) || name.includes(code))),
  "the document has the statuses that the server refuses with", refusals);

for (const path of Object.keys(document.paths)) {
  const target = path.replace(/\{(\w+)\}/g, (_, name) => known[name]);
  const there = Object.keys(document.paths[path]).map((method) => method.toUpperCase());
  for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
    if (there.includes(method)) continue;
    const answer = await server.ask(method, target, { token });
    const allow = answer.headers.get("allow") ?? "";
    check(answer.status === 405 && there.every((one) => allow.includes(one)), `${method} ${path} answers 405 and says what is allowed`,
      `${answer.status} ${allow} ${answer.text}`);
  }
}
for (const [path, query] of [["/v1/locks", "colour=red"], ["/v1/locks", "limit=x"], ["/v1/locks", "limit=5000"], ["/v1/locks", "type=a&type=b"],
  ["/v1/locks", "after=nowhere"], ["/v1/locks", "type=%zz"], ["/v1/events", "resource=x"], ["/v1/sessions", "after=../.."]]) {
  const answer = await server.ask("GET", `${path}?${query}`, { token });
  check(answer.status === 400 && answer.json?.code === "invalid", `GET ${path}?${query} is refused`, `${answer.status} ${answer.text}`);
}
for (const [id, { path, parameters = [] }] of Object.entries(operations)) {
  if (!parameters.some((parameter) => parameter.name === "limit")) continue;
  const byLimit = [];
  for (const limit of ["0", "1", "1000", "1001"]) byLimit.push((await server.ask("GET", `${path}?limit=${limit}`, { token })).status);
  check(byLimit.join() === "400,200,200,400", `${id} takes a limit of 1 to 1000`, byLimit);
}
for (const path of ["/v2", "/v1", "/v1/locks/policy", "/v1/locks/policy/a/b", "/v1/locks//x", "/openapi.json/", "/%2e%2e/etc"]) {
  const answer = await server.ask("GET", path, { token });
  check(answer.status === 404 && answer.json?.code === "not_found", `GET ${path} is not there`, `${answer.status} ${answer.text}`);
}
check((await server.ask("GET", "/v1/locks/policy/%00", { token })).status === 400, "a NUL in a path is refused");

// ---- what the HTTP layer refuses by itself ----

const long = "x".repeat(20000);
for (const [code, head] of [[414, `GET /${long} HTTP/1.1\r\nHost: localhost`], [431, `GET / HTTP/1.1\r\nHost: localhost\r\nA: ${long}`],
  [417, "POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: the-unexpected"], [501, "POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip"],
  [505, "GET / HTTP/2.0\r\nHost: localhost"], [400, "GET  / HTTP/1.1\r\nHost: localhost"]]) {
  const answer = await exchange(server, `${head}\r\n\r\n`, { half: true });
  check(answer.statuses[0] === code && document.paths["/v1/sessions"].post.responses[code] && answer.text.includes('"code":"invalid"'),
    `a ${code} is answered, and is in the document`, answer.text.slice(0, 300));
}

const end = await server.stop();
check(end.code === 0, "it stops cleanly", end);
finish();
