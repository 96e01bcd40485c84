// The dashboard: what is at the address is drawn anew, at most once a frame, whenever something changes.
import "./language.js";
import { html, nothing, render, svg } from "lit";
import { isolated, text } from "./format.js";
import { closeRelease, messages, releaseDialog } from "./parts.js";
import { activityPage } from "./page_activity.js";
import { auditPage, leaveAudit } from "./page_audit.js";
import { locksPage } from "./page_locks.js";
import { leavePages, personPage, resourcePage, sessionsPage } from "./page_people.js";
import { changed, mayEverywhere, onChange, show, signIn, signOut, start, state } from "./store.js";

const root = document.getElementById("app");

// ---- addresses ----

const PAGES = [
  { path: "", name: "Locks", page: locksPage, icon: svg`<path d="M6 9V7a4 4 0 0 1 8 0v2" /><rect x="4" y="9" width="12" height="8" rx="2" />` },
  { path: "activity", name: "Activity", page: activityPage, all: true, icon: svg`<path d="M3 13l4-5 3.5 3L17 4" /><path d="M3 17h14" />` },
  { path: "sessions", name: "Sessions", page: sessionsPage, all: true, icon: svg`<circle cx="10" cy="7" r="3" /><path d="M4 17c.6-3.4 2.9-5 6-5s5.4 1.6 6 5" />` },
  { path: "audit", name: "Audit log", page: auditPage, all: true, icon: svg`<path d="M6 5h10M6 10h10M6 15h10" /><path d="M3 5h.01M3 10h.01M3 15h.01" />` },
];

function address() {
  const [, page = "", name = ""] = location.hash.split("/");
  try {
    return { page, name: decodeURIComponent(name) };
  } catch {
    return { page, name };
  }
}

function pageAt({ page, name }) {
  if (page === "person" && name) return personPage(name);
  if (page === "resource" && name.includes("/")) return resourcePage(name);
  const found = PAGES.find(({ path, all }) => path === page && (!all || mayEverywhere("observe")));
  if (found) return found.page();
  return { title: "Not found", body: html`<p>There is no such page. <a href="#/">Show the locks</a></p>` };
}

// ---- around the pages ----

const LIVE = { off: "", opening: "Connecting…", live: "Live", gone: "Not connected" };
const liveSign = () => html`<span class="live ${state.live}" role="status"><span class="dot" aria-hidden="true"></span>${LIVE[state.live]}</span>`;

const icon = (paths) => html`<svg viewBox="0 0 20 20" aria-hidden="true">${paths}</svg>`;
const logo = html`<a class="logo" href="#/"><img src="/icon.svg" alt="" width="26" height="26">holdfast</a>`;

function navigation(page) {
  const current = (path) => path === page || (path === "" && ["person", "resource"].includes(page));
  return html`<nav aria-label="Pages">${PAGES.filter(({ all }) => !all || mayEverywhere("observe")).map(({ path, name, icon: paths }) =>
    html`<a href="#/${path}" aria-current=${current(path) ? "page" : nothing}>${icon(paths)}<span>${name}</span></a>`)}</nav>`;
}

const whoami = () => html`<div class="me"><span class="me-name">${text(state.caller.name, "name")}<span class="roles">${state.caller.roles}</span></span>
  <button class="button quiet" @click=${() => signOut().catch(() => changed())}>Sign out</button></div>`;

function shell() {
  const at = address();
  const { title, heading, aside, body } = pageAt(at);
  const nested = ["person", "resource"].includes(at.page);
  document.title = `${nested ? isolated(title) : title} · holdfast`;
  return html`<a class="skip" href="#main" @click=${(event) => { event.preventDefault(); document.getElementById("title").focus(); }}>Skip to the content</a>
    <header class="side">${logo}${navigation(at.page)}${whoami()}</header>
    <main id="main">
      ${state.live === "gone" ? html`<p class="banner bad" role="alert">The server can't be reached. What is shown may be old; trying again…</p>` : nothing}
      ${state.problem ? html`<p class="banner warn" role="alert">${state.problem}</p>` : nothing}
      <div class="page-head">${nested ? html`<a class="back" href="#/">Locks</a>` : nothing}<h1 id="title" tabindex="-1">${heading ?? title}</h1>${liveSign()}<div class="aside">${aside ?? nothing}</div></div>
      ${body}
    </main>${releaseDialog()}${messages()}`;
}

// ---- signing in ----

let trying = { busy: false, problem: "" };
async function trySignIn(event) {
  event.preventDefault();
  const form = event.target;
  trying = { busy: true, problem: "" };
  changed();
  try {
    const signed = signIn(new FormData(form).get("token").trim());
    form.reset();
    await signed;
    trying = { busy: false, problem: "" };
  } catch (error) {
    trying = { busy: false, problem: error.status === 401 ? "No such token, or it has been revoked or has expired." : error.message };
    form.querySelector("input")?.focus();
  }
  changed();
}

function signInPage() {
  document.title = "Sign in · holdfast";
  const problem = trying.problem || state.problem;
  return html`<main class="sign-in"><form class="card" @submit=${trySignIn}>
    <img src="/icon.svg" alt="" width="44" height="44">
    <h1 id="title" tabindex="-1">Sign in to holdfast</h1>
    <p class="quiet">See who holds which record, since when and until when.</p>
    <label class="field">Token<input name="token" type="password" autocomplete="current-password" required autofocus spellcheck="false" aria-describedby="sign-in-problem" aria-invalid=${problem ? "true" : "false"}></label>
    <p class="problem" id="sign-in-problem" role="alert">${problem}</p>
    <button class="button primary" ?disabled=${trying.busy}>${trying.busy ? "Signing in…" : "Sign in"}</button>
    <details><summary>Where do I get a token?</summary>
      <p>The first start of the server leaves one in the file <code>admin-token</code> of its data directory. Make one for looking and releasing:</p>
      <pre>holdfast token create --name office \
  --role observe --role manage</pre></details>
    <p class="quiet"><a href="/api">The API of this server</a></p>
  </form></main>`;
}

function starting() {
  return html`<main class="sign-in"><h1 class="unseen" id="title" tabindex="-1">holdfast</h1><p class="quiet" role="status">${state.problem || "One moment…"}</p></main>`;
}

// ---- drawing ----

let due = false;
function draw() {
  due = false;
  render(state.caller === undefined ? starting() : state.caller === null ? signInPage() : shell(), root);
  document.querySelector("dialog:not([open])")?.showModal();
}
onChange((atOnce) => {
  if (atOnce) return draw();
  if (due) return;
  due = true;
  requestAnimationFrame(draw);
});

addEventListener("hashchange", () => {
  const { page } = address();
  closeRelease();
  if (page !== "audit") leaveAudit();
  if (!["person", "resource"].includes(page)) leavePages();
  show([]);
  scrollTo(0, 0);
  draw();
  document.getElementById("title")?.focus({ preventScroll: true });
});

start();
