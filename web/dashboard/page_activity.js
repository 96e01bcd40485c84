// Plots of the last hour and day, and what the server stands on.
import { html, nothing } from "lit";
import { ref } from "lit/directives/ref.js";
import uPlot from "uplot";
import { get } from "./api.js";
import { count, duration, several, when } from "./format.js";
import { history, wantHistory } from "./history.js";
import { empty } from "./parts.js";
import { changed, failed, state } from "./store.js";

let span = "hour";
const dark = matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => { for (const it of plots.values()) it.plot?.destroy(), (it.plot = null); changed(); });

const PLOTS = [
  { id: "held", title: "Locks held", series: [["locks", "Locks", "--accent"], ["sessions", "Sessions", "--plot-2"]], gauge: true },
  { id: "refused", title: "Refusals and waits", series: [["refused", "Refused", "--bad"], ["requested", "Asked to release", "--plot-3"]] },
  { id: "done", title: "Granted and saved", series: [["granted", "Granted", "--accent"], ["saved", "Saved", "--plot-2"]] },
];
const plots = new Map(); // id → {plot, element}
const minuteTime = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const secondTime = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const dayTime = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function axes() {
  const common = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
  const times = (plot, ticks) => {
    const days = ticks.length > 1 && ticks.at(-1) - ticks[0] > 86400;
    return ticks.map((tick) => (days ? dayTime : ticks[1] - ticks[0] < 60 ? secondTime : minuteTime).format(tick * 1000));
  };
  return [{ ...common, space: 80, size: 30, values: times }, { ...common, size: 46, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 1e7],
    values: (plot, ticks) => ticks.map((tick) => (tick >= 10000 ? `${count(tick / 1000)}k` : count(tick))) }];
}

function make({ series, gauge }, element, data) {
  const lines = series.map(([, label, name]) => ({
    label, stroke: colour(name), width: 2, spanGaps: false, points: { show: false },
    fill: `${colour(name)}1c`, paths: gauge ? undefined : uPlot.paths.stepped({ align: -1 }),
  }));
  return new uPlot({ width: element.clientWidth, height: 210, cursor: { y: false, drag: { x: false, y: false } }, legend: { show: false },
    padding: [8, 8, 0, 0], scales: { x: { range: (plot, low, high) => [Math.min(low, high - (span === "hour" ? 600 : 7200)), high] }, y: { range: (plot, low, high) => [0, Math.max(4, Math.ceil((high ?? 0) * 1.1))] } }, series: [{}, ...lines], axes: axes() }, data, element);
}

function draw(kind, samples) {
  const it = plots.get(kind.id);
  if (!it?.element?.isConnected) return;
  const data = [samples.at, ...kind.series.map(([name]) => samples[name])];
  if (!it.plot || it.in !== it.element) {
    it.plot?.destroy();
    it.plot = make(kind, it.element, data);
    Object.assign(it, { in: it.element, data: samples, width: it.element.clientWidth });
  }
  if (it.data !== samples) it.plot.setData(data);
  it.data = samples;
  if (it.width !== it.element.clientWidth) it.plot.setSize({ width: (it.width = it.element.clientWidth), height: 210 });
}

const sum = (values) => values.reduce((all, value) => all + (value ?? 0), 0);
// What a plot says, in words, for whoever does not see it.
function summary({ series, gauge }, samples) {
  return series.map(([name, label]) => gauge
    ? `${label} ${count(samples[name].at(-1) ?? 0)} now, ${count(Math.max(0, ...samples[name]))} at most`
    : `${label} ${count(sum(samples[name]))}`).join(" · ");
}

function figure(kind, samples) {
  queueMicrotask(() => draw(kind, samples));
  const keep = ref((element) => element && plots.set(kind.id, { ...plots.get(kind.id), element }));
  return html`<figure class="card plot">
    <figcaption><h2>${kind.title}</h2><p class="legend">${kind.series.map(([, label], i) => html`<span class="key key-${kind.id}-${i}">${label}</span>`)}</p></figcaption>
    <div class="canvas" role="img" aria-label=${`${kind.title}: ${summary(kind, samples)}`} ${keep}></div>
    <p class="quiet">${summary(kind, samples)}</p>
  </figure>`;
}

// ---- the server ----

const server = { at: 0, says: null };
async function readServer() {
  if (Date.now() - server.at < 10000 || state.live === "gone") return;
  server.at = Date.now();
  try {
    server.says = await get("/readyz");
    changed();
  } catch (error) {
    failed(error);
  }
}

const GRADES = { disk: "Survives a crash", process: "Survives the program", none: "Survives nothing" };

export function serverFacts() {
  readServer();
  const it = server.says;
  if (!it) return nothing;
  return html`<section class="card facts" aria-labelledby="server-title"><h2 id="server-title">Server</h2><dl>
    <div><dt>Store</dt><dd>${it.store}</dd></div>
    <div><dt>Durability</dt><dd><span class="grade ${it.broken ? "bad" : it.grade}">${it.broken ? "Broken" : GRADES[it.grade] ?? it.grade}</span><span class="quiet">${it.text}</span></dd></div>
    <div><dt>Version</dt><dd>holdfast ${it.version}</dd></div>
    <div><dt>Running for</dt><dd>${duration(Date.now() - Date.parse(it.started))}<span class="quiet"> since ${when(Date.parse(it.started))}</span></dd></div>
    <div><dt>API</dt><dd><a href="/api">Routes</a> · <a href="/openapi.json">OpenAPI</a> · <a href="/metrics">Metrics</a></dd></div>
  </dl></section>`;
}

export function activityPage() {
  wantHistory(span);
  const samples = history(span);
  const choose = (name) => () => { span = name; changed(); };
  return {
    title: "Activity",
    aside: html`<div class="switch" role="group" aria-label="Span">${["hour", "day"].map((name) => html`<button aria-pressed=${span === name} @click=${choose(name)}>Last ${name}</button>`)}</div>`,
    body: html`${!samples ? html`<div class="empty"><p>Reading…</p></div>`
      : samples.at.length < 2 ? empty("Nothing to plot yet", `The server keeps a sample every ${several(samples.step_seconds, "second")}, since it started.`)
      : html`<div class="plots">${PLOTS.map((kind) => figure(kind, samples))}${serverFacts()}</div>`}${samples?.at.length < 2 ? serverFacts() : nothing}`,
  };
}
