// Every live lock: searched, filtered, sorted, drawn where it is seen.
import { html, nothing, svg } from "lit";
import { ago, count, left, mode, person, resourceName, several, text, when } from "./format.js";
import { history, wantHistory } from "./history.js";
import { cell, empty, isNarrow, longList, releaseButton } from "./parts.js";
import { changed, mayEverywhere, mayManageAny, searchText, show, state } from "./store.js";

const NOTHING = { q: "", type: "", mode: "", waiting: false };
const wanted = { ...NOTHING };
const sort = { by: "resource", down: false, set: (by, down) => { Object.assign(sort, { by, down }); changed(); } };

// Numbers in names by their size: policy/2 is before policy/10.
const nameKey = (lock) => (lock.nameKey ??= lock.resource.replace(/\d+/g, (digits) => digits.padStart(12, "0")));
const beatOf = (lock) => state.beats.get(lock.session)?.at ?? 0;
const KEYS = {
  resource: nameKey,
  person: (lock) => (lock.personKey ??= lock.name.toLowerCase()),
  mode: (lock) => lock.mode,
  purpose: (lock) => lock.purpose.toLowerCase(),
  since: (lock) => lock.since,
  left: (lock) => lock.expires ?? Infinity,
  beat: beatOf,
  waiting: (lock) => state.waiting.get(lock.resource)?.length ?? 0,
};

function order(a, b) {
  const key = KEYS[sort.by];
  const [x, y] = [key(a), key(b)];
  if (x < y) return sort.down ? 1 : -1;
  if (x > y) return sort.down ? -1 : 1;
  return nameKey(a) < nameKey(b) ? -1 : nameKey(a) > nameKey(b) ? 1 : a.session < b.session ? -1 : 1;
}

function passes(lock, words) {
  return (!wanted.type || lock.type === wanted.type) && (!wanted.mode || lock.mode === wanted.mode) &&
    (!wanted.waiting || state.waiting.has(lock.resource)) && words.every((word) => searchText(lock).includes(word));
}

// Sorting a hundred thousand takes a while: while they come in it is done now and then, and at once when the reader asks for something else.
let view = { rows: [], types: [], people: 0, waiting: 0 };
let made = { revision: -1, asked: "", at: 0, took: 0 };
let later = null;
function rows() {
  const asked = JSON.stringify([wanted, sort.by, sort.down]);
  if (made.revision === state.revision && made.asked === asked) return view;
  const wait = made.at + Math.min(2000, made.took * 6) - performance.now();
  if (made.asked === asked && wait > 0) {
    later ??= setTimeout(() => { later = null; changed(); }, wait);
    return view;
  }
  const began = performance.now();
  const words = wanted.q.toLowerCase().split(/\s+/).filter(Boolean);
  const types = new Map();
  const people = new Set();
  const found = [];
  for (const lock of state.locks.values()) {
    types.set(lock.type, (types.get(lock.type) ?? 0) + 1);
    people.add(lock.user);
    if (passes(lock, words)) found.push(lock);
  }
  let waiting = 0;
  for (const requests of state.waiting.values()) waiting += requests.length;
  view = { rows: found.sort(order), types: [...types].sort(), people: people.size, waiting };
  made = { revision: state.revision, asked, at: performance.now(), took: performance.now() - began };
  return view;
}

// ---- the numbers above ----

function spark(values) {
  const known = values.map((value) => value ?? 0).slice(-180);
  if (known.length < 2) return nothing;
  const most = Math.max(1, ...known);
  const at = (value, i) => `${((i / (known.length - 1)) * 100).toFixed(1)} ${(27 - (value / most) * 24).toFixed(1)}`;
  const path = `M${known.map(at).join("L")}`;
  return html`<svg class="spark" viewBox="0 0 100 28" preserveAspectRatio="none" aria-hidden="true">${svg`<path class="area" d="${path}L100 28L0 28Z"/><path class="line" d=${path} vector-effect="non-scaling-stroke"/>`}</svg>`;
}

const tile = (name, number, note, line) => html`<div class="tile"><dt>${name}</dt><dd>${number}<span class="note">${note}</span></dd>${line}</div>`;
const sum = (values) => values.reduce((all, value) => all + value, 0);

function tiles({ people, waiting }) {
  const past = history();
  return html`<dl class="tiles">
    ${tile("Locks held", count(state.locks.size), state.loading ? "reading…" : "", past ? spark(past.locks) : nothing)}
    ${tile("People", count(people), "", past ? spark(past.sessions) : nothing)}
    ${tile("Waiting", count(waiting), "", past ? spark(past.requested) : nothing)}
    ${past ? tile("Refused", count(sum(past.refused)), "last hour", spark(past.refused)) : nothing}
  </dl>`;
}

// ---- the list ----

