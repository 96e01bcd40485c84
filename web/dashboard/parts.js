// What several pages are made of: a list that is drawn only where it is seen, the dialog of a forced release, messages that pass.
import { html, nothing } from "lit";
import { ref } from "lit/directives/ref.js";
import { repeat } from "lit/directives/repeat.js";
import { forceRelease } from "./api.js";
import { isolated, person, resourceName, several } from "./format.js";
import { changed, failed, may, touch } from "./store.js";

// ---- long lists ----

const narrow = matchMedia("(max-width: 719px)");
export const isNarrow = () => narrow.matches;
narrow.addEventListener("change", () => changed());
addEventListener("scroll", () => changed(), { passive: true });
addEventListener("resize", () => changed());

const places = new Map(); // label → the element of the rows

// Rows of one height, in the flow of the page: those near the screen are there, the others are room. `seen` is told which are on the screen.
export function longList({ label, rows, key, height, columns, sort, row, seen = () => {} }) {
  const place = places.get(label);
  const top = place?.isConnected ? -place.getBoundingClientRect().top : 0;
  const first = Math.max(0, Math.floor(top / height));
  const last = Math.min(rows.length, Math.ceil((top + innerHeight) / height));
  const from = Math.max(0, first - 6);
  const drawn = rows.slice(from, Math.max(last, Math.min(rows.length, 12)) + 6);
  seen(rows.slice(first, last));
  return html`<div role="table" class="list ${label.toLowerCase().replaceAll(" ", "-")}" aria-label=${label} aria-rowcount=${rows.length + 1}>
    <div role="rowgroup" class="list-head"><div role="row" aria-rowindex="1" class="row">${columns.map((column) => headCell(column, sort))}</div></div>
    <div role="rowgroup" class="list-body" .style=${`height:${rows.length * height}px`} ${ref((element) => element && places.set(label, element))}>
      ${repeat(drawn, key, (it, index) => html`<div role="row" class="row" aria-rowindex=${from + index + 2}
        .style=${`height:${height}px;transform:translateY(${(from + index) * height}px)`}>${row(it)}</div>`)}
    </div>
  </div>`;
}

function headCell({ id, name, sorts = true, hidden = false }, sort) {
  if (hidden) return html`<div role="columnheader" class="cell c-${id}"><span class="unseen">${name}</span></div>`;
  if (!sort || !sorts) return html`<div role="columnheader" class="cell c-${id}">${name}</div>`;
  const mine = sort.by === id;
  return html`<div role="columnheader" class="cell c-${id}" aria-sort=${mine ? (sort.down ? "descending" : "ascending") : "none"}>
    <button class="sort" @click=${() => sort.set(id, mine && !sort.down)}>${name}<span class="arrow" aria-hidden="true">${mine ? (sort.down ? "↓" : "↑") : ""}</span></button>
  </div>`;
}

export const cell = (id, label, content) => html`<div role="cell" class="cell c-${id}"><span class="label" aria-hidden="true">${label}</span>${content}</div>`;

export const empty = (title, more) => html`<div class="empty"><svg viewBox="0 0 48 48" aria-hidden="true"><path d="M15 22v-5a9 9 0 0 1 17-4" /><rect x="10" y="22" width="28" height="19" rx="5" /><path d="M24 29v5" /></svg>
  <p class="empty-title">${title}</p><p>${more}</p></div>`;

// ---- messages ----

let said = "";
let saidTimer = null;
export function say(sentence) {
  said = sentence;
  clearTimeout(saidTimer);
  saidTimer = setTimeout(() => { said = ""; changed(); }, 6000);
  changed();
}
export const messages = () => html`<div class="toasts" role="status" aria-live="polite">${said ? html`<p class="toast">${said}</p>` : nothing}</div>`;

// ---- forced release ----

let asking = null; // {locks, reason, busy, done, problem}

