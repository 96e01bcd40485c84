// An office in which people edit policies, one person a policy at a time. The page speaks to holdfast itself (work.js), so holdfast serves with
//   --allow-origin http://127.0.0.1:3000
// and HOLDFAST_URL must be one that browsers can reach. The application opens sessions, takes locks, and saves with the fence.
"use strict";
const path = require("node:path");
const express = require("express");
const holdfast = require("./holdfast");
const pages = require("./pages");
const policies = require("./policies");
const webSessions = require("./websessions");

// A real application asks for passwords too.
const people = { alice: { user: "alice", name: "Alice Chen" }, bob: { user: "bob", name: "Bob Smith", manager: true } };

// ---- work: one for each edit page, kept in the web session by its record ----

// Takes the lock, or throws a refusal that names who has it.
async function take(web, type, record, purpose) {
  const resource = `${type}/${record}`;
  const { id, key } = await holdfast.open(web.user, web.work.get(resource));
  const work = { id, key, type, record, fence: 0 };
  // Kept before the lock is asked for: if no answer comes, the next try replaces this one.
  web.work.set(resource, work);
  try {
    work.fence = await holdfast.acquire(work, purpose);
  } catch (problem) {
    if (problem.status === 423)
      await close(web, work);
    throw problem;
  }
  return work;
}

function find(web, type, record, id) {
  const work = web.work.get(`${type}/${record}`);
  if (work?.id !== id)
    throw new holdfast.Refused(409, "Your editing session has ended, or the record is open on another page of yours.");
  return work;
}

// Gives back what the work holds. If holdfast can't be told, or is busy, the idle bound ends it.
async function close(web, work) {
  const ended = await holdfast.close(work).then(() => true, (problem) => ![423, 503].includes(problem.status));
  if (ended && web.work.get(`${work.type}/${work.record}`) === work)
    web.work.delete(`${work.type}/${work.record}`);
}

async function lost(work) {
  const names = await holdfast.who(work).then((holders) => holders.map((holder) => holder.name), () => []);
  return new holdfast.Refused(409, `${names.join(" and ") || "Someone else"} has opened the record since you did, so your changes were not saved.`);
}

// What its pages have open: those that work.js goes with, and those with <edit-lock>.
const worksOf = (web) => [...web.work.values(), ...web.sessions.values()];

// Does one of its pages still hold its record?
async function atWork(web) {
  const works = worksOf(web);
  const holders = (await Promise.all(works.map(holdfast.who))).flat();
  return works.some((work) => holders.some((holder) => holder.session === work.id));
}

// However a web session ends, what its pages hold is given back.
const ended = (web) => Promise.all(worksOf(web).map((work) => close(web, work)));
const sessions = webSessions({ atWork, ended });

// ---- pages ----

const app = express();
app.disable("x-powered-by");
app.use(express.urlencoded({ extended: false }), sessions.find);
app.use("/static", express.static(path.join(__dirname, "../page")));

// What an async handler throws goes where refusals are told.
const handle = (handler) => (request, response, next) => handler(request, response).catch(next);
const mustLogIn = (request, response, next) => (request.webSession ? next() : response.redirect(303, "/login"));

app.get("/", (request, response) => response.send(pages.list(request.webSession?.user, policies.all())));
app.get("/login", (request, response) => response.send(pages.login()));

app.post("/login", handle(async (request, response) => {
  const user = Object.hasOwn(people, request.body.username) && people[request.body.username];
  if (!user)
    return response.status(403).send(pages.login());
  if (request.webSession)
    await sessions.end(request.webSession);
  sessions.begin(response, user);
  response.redirect(303, "/");
}));

app.post("/logout", mustLogIn, handle(async (request, response) => {
  await sessions.end(request.webSession);
  response.clearCookie("session").redirect(303, "/");
}));

app.param("id", (request, response, next, id) => (policies.find(id) ? next() : next("route")));

function editing(response, web, policy, work, note) {
  const session = `${holdfast.url}/v1/sessions/${work.id}`;
  const script = { beat: `${session}/beat`, close: `${session}/close`, session: holdfast.login(work), idle: holdfast.idleSeconds };
  response.set("Cache-Control", "no-cache").send(pages.edit(web.user, policy, work, { ...script, note }));
}

app.get("/policies/:id/edit", mustLogIn, handle(async ({ webSession: web, params: { id } }, response) => {
  const work = await take(web, "policy", id, "editing");
  const policy = policies.claim(id, work.fence);
  if (policy === null)
    throw await lost(work);
  editing(response, web, policy, work);
}));

app.post("/policies/:id/save", mustLogIn, handle(async ({ webSession: web, params: { id }, body }, response) => {
  const work = find(web, "policy", id, body.work);
  const text = String(body.text ?? "").trim();
  if (text === "")
    return editing(response.status(422), web, { ...policies.find(id), text }, work, "Please say what it covers.");
  if (!policies.save(id, work.fence, text))
    throw await lost(work);
  await close(web, work);
  response.redirect(303, "/");
}));

// ---- the same with <edit-lock>: its page, the three routes that it asks, and the save ----

app.get("/policies/:id/open", mustLogIn, (request, response) => response.send(pages.open(request.webSession.user, policies.find(request.params.id))));

app.post("/holdfast/session", mustLogIn, express.json(), handle(async ({ webSession: web, body: { resource } }, response) => {
  const { id, key } = await holdfast.open(web.user);
  const [type, record] = resource.split("/");
  web.sessions.set(id, { type, record, id, key }); // for the save: the form has the public id only
  const { user, name, manager = false } = web.user;
  response.json({ session: `${id}.${key}`, user, name, idle_seconds: holdfast.idleSeconds, may_take_over: manager });
}));

app.get("/policies/:id/record", mustLogIn, ({ params: { id } }, response) => {
  const { version, text } = policies.find(id);
  response.set("Cache-Control", "no-store").json({ version, fields: { text } });
});

app.post("/holdfast/take-over", mustLogIn, express.json(), handle(async ({ webSession: { user }, body }, response) => {
  if (!user.manager)
    return response.status(403).json({ message: "Only managers may take a record over." });
  const [type, record] = body.resource.split("/");
  await holdfast.forceRelease({ type, record }, { reason: body.reason, fence: body.fence, actor: user.name });
  response.json({});
}));

app.post("/policies/:id/open", mustLogIn, handle(async ({ webSession: web, params: { id }, body }, response) => {
  const work = web.sessions.get(body.holdfast_session);
  const version = Number(body.holdfast_version);
  if (work?.type !== "policy" || work.record !== id)
    throw new holdfast.Refused(409, "Your editing session has ended; reload the record.");
  const saved = await holdfast.save({ ...work, fence: body.holdfast_fence }, version);
  if (!policies.write(id, version, saved, String(body.text)))
    throw await lost(work);
  response.redirect(303, "/");
}));

app.use((request, response) => response.status(404).send(pages.refused(request.webSession?.user, 404, "It may have been removed.")));

app.use((problem, request, response, next) => {
  if (!(problem instanceof holdfast.Refused))
    return next(problem);
  response.status(problem.status).send(pages.refused(request.webSession?.user, problem.status, problem.message, request.body.text));
});

const listener = app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => console.log(`http://127.0.0.1:${listener.address().port}`));