function beat(lock) {
  const it = state.beats.get(lock.session);
  return it ? html`<span class="quiet" title="The session ends when it has not beaten for that long.">${ago(it.at)}</span>` : html`<span class="quiet">·</span>`;
}

function waitingBadge({ resource }) {
  const requests = state.waiting.get(resource);
  if (!requests) return nothing;
  const names = requests.map(({ name, message }) => `\u2068${name}\u2069${message ? `: \u2068${message}\u2069` : ""}`).join("\n");
  return html`<span class="badge" title=${names}>${several(requests.length, "waiting", "waiting")}</span>`;
}

const line = (lock) => html`
  ${cell("resource", "", resourceName(lock.resource))}
  ${cell("person", "", person(lock.name, lock.user))}
  ${cell("mode", "", mode(lock.mode))}
  ${cell("purpose", "", text(lock.purpose))}
  ${cell("since", "since", when(lock.since))}
  ${cell("left", "left", left(lock))}
  ${cell("beat", "beat", beat(lock))}
  ${cell("waiting", "", waitingBadge(lock))}
  ${cell("action", "", releaseButton([lock]))}`;

const COLUMNS = [
  { id: "resource", name: "Record" }, { id: "person", name: "Held by" }, { id: "mode", name: "Mode" }, { id: "purpose", name: "For" },
  { id: "since", name: "Since" }, { id: "left", name: "Time left" }, { id: "beat", name: "Last beat" }, { id: "waiting", name: "Waiting" },
  { id: "action", name: "Action", hidden: true },
];

function toolbar({ types, rows: found }) {
  const set = (name) => (event) => {
    wanted[name] = event.target.type === "checkbox" ? event.target.checked : event.target.value;
    changed();
  };
  const listed = !wanted.type || types.some(([type]) => type === wanted.type) ? types : [...types, [wanted.type, 0]];
  const narrowed = wanted.q || wanted.type || wanted.mode || wanted.waiting;
  return html`<form class="toolbar" role="search" @submit=${(event) => event.preventDefault()}>
    <label class="search"><span class="unseen">Search locks</span><svg viewBox="0 0 16 16" aria-hidden="true"><circle cx="7" cy="7" r="4.5" /><path d="m10.5 10.5 3.5 3.5" /></svg>
      <input type="search" id="search" placeholder="Search record, person or purpose" autocomplete="off" spellcheck="false" .value=${wanted.q} @input=${set("q")}><kbd aria-hidden="true">/</kbd></label>
    <label><span class="unseen">Type</span><select @change=${set("type")}><option value="" ?selected=${!wanted.type}>All types</option>${listed.map(([type, many]) => html`<option value=${type} ?selected=${type === wanted.type}>${type} (${count(many)})</option>`)}</select></label>
    <label><span class="unseen">Mode</span><select @change=${set("mode")}><option value="" ?selected=${!wanted.mode}>Any mode</option><option value="exclusive" ?selected=${wanted.mode === "exclusive"}>exclusive</option><option value="shared" ?selected=${wanted.mode === "shared"}>shared</option></select></label>
    <label class="check"><input type="checkbox" .checked=${wanted.waiting} @change=${set("waiting")}>Someone waits</label>
    ${isNarrow() ? html`<label><span class="unseen">Order</span><select @change=${(event) => sort.set(event.target.value, ["since", "waiting"].includes(event.target.value))}>
      ${COLUMNS.filter(({ hidden }) => !hidden).map(({ id, name }) => html`<option value=${id} ?selected=${id === sort.by}>by ${name.toLowerCase()}</option>`)}</select></label>` : nothing}
    <output class="found">${narrowed ? `${count(found.length)} of ${count(state.locks.size)}` : ""}</output>
  </form>`;
}

function nothingThere() {
  if (state.loading || state.live === "opening") return html`<div class="empty"><p>Reading…</p></div>`;
  if (state.locks.size) return empty("No lock fits", html`<button class="button" @click=${() => { Object.assign(wanted, NOTHING); changed(); }}>Show all</button>`);
  return empty("Nothing is locked", "Whoever opens a record shows up here at once.");
}

export function locksPage() {
  if (mayEverywhere("observe")) wantHistory("hour");
  const now = rows();
  return {
    title: "Locks",
    body: html`${tiles(now)}${toolbar(now)}
      ${now.rows.length
        ? html`<div class=${mayManageAny() ? "can-manage" : ""}>${longList({
            label: "Locks", rows: now.rows, key: (lock) => lock.key, height: isNarrow() ? 116 : 54, columns: COLUMNS, sort, row: line, seen: show })}</div>`
        : nothingThere()}`,
  };
}

addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.closest?.("input, textarea, select, dialog")) return;
  const input = document.getElementById("search");
  if (!input) return;
  event.preventDefault();
  input.focus();
});
