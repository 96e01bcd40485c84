// The audit log: filtered, newest first, exported as CSV.
import { html, nothing } from "lit";
import { count, kindName, kinds } from "./format.js";
import { csv, Log, logTable, saveFile } from "./log.js";
import { say } from "./parts.js";
import { changed, failed, show, state } from "./store.js";

const wanted = { kind: "", user: "", what: "", since: "", until: "" };
let log = null;
let logOf = "";
let timer = null;
let exporting = null; // {count, stop}

// The fields as the server takes them; times of the reader's zone in UTC.
function query() {
  const { kind, user, what, since, until } = wanted;
  const utc = (local) => (local ? new Date(local).toISOString() : "");
  return { kind, user: user.trim(), [what.includes("/") ? "resource" : "type"]: what.trim(), since: utc(since), until: utc(until) };
}

const passes = (asked) => (event) => (!asked.kind || event.kind === asked.kind) && (!asked.user || [event.user, event.actor].includes(asked.user)) &&
  (!asked.resource || event.resource === asked.resource) && (!asked.type || event.resource?.startsWith(`${asked.type}/`)) &&
  (!asked.since || event.at >= Date.parse(asked.since)) && (!asked.until || event.at < Date.parse(asked.until));

function read() {
  const asked = query();
  log?.stop();
  logOf = JSON.stringify(asked);
  log = new Log(asked, passes(asked));
}

export function leaveAudit() {
  log?.stop();
  log = null;
  logOf = "";
}

const set = (name) => (event) => {
  wanted[name] = event.target.value;
  clearTimeout(timer);
  timer = setTimeout(() => { if (log) read(); }, event.type === "input" ? 350 : 0);
  changed();
};

async function exportCsv() {
  const mine = (exporting = { count: 0, stop: false });
  changed();
  try {
    const { text, whole } = await csv(query(), (many) => { mine.count = many; changed(); return !mine.stop; });
    saveFile(`holdfast-audit-${new Date().toISOString().slice(0, 10)}.csv`, "text/csv;charset=utf-8", text);
    say(`${count(mine.count)} events exported.${whole ? "" : " There are more: narrow the filters."}`);
  } catch (error) {
    say(error.message);
    failed(error);
  }
  exporting = null;
  changed();
}

export function auditPage() {
  show([]);
  if (!log || (state.live !== "gone" && logOf === "")) read();
  const field = (name, label, type, more = "") => html`<label class="field">${label}<input type=${type} .value=${wanted[name]} placeholder=${more} autocomplete="off" spellcheck="false" @input=${set(name)}></label>`;
  const any = Object.values(wanted).some(Boolean);
  const clear = () => { for (const name in wanted) wanted[name] = ""; read(); };
  return {
    title: "Audit log",
    aside: exporting ? html`<button class="button" @click=${() => { exporting.stop = true; }}>Stop at ${count(exporting.count)}</button>` : html`<button class="button" @click=${exportCsv}>Export CSV</button>`,
    body: html`<form class="filters" role="search" aria-label="Filter the log" @submit=${(event) => event.preventDefault()}>
        <label class="field">What<select @change=${set("kind")}><option value="">Anything</option>${kinds.map((kind) => html`<option value=${kind} ?selected=${kind === wanted.kind}>${kindName(kind)}</option>`)}</select></label>
        ${field("user", "Person", "text", "alice")}
        ${field("what", "Record or type", "text", "policy/12345")}
        ${field("since", "From", "datetime-local")}
        ${field("until", "Until", "datetime-local")}
        ${any ? html`<button type="button" class="button quiet" @click=${clear}>Clear</button>` : nothing}
      </form>
      ${log ? logTable(log, { label: "Audit log" }) : nothing}`,
  };
}