export function askRelease(locks) {
  asking = { locks, reason: "", busy: false, done: 0, problem: "" };
  changed({ atOnce: true });
}

export const releaseButton = (locks, words = "Release…", kind = "quiet") => {
  const mine = locks.filter(({ type }) => may("manage", type));
  if (!mine.length) return nothing;
  const whose = mine.length === 1 ? `Release ${isolated(mine[0].resource)}, held by ${isolated(mine[0].name)}` : null;
  return html`<button class="button ${kind}" aria-label=${whose ?? nothing} aria-haspopup="dialog" @click=${() => askRelease(mine)}>${words}</button>`;
};

// Closed before it is gone: so the focus goes back to where it was.
export function closeRelease() {
  document.querySelector("dialog[open]")?.close();
  asking = null;
  changed();
}

async function release(event) {
  event.preventDefault();
  const it = asking;
  it.reason = new FormData(event.target).get("reason").trim();
  if (!it.reason) {
    it.problem = "Say why: the person who loses the lock is told.";
    changed();
    event.target.querySelector("textarea").focus();
    return;
  }
  Object.assign(it, { busy: true, problem: "" });
  changed();
  try {
    const answers = await forceRelease(it.locks, it.reason, (done) => { it.done = done; changed(); });
    const wrong = answers.filter(({ status }) => status !== "ok" && status !== "not_held");
    touch(it.locks.map(({ resource }) => resource));
    if (wrong.length) throw new Error(`${several(wrong.length, "lock")} could not be released: ${wrong[0].message}`);
    const gone = answers.filter(({ status }) => status === "not_held").length;
    closeRelease();
    say(`${several(it.locks.length - gone, "lock")} released.${gone ? ` ${several(gone, "lock")} had been given back meanwhile.` : ""}`);
  } catch (error) {
    Object.assign(it, { busy: false, problem: error.message });
    if (error.status === 401) failed(error);
    changed();
  }
}

// The event comes a moment after the closing: the dialog may have been opened again since.
const releaseClosed = ({ target }) => target.open || closeRelease();

export function releaseDialog() {
  if (!asking) return nothing;
  const { locks, busy, done, problem } = asking;
  const one = locks.length === 1 ? locks[0] : null;
  const people = new Set(locks.map(({ user }) => user));
  return html`<dialog class="dialog" aria-labelledby="release-title" @close=${releaseClosed} @cancel=${(event) => busy && event.preventDefault()}>
    <form @submit=${release}>
      <h2 id="release-title">${one ? "Release this lock?" : `Release ${several(locks.length, "lock")}?`}</h2>
      <div class="dialog-what">${one
        ? html`${person(one.name, one.user)}<p>holds ${resourceName(one.resource)}${one.purpose ? html` for <bdi>${one.purpose}</bdi>` : nothing}</p>`
        : html`${people.size === 1 ? person(locks[0].name, locks[0].user) : html`<p>${several(people.size, "person", "people")}</p>`}
          <ul class="dialog-list">${locks.slice(0, 5).map(({ resource }) => html`<li>${resourceName(resource)}</li>`)}${locks.length > 5 ? html`<li class="quiet">and ${several(locks.length - 5, "more", "more")}</li>` : nothing}</ul>`}</div>
      <p class="quiet">What has not been saved may be lost. The reason is told to whoever holds it, and kept in the audit log.</p>
      <label class="field">Reason<textarea name="reason" rows="2" maxlength="255" required ?disabled=${busy} autofocus placeholder="Left for the day"></textarea></label>
      <p class="problem" role="alert">${problem}</p>
      <div class="dialog-buttons">
        <button type="button" class="button" ?disabled=${busy} @click=${closeRelease}>Cancel</button>
        <button class="button danger" ?disabled=${busy}>${busy ? `Releasing ${done} of ${locks.length}…` : one ? "Release" : `Release ${locks.length}`}</button>
      </div>
    </form>
  </dialog>`;
}
