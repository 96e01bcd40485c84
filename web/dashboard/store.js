// All live locks, as the server's store has them: read page by page, then kept up by the stream of events.
//
//   S1  The stream is open before the first page is read, so nothing is missed.
//   S2  An event is a nudge: the records it names are looked up, and what the look says counts.
//   S3  Beats leave no event. So what is on the screen is looked up every few seconds, and a lock whose end has come is looked up before it
//       is taken for gone.
//   S4  Whoever asks for a record to be freed is not in the pages: all records are looked up once in the background.
import { ask, get, now, Refused, Unreachable } from "./api.js";
import { kinds } from "./format.js";

const PAGE = 1000;
const FIRST = 200;

export const state = {
  caller: undefined, // undefined: not known yet; null: nobody is signed in
  problem: "", // what stands in the way of reading, in a sentence
  live: "off", // off, opening, live, gone
  loading: false,
  locks: new Map(), // "type/id session" → lock
  byResource: new Map(), // "type/id" → array of locks
  waiting: new Map(), // "type/id" → requests
  beats: new Map(), // session → {at, idle, expires}
  revision: 0, // moves when locks, or who waits, change
};

const listeners = new Set();
export const onChange = (listener) => listeners.add(listener);
// at once: before whatever is typed next, not with the next frame
export function changed({ atOnce = false } = {}) {
  for (const listener of listeners) listener(atOnce);
}

const eventListeners = new Set();
// Each event as it comes, in this page's form.
export function onEvent(listener) {
  eventListeners.add(listener);
  return () => eventListeners.delete(listener);
}

// ---- rights ----

// role:type pairs; "": of all types
const grants = () => (state.caller?.roles ?? "").split(/\s+/).filter(Boolean).map((grant) => grant.split(":"));
export const may = (role, type) => grants().some(([name, of]) => name === role && (of === undefined || of === type));
export const mayEverywhere = (role) => may(role, undefined);
export const mayManageAny = () => grants().some(([name]) => name === "manage");

// The types whose locks may be seen; [undefined] for all.
function scopes() {
  if (mayEverywhere("observe")) return [undefined];
  return [...new Set(grants().filter(([name]) => name === "observe").map(([, type]) => type))];
}

// ---- rows ----

function lockOf(row) {
  return {
    ...row,
    key: `${row.resource} ${row.session}`,
    type: row.resource.slice(0, row.resource.indexOf("/")),
    since: Date.parse(row.since),
    expires: row.expires === null ? null : Date.parse(row.expires),
    purpose: row.purpose ?? "",
    search: undefined,
  };
}

export const searchText = (lock) => (lock.search ??= `${lock.resource}\n${lock.name}\n${lock.user}\n${lock.purpose}`.toLowerCase());

function putLock(lock) {
  const others = state.byResource.get(lock.resource);
  if (!others) state.byResource.set(lock.resource, [lock]);
  else {
    const at = others.findIndex(({ key }) => key === lock.key);
    if (at < 0) others.push(lock);
    else others[at] = lock;
  }
  state.locks.set(lock.key, lock);
}

// What a look said of a record is all there is of it.
function setResource({ resource, holders, requests }) {
  for (const lock of state.byResource.get(resource) ?? []) state.locks.delete(lock.key);
  state.byResource.delete(resource);
  for (const row of holders) putLock(lockOf(row));
  if (requests.length && holders.length) state.waiting.set(resource, requests.map((request) => ({ ...request, at: Date.parse(request.at) })));
  else state.waiting.delete(resource);
  state.revision++;
}

// ---- looking up ----

const dirty = new Set();
let lookTimer = null;

async function lookUp(resources) {
  if (!resources.length) return;
  const { resources: found } = await ask("POST", "/v1/locks/lookup", { resources });
  for (const who of found) setResource(who);
  changed();
}

async function lookAtDirty() {
  lookTimer = null;
  const some = [...dirty].slice(0, PAGE);
  for (const resource of some) dirty.delete(resource);
  try {
    await lookUp(some);
  } catch (error) {
    for (const resource of some) dirty.add(resource);
    failed(error);
    return;
  }
  if (dirty.size) lookSoon(0);
}

