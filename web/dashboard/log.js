// The audit log, or a part of it: read backwards from the newest, kept up by the stream, written out as CSV.
import { html, nothing } from "lit";
import { get } from "./api.js";
import { kindTag, personLink, resourceName, text, when } from "./format.js";
import { cell, empty } from "./parts.js";
import { changed, failed, onEvent } from "./store.js";

const PAGE = 50;

// query: what /v1/audit-log takes; passes: whether an event that comes in belongs to it
export class Log {
  constructor(query, passes = () => true) {
    Object.assign(this, { query, events: [], next: 0, loading: false, problem: "", newest: 0 });
    this.stop = onEvent((event) => {
      if (this.next === 0 || event.seq <= this.newest || !passes(event)) return;
      this.newest = event.seq;
      this.events = [event, ...this.events];
      changed();
    });
    this.more();
  }

  async more() {
    if (this.loading || this.next === null) return;
    this.loading = true;
    this.problem = "";
    changed();
    try {
      const { events, next } = await get("/v1/audit-log", { ...this.query, limit: PAGE, before_seq: this.next });
      this.events = [...this.events, ...events.map((event) => ({ ...event, at: Date.parse(event.at) }))];
      this.newest = Math.max(this.newest, this.events[0]?.seq ?? 0);
      this.next = next;
    } catch (error) {
      this.problem = error.message;
      failed(error);
    }
    this.loading = false;
    changed();
  }
}

const who = ({ user, actor }) => {
  const name = user ?? actor;
  return name === null ? nothing : html`<a class="person" href=${personLink(name)}>${text(name, "name")}</a>`;
};

const line = (event, without) => html`<div role="row" class="row">
  ${cell("at", "", when(event.at, { seconds: true }))}
  ${cell("kind", "", kindTag(event.kind))}
  ${without === "user" ? nothing : cell("person", "", who(event))}
  ${without === "resource" ? nothing : cell("resource", "", event.resource ? resourceName(event.resource) : nothing)}
  ${cell("reason", "", html`${event.reason ? html`<bdi>${event.reason}</bdi>` : nothing}${event.actor && event.actor !== event.user && event.user
    ? html`<span class="quiet"> by <a href=${personLink(event.actor)}><bdi>${event.actor}</bdi></a></span>` : nothing}`)}
</div>`;

// without: the column that is the same on every line
export function logTable(log, { label, without }) {
  const { events, loading, next, problem } = log;
  if (!events.length && !loading && next === null) return empty("Nothing here", "No event of the log fits.");
  const head = [["at", "Time"], ["kind", "What"], ["person", "Person", "user"], ["resource", "Record", "resource"], ["reason", "Why"]];
  return html`<div role="table" class="log ${without ? `no-${without}` : ""}" aria-label=${label}>
      <div role="rowgroup" class="list-head"><div role="row" class="row">${head.filter(([, , column]) => !column || column !== without)
        .map(([id, name]) => html`<div role="columnheader" class="cell c-${id}">${name}</div>`)}</div></div>
      <div role="rowgroup">${events.map((event) => line(event, without))}</div>
    </div>
    <div class="more">${problem ? html`<p class="problem">${problem}</p>` : nothing}
      ${next === null ? html`<p class="quiet">That is all there is.</p>`
        : html`<button class="button" ?disabled=${loading} @click=${() => log.more()}>${loading ? "Reading…" : events.length ? "Show older" : "Look further back"}</button>`}</div>`;
}

// ---- CSV ----

const COLUMNS = ["seq", "at", "kind", "resource", "user", "actor", "session", "fence", "reason"];
const CSV_MAX = 100000;

// Spreadsheets take what begins so for a formula.
function csvCell(value) {
  const written = value === null || value === undefined ? "" : String(value);
  const safe = /^[=+\-@\t\r]/.test(written) ? `'${written}` : written;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

// Calls progress with how many there are; it answers false to stop. The text and whether it is all there is.
export async function csv(query, progress) {
  const lines = [COLUMNS.join(",")];
  for (let next = 0; next !== null; ) {
    const page = await get("/v1/audit-log", { ...query, limit: 1000, before_seq: next });
    for (const event of page.events) lines.push(COLUMNS.map((name) => csvCell(event[name])).join(","));
    next = page.next;
    if (!progress(lines.length - 1) || (next !== null && lines.length > CSV_MAX)) return { text: lines.join("\r\n") + "\r\n", whole: false };
  }
  return { text: lines.join("\r\n") + "\r\n", whole: true };
}

export function saveFile(name, type, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(["\ufeff", content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
