// A person's page, a record's page, and the sessions.
import { html, nothing } from "lit";
import { ask, get } from "./api.js";
import { ago, avatar, count, duration, left, mode, person, personLink, resourceName, several, text, when } from "./format.js";
import { Log, logTable } from "./log.js";
import { cell, empty, isNarrow, longList, releaseButton } from "./parts.js";
import { changed, failed, mayEverywhere, noteSessions, show, state, touch } from "./store.js";

// What a page has read belongs to its address: another address begins anew.
let opened = { key: "" };
function once(key, begin) {
  if (opened.key !== key) {
    opened.log?.stop();
    opened = { key, ...begin() };
  }
  return opened;
}
export const leavePages = () => once("", () => ({}));

const forbidden = () => html`<p class="quiet">This token may not see the sessions and the log: that needs the role observe for all types.</p>`;

function lockCard(lock) {
  const beat = state.beats.get(lock.session);
  const requests = state.waiting.get(lock.resource) ?? [];
  return html`<li class="card hold">
    <div class="hold-head">${resourceName(lock.resource)}${mode(lock.mode)}${releaseButton([lock])}</div>
    ${holdFacts(lock, beat)}
    ${requests.length ? html`<p class="badge">${several(requests.length, "waiting", "waiting")}</p>` : nothing}
  </li>`;
}

const holdFacts = (lock, beat) => html`<dl class="hold-facts">
  ${lock.purpose ? html`<div><dt>For</dt><dd><bdi>${lock.purpose}</bdi></dd></div>` : nothing}
  <div><dt>Since</dt><dd>${when(lock.since)}</dd></div>
  <div><dt>Time left</dt><dd>${left(lock)}</dd></div>
  ${beat ? html`<div><dt>Last beat</dt><dd>${ago(beat.at)}</dd></div>` : nothing}
  <div><dt>Fence</dt><dd class="number">${lock.fence}</dd></div>
</dl>`;

// ---- a person ----

async function readSessions(it, user) {
  try {
    const { sessions } = await get("/v1/sessions", { user, limit: 1000 });
    noteSessions(sessions);
    it.sessions = sessions;
    changed();
  } catch (error) {
    failed(error);
  }
}

export function personPage(user) {
  const all = mayEverywhere("observe");
  const it = once(`person ${user}`, () => ({
    log: all ? new Log({ user }, (event) => event.user === user || event.actor === user) : null, sessions: null, at: 0 }));
  if (all && Date.now() - it.at > 5000 && state.live !== "gone") {
    it.at = Date.now();
    readSessions(it, user);
  }
  const locks = [...state.locks.values()].filter((lock) => lock.user === user).sort((a, b) => a.since - b.since);
  const name = it.sessions?.[0]?.name ?? locks[0]?.name ?? user;
  show(locks.slice(0, 40));
  return {
    title: name,
    heading: html`${avatar(name, user)}<span><bdi>${name}</bdi>${name === user ? nothing : html`<small><bdi>${user}</bdi></small>`}</span>`,
    aside: locks.length > 1 ? releaseButton(locks, `Release all ${count(locks.length)}…`, "danger") : nothing,
    body: html`
      <section><h2>Locks <span class="count">${count(locks.length)}</span></h2>
        ${locks.length ? html`<ul class="cards">${locks.slice(0, 100).map(lockCard)}</ul>${locks.length > 100 ? html`<p class="quiet">and ${several(locks.length - 100, "more", "more")}</p>` : nothing}`
          : html`<p class="quiet">Holds nothing.</p>`}</section>
      ${all ? html`<section><h2>Sessions <span class="count">${count(it.sessions?.length ?? 0)}</span></h2>
        ${it.sessions?.length ? html`<ul class="lines">${it.sessions.map((session) => html`<li>${sessionLine(session)}</li>`)}</ul>` : html`<p class="quiet">None is open.</p>`}</section>
      <section><h2>History</h2>${logTable(it.log, { label: "History", without: "user" })}</section>` : forbidden()}`,
  };
}

function sessionLine(session) {
  const expires = Date.parse(session.expires);
  return html`<span class="mono">${session.id.slice(0, 8)}</span><span>last beat ${ago(expires - session.idle_seconds * 1000)}</span><span class="quiet">ends after ${duration(session.idle_seconds * 1000)} of silence</span>`;
}

// ---- a record ----

async function readVersion(it, resource) {
  try {
    const { versions } = await ask("POST", "/v1/versions/lookup", { resources: [resource] });
    it.version = versions[0];
    changed();
  } catch (error) {
    failed(error);
  }
}

const requestLine = (request) => html`<li><span class="who">${text(request.name, "name")}</span>${request.message ? html`<q><bdi>${request.message}</bdi></q>` : nothing}<span class="quiet">${ago(request.at)}</span></li>`;

function versionFacts({ version }) {
  if (!version) return nothing;
  if (!version.version) return html`<p class="quiet">Never saved through holdfast.</p>`;
  return html`<p>Version <strong>${version.version}</strong>${version.gone ? ", deleted" : ", saved"} ${when(Date.parse(version.saved ?? version.at))}
    ${version.user ? html` by <a href=${personLink(version.user)}><bdi>${version.name ?? version.user}</bdi></a>` : nothing}</p>`;
}