function lookSoon(ms = 60) {
  lookTimer ??= setTimeout(lookAtDirty, ms);
}

export function touch(resources) {
  for (const resource of resources) dirty.add(resource);
  if (dirty.size) lookSoon();
}

// ---- reading all ----

let reading = 0; // which reading is the current one

async function* pages(path, query = {}) {
  for (let after, first = true; ; first = false) {
    const { next, ...page } = await get(path, { ...query, after, limit: first ? FIRST : PAGE });
    yield page;
    if (!next) return;
    after = next;
  }
}

async function crawlRequests(mine) {
  const all = [...state.byResource.keys()];
  for (let at = 0; at < all.length && mine === reading; at += PAGE) {
    const { resources } = await ask("POST", "/v1/locks/lookup", { resources: all.slice(at, at + PAGE) });
    if (mine !== reading) return;
    for (const who of resources) if (who.requests.length || state.waiting.has(who.resource)) setResource(who);
    changed();
    await new Promise((resolve) => setTimeout(resolve, at < 5 * PAGE ? 0 : 200));
  }
}

export async function readAll() {
  const mine = ++reading;
  state.loading = true;
  const old = new Set(state.locks.keys());
  try {
    for (const type of scopes())
      for await (const { locks } of pages("/v1/locks", { type })) {
        if (mine !== reading) return;
        for (const row of locks) {
          const lock = lockOf(row);
          old.delete(lock.key);
          putLock(lock);
        }
        state.revision++;
        changed();
      }
    for (const key of old) removeKey(key);
    state.loading = false;
    state.problem = "";
    state.revision++;
    changed();
    if (dirty.size) lookSoon();
    await crawlRequests(mine);
  } catch (error) {
    if (mine !== reading) return;
    state.loading = false;
    failed(error);
  }
}

function removeKey(key) {
  const lock = state.locks.get(key);
  if (!lock) return;
  state.locks.delete(key);
  const rest = (state.byResource.get(lock.resource) ?? []).filter((other) => other.key !== key);
  if (rest.length) state.byResource.set(lock.resource, rest);
  else {
    state.byResource.delete(lock.resource);
    state.waiting.delete(lock.resource);
  }
}

// ---- the stream ----

let streams = [];
let retry = null;

function take(type, event) {
  if (type === "resync" || type === "restored") {
    readAll();
    return;
  }
  const it = JSON.parse(event.data);
  if (it.resource) touch([it.resource]);
  else if (it.session && /^session_(closed|expired)$/.test(it.kind))
    touch([...state.locks.values()].filter(({ session }) => session === it.session).map(({ resource }) => resource));
  for (const listener of eventListeners) listener({ ...it, at: Date.parse(it.at) });
}

let missed = false; // while there was no stream
function setLive(live) {
  if (state.live === live) return;
  missed ||= live === "gone";
  state.live = live;
  if (missed && live === "live") {
    missed = false;
    readAll();
  }
  changed();
}

function follow(type) {
  const source = new EventSource(type === undefined ? "/v1/events" : `/v1/events?type=${encodeURIComponent(type)}`);
  source.onopen = () => {
    if (streams.every(({ readyState }) => readyState === EventSource.OPEN)) setLive("live");
  };
  source.onerror = () => {
    setLive("gone");
    if (source.readyState === EventSource.CLOSED) again();
  };
  for (const kind of [...kinds, "resync"]) source.addEventListener(kind, (event) => take(kind, event));
  return source;
}

// The server has refused the stream: perhaps the token no longer counts.
function again() {
  retry ??= setTimeout(async () => {
    retry = null;
    if (!state.caller) return;
    try {
      state.caller = await get("/v1/login");
      open();
    } catch (error) {
      failed(error);
      if (state.caller) again();
    }
  }, 2000);
}

function open() {
  close();
  streams = scopes().map(follow);
}

// A browser keeps six connections to one server, over all tabs. So a tab that nobody has looked at for a while gives its stream back.
const HIDDEN_MS = 20000;
let hiddenTimer = null;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiddenTimer);
  if (!state.caller) return;
  if (document.hidden) {
    hiddenTimer = setTimeout(close, HIDDEN_MS);
  } else if (!streams.length && scopes().length) {
    open();
    readAll();
  }
});