export function resourcePage(resource) {
  const all = mayEverywhere("observe");
  const it = once(`resource ${resource}`, () => {
    touch([resource]);
    return { log: all ? new Log({ resource }, (event) => {
      if (event.resource === resource && /saved|deleted/.test(event.kind)) readVersion(opened, resource);
      return event.resource === resource;
    }) : null, version: null, read: false };
  });
  if (!it.read) {
    it.read = true;
    readVersion(it, resource);
  }
  const holders = state.byResource.get(resource) ?? [];
  const requests = state.waiting.get(resource) ?? [];
  show(holders);
  return {
    title: resource,
    heading: html`<span class="resource"><bdi class="type">${resource.slice(0, resource.indexOf("/"))}</bdi><span class="slash">/</span><bdi class="id">${resource.slice(resource.indexOf("/") + 1)}</bdi></span>`,
    aside: holders.length > 1 ? releaseButton(holders, `Release all ${holders.length}…`, "danger") : nothing,
    body: html`
      <section><h2>Held by</h2>${holders.length
        ? html`<ul class="cards">${holders.map((lock) => html`<li class="card hold"><div class="hold-head">${person(lock.name, lock.user)}${mode(lock.mode)}${releaseButton([lock])}</div>${holdFacts(lock, state.beats.get(lock.session))}</li>`)}</ul>`
        : html`<p class="quiet">Nobody. It is free.</p>`}</section>
      ${requests.length ? html`<section><h2>Waiting <span class="count">${requests.length}</span></h2><ul class="lines">${requests.map(requestLine)}</ul></section>` : nothing}
      <section><h2>Version</h2>${versionFacts(it)}</section>
      ${all ? html`<section><h2>History</h2>${logTable(it.log, { label: "History", without: "resource" })}</section>` : forbidden()}`,
  };
}

// ---- sessions ----

const list = { rows: [], at: 0, reading: false, q: "", by: "person", down: false };
const sort = { get by() { return list.by; }, get down() { return list.down; }, set: (by, down) => { Object.assign(list, { by, down }); changed(); } };

async function readAllSessions() {
  list.reading = true;
  const found = [];
  try {
    for (let after; ; ) {
      const { sessions, next } = await get("/v1/sessions", { after, limit: 1000 });
      noteSessions(sessions);
      found.push(...sessions);
      if (!list.at || found.length <= 1000) list.rows = found.length > list.rows.length ? [...found] : list.rows;
      changed();
      if (!next) break;
      after = next;
    }
    list.rows = found;
  } catch (error) {
    failed(error);
  }
  // Many are read less often.
  list.at = Date.now() + Math.min(60000, found.length);
  list.reading = false;
  changed();
}

const heldBy = () => {
  const held = new Map();
  for (const { session } of state.locks.values()) held.set(session, (held.get(session) ?? 0) + 1);
  return held;
};

export function sessionsPage() {
  if (!list.reading && Date.now() - list.at > 5000 && state.live !== "gone") readAllSessions();
  const held = heldBy();
  const word = list.q.toLowerCase();
  const expires = (session) => Date.parse(session.expires);
  const keys = { person: ({ name }) => name.toLowerCase(), beat: (session) => expires(session) - session.idle_seconds * 1000, left: expires, idle: ({ idle_seconds }) => idle_seconds, held: ({ id }) => held.get(id) ?? 0 };
  const key = keys[list.by];
  const rows = list.rows.filter(({ name, user, id }) => !word || `${name}\n${user}\n${id}`.toLowerCase().includes(word))
    .sort((a, b) => { const [x, y] = [key(a), key(b)]; return (x < y ? -1 : x > y ? 1 : a.id < b.id ? -1 : 1) * (list.down ? -1 : 1); });
  show([]);
  const line = (session) => html`
    ${cell("person", "", person(session.name, session.user))}
    ${cell("session", "", html`<span class="mono" title=${session.id}>${session.id.slice(0, 8)}</span>`)}
    ${cell("held", "", html`<span class=${held.get(session.id) ? "" : "quiet"}>${several(held.get(session.id) ?? 0, "lock")}</span>`)}
    ${cell("beat", "beat", ago(expires(session) - session.idle_seconds * 1000))}
    ${cell("left", "ends in", left({ expires: expires(session) }))}
    ${cell("idle", "bound", html`<span class="quiet">${duration(session.idle_seconds * 1000)}</span>`)}`;
  return {
    title: "Sessions",
    body: html`<form class="toolbar" role="search" @submit=${(event) => event.preventDefault()}>
        <label class="search"><span class="unseen">Search sessions</span><svg viewBox="0 0 16 16" aria-hidden="true"><circle cx="7" cy="7" r="4.5" /><path d="m10.5 10.5 3.5 3.5" /></svg>
        <input type="search" id="search" placeholder="Search person or session" autocomplete="off" .value=${list.q} @input=${(event) => { list.q = event.target.value; changed(); }}><kbd aria-hidden="true">/</kbd></label>
        <output class="found">${several(rows.length, "session")}</output></form>
      ${rows.length ? longList({ label: "Sessions", rows, key: ({ id }) => id, height: isNarrow() ? 96 : 54, sort, row: line, columns: [
          { id: "person", name: "Person" }, { id: "session", name: "Session", sorts: false }, { id: "held", name: "Holds" },
          { id: "beat", name: "Last beat" }, { id: "left", name: "Time left" }, { id: "idle", name: "Idle bound" }] })
        : list.reading ? html`<div class="empty"><p>Reading…</p></div>` : empty("No session is open", "A session is one person's piece of work: a tab, a job.")}`,
  };
}