function close() {
  for (const source of streams) source.close();
  streams = [];
  setLive("opening");
}

// ---- signing in and out ----

// What went wrong while reading.
export function failed(error) {
  if (error instanceof Refused && error.status === 401) {
    forget("You have been signed out: the token no longer counts.");
  } else if (error instanceof Unreachable) {
    setLive("gone");
  } else {
    state.problem = error.message;
    if (!(error instanceof Refused)) console.error(error);
  }
  changed();
}

function forget(problem = "") {
  close();
  reading++;
  localStorage.removeItem("holdfast-signed-in");
  for (const map of [state.locks, state.byResource, state.waiting, state.beats]) map.clear();
  dirty.clear();
  Object.assign(state, { caller: null, problem, live: "off", loading: false });
  state.revision++;
  changed();
}

async function begin() {
  state.problem = scopes().length ? "" : "This token may not observe: it sees no locks. Make one with the role observe.";
  state.live = "opening";
  changed();
  if (!scopes().length) return;
  open();
  await readAll();
}

// A page that was never signed in does not ask who it is: that would stand in the audit log as a refusal.
export async function start() {
  if (!localStorage.getItem("holdfast-signed-in")) {
    state.caller = null;
    changed();
    return;
  }
  try {
    state.caller = await get("/v1/login");
  } catch (error) {
    if (error instanceof Refused && error.status === 401) return forget();
    state.problem = error.message;
    state.live = "gone";
    changed();
    setTimeout(start, 2000);
    return;
  }
  await begin();
}

export async function signIn(secret) {
  if (!/^[0-9a-f]{64}$/.test(secret)) throw new Error("A token is 64 hex digits. This is something else.");
  await ask("POST", "/v1/login", { secret });
  try {
    state.caller = await get("/v1/login");
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    throw new Error("The token is right, but this browser did not keep the cookie. It needs HTTPS, or a server on this machine (127.0.0.1 or localhost).");
  }
  localStorage.setItem("holdfast-signed-in", "1");
  await begin();
}

export async function signOut() {
  await ask("DELETE", "/v1/login");
  forget();
}

// ---- what the eye sees ----

let seen = { locks: [], at: 0 };
// The view says what is on the screen; it is kept fresh.
export function show(locks) {
  const fresh = locks.some(({ session }) => !state.beats.has(session));
  seen = { locks, at: fresh ? 0 : seen.at };
}

const asked = new Map(); // user → when their sessions were read

async function readBeats(locks) {
  if (!mayEverywhere("observe")) return;
  const due = [...new Set(locks.map(({ user }) => user))].filter((user) => Date.now() - (asked.get(user) ?? 0) > 4000).slice(0, 24);
  for (const user of due) asked.set(user, Date.now());
  const read = async (user) => {
    const { sessions } = await get("/v1/sessions", { user, limit: 1000 });
    noteSessions(sessions);
  };
  for (let at = 0; at < due.length; at += 6) await Promise.all(due.slice(at, at + 6).map(read));
  if (due.length) changed();
}

export function noteSessions(sessions) {
  for (const session of sessions) {
    const expires = Date.parse(session.expires);
    state.beats.set(session.id, { at: expires - session.idle_seconds * 1000, idle: session.idle_seconds * 1000, expires });
  }
}

async function refreshSeen() {
  if (document.hidden || state.live !== "live" || !seen.locks.length) return;
  if (Date.now() - seen.at < 4500) return;
  const { locks } = seen;
  seen.at = Date.now();
  try {
    await lookUp([...new Set(locks.map(({ resource }) => resource))].slice(0, 100));
    await readBeats(locks);
  } catch (error) {
    failed(error);
  }
}

function lookAtEnds() {
  const at = now() - 300;
  const ended = [];
  for (const { expires, resource } of state.locks.values())
    if (expires !== null && expires < at && ended.push(resource) >= PAGE) break;
  if (ended.length && state.live === "live") touch(ended);
}

setInterval(() => {
  if (!state.caller) return;
  lookAtEnds();
  refreshSeen();
  changed();
}, 1000);
