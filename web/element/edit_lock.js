// SPDX-License-Identifier: MIT
// <edit-lock>: who edits a record, around its form. docs/edit-lock.md tells what it does. Invariants:
//  1. The form can be edited only in the states held and editing, and only with fields that were read after the grant.
//  2. What was typed leaves the form only by the person's own choice, or when the newest state replaces what was kept as a draft.
//  3. An answer to something asked before the last start or end (#run) changes nothing.
import { Cards } from "./cards.js";
import { choices } from "./choices.js";
import look from "./edit_lock.css";
import { Fields } from "./fields.js";
import { ask, attempt, cut, h, isOpenHere, pathOf, sheet, textOf, undecided } from "./helpers.js";
import { compare, same } from "./merge.js";
import { TEXTS } from "./texts.js";
import tones from "./tones.css";
import { Work } from "./work.js";

const [LOOK, TONES] = [look, tones].map(sheet);
const DRAFT = "holdfast-draft ";
const OPEN = "holdfast-open ";
const RENEWED = "holdfast-renewed ";
const STATES = { exclusive: "held", shared: "reading" };
const WAITING = ["refused", "freed"];

// Passwords, numbers of cards and one-time codes are never kept, nor what the page excludes; files are no fields here.
const keepable = (control) =>
  control.type !== "password" && !/cc-|one-time|password/.test(control.autocomplete) && !control.closest("[data-no-draft]");

export class EditLock extends HTMLElement {
  static observedAttributes = ["resource"];
  static texts = TEXTS;

  #work;
  #follower;
  #run = 0; // grows with every start and end: answers to what was asked before are dropped
  #lock; // what we hold
  #wanted; // the mode that was asked for last
  #holders = []; // who stands in the way
  #requests = [];
  #base = { fields: {} }; // the record as it was loaded, with its version
  #fields = new Fields(this);
  #cards;
  #seen = 0; // when the person was here last
  #away;
  #beating = false;
  #failing = 0; // since when beats are not answered
  #tried = 0; // when something was tried last
  #looks = 0;
  #lookTimer;
  #expiry;
  #keepTimer;
  #kept; // until when the draft is
  #saving = false;
  #submitted = false;
  #sent; // the fields that are being saved
  #ending; // of all listeners

  constructor() {
    super();
    this.attachShadow({ mode: "open" }).adoptedStyleSheets = [LOOK, TONES];
    this.#cards = new Cards(this);
    this.shadowRoot.append(h("slot", {}));
  }

  // ---- for scripts ----

  get state() {
    return this.getAttribute("state");
  }

  get session() {
    return this.#work?.id;
  }

  get fence() {
    return this.#lock?.fence;
  }

  get version() {
    return this.#base.version;
  }

  // May the form be edited now?
  get editable() {
    return this.state === "held" || this.state === "editing";
  }

  // The same, for fields: they are read-only while they are sent.
  get writable() {
    return this.editable && !this.#saving;
  }

  // Has something been typed that is not saved?
  get dirty() {
    return this.editable && Object.keys(this.#changes()).length > 0;
  }

  // Takes the record, or tries again.
  acquire() {
    return this.#start();
  }

  // Gives the record back. What was typed stays as a draft; with discard it is dropped, and the record is shown as it was.
  release({ discard } = {}) {
    this.#keep();
    if (discard) this.#fields.fill(this.#base.fields, this.#drop());
    this.#over("released", "quiet", { lines: this.#kept ? ["kept"] : [] });
  }

  // The record was saved, by the element or by the page itself. What was typed after it was sent stays a draft.
  saved(version = this.version) {
    this.#drop();
    this.#cards.clear("draft");
    this.#base = { version, fields: this.#sent ?? this.#fields.values() };
    this.#sent = undefined;
    this.#keep();
    this.#emit("saved", { version });
    if (this.#lock) return this.#over("saved", "good", { lines: this.#kept ? ["kept"] : [] });
    this.#fields.carry();
    return this.#cards.note("saved", "good", "saved", { values: { at: Date.now() }, actions: [["ok"]] });
  }

  // A save was refused because the record is another by now: shows mine, theirs and merged. problem: what the server said.
  async stale({ present } = {}) {
    const theirs = await this.#record();
    if (!theirs) return this.#problem("noRecord");
    const mine = this.#fields.values();
    this.#cards.clear("changed");
    this.#emit("stale", { base: this.#base, mine, theirs, present });
    return this.#choose(this.#base.fields, mine, theirs, "stale", { name: present?.name || present?.user || textOf(this, "someone") });
  }

  // ---- life ----

  get #mode() {
    return this.getAttribute("mode") ?? "exclusive";
  }

  get #resource() {
    return this.getAttribute("resource");
  }

  connectedCallback() {
    if (this.#ending) return; // moved by a framework
    this.#ending = new AbortController();
    const on = (target, events, call, capture) =>
      events.split(" ").forEach((event) => target.addEventListener(event, call, { capture, signal: this.#ending.signal }));
    on(this, "submit", (event) => this.#guard(event), true);
    on(this, "submit", (event) => this.#submit(event));
    on(this, "formdata", ({ target, formData }) => target === this.#fields.form && this.#fields.send(formData));
    on(this, "input change", () => (this.#keepTimer ??= setTimeout(() => this.#keep(), 300)));
    on(this, "click", ({ target }) => target.closest("[data-holdfast=cancel]") && this.release({ discard: true }));
    on(document, "visibilitychange resume", () => this.#comes());
    on(window, "online", () => this.#comes());
    on(window, "pagehide", () => this.#goes());
    on(window, "pageshow", ({ persisted }) => persisted && this.#start());
    const observer = new MutationObserver(() => this.#fields.adopt());
    observer.observe(this, { childList: true, subtree: true });
    const timer = setInterval(() => this.#tick(), 1000);
    this.#ending.signal.onabort = () => (observer.disconnect(), clearInterval(timer));
    this.#start();
  }

  disconnectedCallback() {
    queueMicrotask(() => {
      if (this.isConnected) return;
      this.#keep();
      this.#close();
      this.#ending.abort();
      this.#ending = undefined;
    });
  }

  attributeChangedCallback(name, before) {
    if (before && this.#ending) this.#start();
  }

  // ---- begin ----

  async #start() {
    this.#close();
    const run = this.#run;
    this.#cards.clearAll();
    this.#state("connecting", "quiet");
    this.#fields.adopt();
    const optimistic = this.#mode === "optimistic";
    if (!this.getAttribute("session-src") || !this.getAttribute(optimistic ? "resource" : "record-src"))
      return this.#fail("failed", "edit-lock needs resource, session-src and record-src");
    this.#sweep();
    const work = new Work(this);
    const answer = await work.open(this.#resource);
    if (run !== this.#run) return work.close();
    if (!work.id) {
      if (undecided(answer)) return this.#unavailable();
      return answer.status === 200 || answer.status === 401 ? this.#fail("signedOut") : this.#fail("failed", answer.data.message);
    }
    this.#work = work;
    this.#seen = Date.now();
    this.#failing = 0;
    this.#follower = {
      work,
      resources: () => [this.#resource],
      hear: (event) => this.#hear(event),
      look: () => this.#look(),
      tick: () => this.#tick(),
      give: (session) => this.#handOver(session, "moved"),
    };
    work.hub.add(this.#follower);
    return optimistic ? this.#granted() : this.#acquire(this.#mode);
  }

  #unavailable() {
    this.#tried = Date.now();
    this.#state("unavailable", "bad", { lines: ["unavailableMore"], actions: [["retry", () => this.#start()]] });
  }

  // message: what a server said
  #fail(title, text) {
    const lines = text ? ["quote"] : title === "signedOut" ? ["signedOutMore"] : [];
    this.#state("failed", "bad", { title, values: { text }, lines, actions: [["retry", () => this.#start()]] });
  }

  async #acquire(mode = this.#wanted) {
    const run = this.#run;
    this.#wanted = mode;
    const purpose = cut(this.getAttribute("purpose") ?? "");
    const answer = await this.#work.api("PUT", this.#path, { mode, ...(purpose && { purpose }) });
    if (run !== this.#run) return undefined;
    const { code, holders, locks, message } = answer.data;
    if (locks) return this.#granted(locks[0]);
    if (code === "locked" && (await this.#closeOlder(holders))) return run === this.#run && this.#acquire(mode);
    if (code === "locked") return this.#refused(holders.filter(({ session }) => session !== this.session));
    if (undecided(answer)) return this.#unavailable();
    return this.#fail("failed", message);
  }

  get #path() {
    return `/v1/locks/${pathOf(this.#resource)}`;
  }

  // Ours; but the form is opened only with what is read from now on. from: who handed it over
  async #granted(lock, from) {
    const run = this.#run;
    this.#lock = lock;
    this.#holders = [];
    this.#remember();
    clearTimeout(this.#expiry);
    this.#cards.clear("asked", "declined");
    const loaded = await this.#load();
    if (run !== this.#run || lock !== this.#lock) return undefined;
    if (!loaded) return this.#state("failed", "bad", { title: "noRecord", actions: [["retry", () => this.#granted(lock, from)]] });
    const asked = this.shadowRoot.activeElement;
    this.#open(from);
    this.#emit("held", { mode: lock?.mode ?? "optimistic", fence: lock?.fence, version: this.version, session: this.session });
    if (this.editable) this.#offerDraft();
    if (asked) this.#fields.focus();
    return this.#look();
  }

  #open(from) {
    const state = this.#lock ? STATES[this.#lock.mode] : "editing";
    this.#state(state, from ? "good" : "quiet", {
      title: from ? "handed" : state === "editing" ? "held" : state,
      values: { name: from, since: this.#lock?.since },
      lines: [`${state}More`],
      actions: [state === "reading" ? ["edit", () => this.#acquire("exclusive")] : ["stop", () => this.release()]],
    });
  }

  // The newest fields, into the form. An optimistic page that says its version is as new as that says.
  async #load() {
    const version = this.getAttribute("version");
    const given = !this.#lock && version && !this.version;
    const record = given ? { version: Number(version), fields: {} } : await this.#record();
    if (!record) return false;
    if (this.#fields.outdated(record.fields)) await this.#renewPage(record.version);
    this.#fields.fill(record.fields);
    this.#base = { version: record.version, fields: this.#fields.values() };
    this.#fields.carry();
    return true;
  }

  async #record() {
    const { data } = await this.#work.own(this.getAttribute("record-src"), "GET");
    return data.fields && { version: data.version ?? 0, fields: this.#fields.adapt(data.fields) };
  }

  // Loads the page again, once for a version, so that the application renders what the form can't be given: better than an editor that shows,
  // and would save, an older text. Not a page that is the answer to a form: its text is in no record yet.
  async #renewPage(version) {
    const sent = attempt(() => JSON.parse(localStorage.getItem(this.#draft)))?.submitted;
    const [key, now] = [RENEWED + this.#resource, `${version}`];
    if (sent || !attempt(() => sessionStorage.getItem(key) !== now && (sessionStorage.setItem(key, now), true))) return;
    location.reload();
    await new Promise((resolve) => setTimeout(resolve, 5000)); // it was not to be
  }

  // ---- others have it ----

  async #refused(holders) {
    const run = this.#run;
    const [{ session, user, name, since, expires: until, purpose, mode }, ...rest] = holders;
    const here = user === (this.#work.user ?? user) && (await isOpenHere(session)); // two people may share a browser
    if (run !== this.#run) return;
    const before = this.#holders[0]?.session;
    if (before !== session) this.#cards.clear("asked", "declined");
    this.#holders = holders;
    this.#lock = undefined;
    const own = here ? "Own" : user === this.#work.user ? "Elsewhere" : mode === "shared" ? "Reading" : "";
    this.#state("refused", "wait", {
      title: `refused${own}`,
      values: { name, since, until, purpose },
      lines: [purpose ? "purpose" : "since", ...rest.map((other) => ["also", other]), ...(here ? [] : ["until"])],
      actions: [
        here ? ["here", () => this.#work.hub.give(session, this.session)] : ["ask", (text) => this.#ask(text)],
        ["retry", () => this.#acquire()],
        ...(this.#work.mayTakeOver && this.getAttribute("take-over-src") ? [["takeOver", (text) => this.#takeOver(text)]] : []),
      ],
    });
    if (before !== session) this.#emit("refused", { holders });
    // Nobody is told when a session dies by itself: whoever waits looks then.
    clearTimeout(this.#expiry);
    const ends = Math.min(...holders.map(({ expires }) => Date.parse(expires))) - this.#work.skew - Date.now();
    this.#expiry = setTimeout(() => this.#look(), Math.min(Math.max(ends, 0) + 300, 1e9));
  }

  #freed() {
    clearTimeout(this.#expiry);
    this.#cards.clear("asked", "declined");
    this.#holders = [];
    this.#state("freed", "good", { lines: ["freedMore"], actions: [["enter", () => this.#acquire()]] });
    this.#emit("freed");
  }

  async #ask(message) {
    const { status } = await this.#work.api("POST", `${this.#path}/request`, { message: cut(message) });
    this.#cards.clear("declined");
    if (status === 200) this.#cards.note("asked", "info", "asked", { values: { name: this.#holders[0]?.name, at: Date.now() }, lines: ["askedMore"] });
    else this.#look();
  }

  async #takeOver(reason) {
    const fence = this.#holders.length === 1 ? this.#holders[0].fence : undefined;
    const { status, data } = await this.#work.own(this.getAttribute("take-over-src"), "POST", { resource: this.#resource, reason: cut(reason), fence });
    if (status === 200) this.#acquire();
    else this.#problem("failed", data.message);
  }

  // ---- what happens meanwhile ----

  #hear({ kind, session, reason }) {
    const mine = session === this.session;
    if (kind === "declined" && mine && this.state === "refused") {
      const { name } = this.#holders[0];
      this.#cards.clear("asked");
      this.#cards.note("declined", "wait", "declined", { values: { name, text: reason }, lines: reason ? ["quote"] : [], actions: [["ok"]] });
      this.#emit("declined", { name, message: reason });
    } else if (!mine || !/^(saved|deleted)$/.test(kind)) this.#look();
  }

  // Reads who has it, or without a lock whether it was saved; once for all that happens in a moment.
  #look() {
    this.#lookTimer ??= setTimeout(async () => {
      this.#lookTimer = undefined;
      if (!this.session) return;
      const [run, look] = [this.#run, ++this.#looks];
      const editing = this.state === "editing";
      const answer = await this.#work.api("GET", editing ? `/v1/versions/${pathOf(this.#resource)}` : this.#path);
      if (run !== this.#run || look !== this.#looks) return;
      if ([401, 403].includes(answer.status) || answer.data.code === "expired") this.#beat(); // the session has ended
      else if (editing) this.#seenVersion(answer.data.present ?? answer.data);
      else if (answer.status === 200) this.#seenHolders(answer.data);
    }, 30);
  }

  #seenHolders({ holders, requests }) {
    const mine = holders.find(({ session }) => session === this.session);
    const others = holders.filter(({ session, mode }) => session !== this.session && (this.#wanted !== "shared" || mode === "exclusive"));
    if (this.#lock && !mine) this.#beat(); // tells how it went
    else if (this.#lock) {
      this.#lock.expires = mine.expires;
      this.#asked(requests);
    } else if (WAITING.includes(this.state)) {
      if (mine?.mode === this.#wanted) this.#granted(mine, this.#holders[0]?.name);
      else if (others.length) this.#refused(others);
      else if (this.state !== "freed") this.#freed();
    }
  }

  // Who asks for what we hold.
  #asked(requests) {
    const now = requests.filter(({ resource, session }) => resource === this.#resource && session !== this.session);
    const fresh = now.filter(({ session, at }) => !this.#requests.some((old) => old.session === session && old.at === at));
    this.#cards.clear(...this.#requests.map(({ session }) => session).filter((old) => !now.some(({ session }) => session === old)));
    this.#requests = now;
    for (const { session, name, message, at } of now)
      this.#cards.note(session, "info", "request", {
        values: { name, text: message, since: at },
        lines: [message ? "quote" : "requestMore"],
        actions: [
          ["handOver", () => this.#handOver(session, "handedOver", name)],
          ["release", () => this.release()],
          ["decline", (text) => this.#decline(session, text)],
        ],
      });
    if (fresh.length) this.#emit("requested", { requests: now });
  }

  async #handOver(session, why, by) {
    if (!this.#lock) return;
    this.#keep();
    const { status } = await this.#work.api("POST", `${this.#path}/hand-over`, { session }, { "Holdfast-Fence": this.fence });
    if (status === 200 || status === 204) this.#lost(why, { by });
    else this.#look();
  }

  async #decline(session, message) {
    await this.#work.api("POST", `${this.#path}/decline`, { session, message: cut(message) });
    this.#look();
  }

  // ---- beats ----

  // Every second, and when something shows that time has passed.
  #tick() {
    const now = Date.now();
    const work = this.#work;
    if (!work) {
      if (this.state === "unavailable" && now > this.#tried + 5000) this.#start();
      return;
    }
    work.hub.tick();
    if (!document.hidden) {
      if (now - this.#seen > Math.max(work.idle, 20e3)) this.#away = { from: this.#seen, to: now };
      this.#seen = now;
    }
    if (now - Math.max(work.beaten, this.#tried) >= (this.#failing ? 2000 : work.idle / 3)) this.#beat();
    this.#warn(now);
  }

  async #beat() {
    if (this.#beating || !this.session) return;
    this.#beating = true;
    this.#tried = Date.now();
    const run = this.#run;
    const answer = await this.#work.beat();
    this.#beating = false;
    if (run !== this.#run) return;
    if (answer.status === 200) this.#beaten(answer.data);
    else if (undecided(answer)) this.#warn((this.#failing ||= Date.now()));
    else if (this.state === "editing") this.#reopen();
    else this.#lost("expired");
  }

  // Without a lock nothing is lost with a session: the work goes on with another.
  async #reopen() {
    const run = this.#run;
    const work = new Work(this);
    const answer = await work.open(this.#resource);
    if (run !== this.#run) return work.close();
    if (!work.id) return undecided(answer) ? undefined : this.#lost("ended");
    this.#work.leave?.();
    this.#work = this.#follower.work = work;
    work.hub.changed();
    this.#fields.carry();
    return this.#beat();
  }

  #beaten({ locks, lost, requests }) {
    this.#failing = 0;
    this.#cards.clear("offline");
    const away = this.#away;
    this.#away = undefined;
    if (!this.#lock) return this.#look();
    if (!locks) {
      const { why = "ended", by, reason } = lost.find(({ resource }) => resource === this.#resource) ?? {};
      return this.#lost(why, { by: by ?? undefined, reason });
    }
    if (this.state === "silent") this.#open();
    if (away) this.#cards.note("back", "good", "back", { values: away, lines: ["backMore"], actions: [["ok"]] });
    return this.#asked(requests);
  }

  // When nothing is known of the lock any more, and before it ends.
  #warn(now) {
    const { beaten, idle, skew } = this.#work;
    const until = beaten + idle;
    if (this.#lock && this.state !== "silent" && now > until) {
      this.#keep();
      this.#cards.clear("offline");
      this.#state("silent", "bad", { lines: ["silentMore", this.#kept ? "kept" : "still"] });
    } else if (this.#failing && this.state !== "silent")
      this.#cards.note("offline", "wait", "offline", { values: { at: this.#failing, until }, lines: this.#lock ? ["offlineMore"] : [] });
    if (!this.#lock) return;
    const ends = Date.parse(this.#lock.expires) - skew;
    if (now > ends) this.#look();
    // Only a bound of the lock's own comes nearer; that of the session is moved by beats.
    if (ends < until - 2000 && ends < now + 60e3 && this.state !== "silent")
      this.#cards.note("ending", "wait", "ending", { values: { until: ends }, lines: ["endingMore"], actions: [["longer", () => this.#renew()]] });
    else this.#cards.clear("ending");
  }

  async #renew() {
    const { data } = await this.#work.api("PATCH", this.#path, {}, { "Holdfast-Fence": this.fence });
    if (data.expires) this.#lock.expires = data.expires;
    else this.#problem("failed", data.message);
  }

  // The person or the network is back, or goes.
  #comes() {
    if (document.hidden) this.#keep();
    this.#tried = 0;
    this.#tick();
    this.#beat();
    this.#work?.hub.tick(true);
  }

  // ---- ends ----

  // tone: how bad it is
  #over(state, tone, { title = state, values, lines } = {}) {
    this.#close();
    this.#cards.clearAll();
    this.#state(state, tone, { title, values: { at: Date.now(), until: this.#kept, ...values }, lines, actions: [["again", () => this.#start()]] });
  }

  #lost(why, { by, reason } = {}) {
    const had = this.#lock || this.editable || this.state === "silent";
    this.#keep();
    this.#over("lost", by || why === "moved" ? "wait" : "bad", {
      title: why === "expired" && by ? "expiredBy" : why,
      values: { name: by, text: reason },
      lines: [...(reason ? ["quote"] : []), ...(had ? [this.#kept ? "kept" : "still"] : [])],
    });
    this.#emit("lost", { why, by, reason });
  }

  // going: the page goes
  #close(going) {
    const work = this.#work;
    clearTimeout(this.#expiry);
    this.#work = this.#lock = undefined;
    this.#requests = [];
    this.#holders = [];
    this.#submitted = false;
    this.#sent = undefined;
    this.#run++;
    work?.close(going);
    work?.hub.remove(this.#follower);
  }

  #goes() {
    if (!this.session) return;
    this.#keep();
    this.#remember(true);
    this.#close(true);
  }

  // The session that has the record, so that a reload, or a tab opened after a crash, is not in its own way.
  #remember(left) {
    const it = JSON.stringify({ login: this.#work.login, left, until: Date.now() + 864e5 });
    attempt(() => this.#lock && localStorage.setItem(OPEN + this.#resource, it));
  }

  // Closes a session of this browser whose page is gone. False: there is none.
  async #closeOlder(holders) {
    const { login, left } = attempt(() => JSON.parse(localStorage.getItem(OPEN + this.#resource))) ?? {};
    const older = holders.find(({ session }) => login?.startsWith(session));
    if (!older || !(left || (await isOpenHere(older.session)) === false)) return false;
    attempt(() => localStorage.removeItem(OPEN + this.#resource));
    const { status } = await ask(`${this.#work.server}/v1/sessions/${older.session}`, "DELETE", undefined, { "Holdfast-Session": login });
    return status > 0;
  }

  // ---- saving ----

  #guard(event) {
    if (event.target !== this.#fields.form || (this.editable && !this.#saving && !this.#cards.has("merge"))) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    this.#cards.announce(this.#cards.has("merge") ? "merge" : "state");
  }

  #submit(event) {
    if (event.target !== this.#fields.form) return;
    this.#sent = this.#fields.values();
    if (event.defaultPrevented) return;
    if (this.getAttribute("save") === "fetch") {
      event.preventDefault();
      this.#save(event.submitter);
      return;
    }
    this.#submitted = true;
    this.#keep();
    // A framework may prevent it after us.
    setTimeout(() => (this.#submitted &&= !event.defaultPrevented));
  }

  // The form is read-only until the answer has come.
  async #save(submitter) {
    const run = this.#run;
    const form = this.#fields.form;
    const data = new FormData(form, submitter);
    const focused = document.activeElement;
    this.#keep();
    this.#saving = true;
    this.#fields.freeze();
    this.#cards.clear("problem");
    const answer = await fetch(submitter?.getAttribute("formaction") ?? form.getAttribute("action") ?? "", {
      method: "POST",
      body: form.enctype === "multipart/form-data" ? data : new URLSearchParams(data),
      headers: this.#work.csrf,
    }).catch(() => ({}));
    const { version, message, code, holders, present } = (await answer.json?.().catch(() => 0)) || {};
    this.#saving = false;
    if (answer.redirected) location.assign(answer.url);
    this.#fields.freeze();
    if (run !== this.#run) return;
    if (answer.ok) this.saved(version);
    else if (answer.status === 412 || code === "stale") await this.stale({ present });
    else if (answer.status === 409 || answer.status === 423) this.#lost("expired", { by: holders?.[0]?.name });
    else this.#problem("notSaved", message);
    if (document.activeElement === document.body) (focused.disabled ? this.#cards : focused).focus();
  }

  // ---- someone else has saved ----

  // While someone edits without a lock.
  #seenVersion(present) {
    const { version, gone, saved: at, session } = present;
    if (this.state !== "editing" || !(version > this.version) || session === this.session || this.#cards.has("merge")) return;
    const first = !this.#cards.has("changed");
    this.#cards.note("changed", "wait", gone ? "deleted" : "changed", {
      values: { name: present.name || present.user || textOf(this, "someone"), at },
      lines: ["changedMore"],
      actions: gone ? [] : [["compare", () => this.stale({ present })]],
    });
    if (first) this.#emit("stale", { base: this.#base, present });
  }

  // Mine, theirs and merged, field by field; what is chosen goes into the form, on top of theirs.
  #choose(base, mine, theirs, title, values) {
    const rows = compare(base, mine, theirs.fields);
    const done = async (chosen) => {
      this.#cards.clear("merge", "draft");
      // A page that can't show it is loaded again, with the newest record; what was chosen besides is its draft.
      const mine = Object.entries(chosen).filter(([name, value]) => !same(value, theirs.fields[name]));
      if (this.#fields.outdated({ ...theirs.fields, ...chosen }) && (!mine.length || this.#store(theirs.fields, Object.fromEntries(mine))))
        await this.#renewPage(theirs.version);
      const unseen = this.#fields.fill(theirs.fields);
      this.#base = { version: theirs.version, fields: this.#fields.values() };
      this.#put({ ...Object.fromEntries(unseen.map((name) => [name, theirs.fields[name]])), ...chosen });
      this.#fields.carry();
    };
    if (rows.length) return this.#cards.note("merge", "wait", title, { values, lines: ["staleMore"], body: choices(this, this.#fields, rows, done) });
    done({});
    return this.#cards.note("same", "good", "same", { actions: [["ok"]] });
  }

  // ---- drafts: what was typed and not saved, in this browser, for this person and record, until it ends ----

  get #draft() {
    const { user, name } = this.#work;
    return `${DRAFT}${user ?? name} ${this.#resource}`;
  }

  // How long drafts are kept, in milliseconds.
  get #draftTime() {
    return Math.max(Number(this.getAttribute("drafts") || 72) || 0, 0) * 3600e3;
  }

  #sweep() {
    attempt(() => {
      for (const key of Object.keys(localStorage))
        if (key.startsWith("holdfast-") && !(JSON.parse(localStorage[key]).until > Date.now())) localStorage.removeItem(key);
    });
  }

  // What was typed, as far as `wanted` goes.
  #changes(wanted) {
    return Object.fromEntries(Object.entries(this.#fields.values(wanted)).filter(([name, value]) => !same(value, this.#base.fields[name])));
  }

  #keep() {
    clearTimeout(this.#keepTimer);
    this.#keepTimer = undefined;
    // An older draft waits for its answer, or the fields are not the person's.
    if (this.#fields.filling || !this.session || !this.editable || this.#cards.has("draft") || this.#cards.has("unseen")) return;
    const fields = this.#changes(keepable);
    if (!Object.keys(fields).length || !this.#store(this.#base.fields, fields)) this.#drop();
  }

  // undefined: nothing is kept here.
  #store(before, fields) {
    if (!this.#draftTime) return undefined;
    const at = Date.now();
    const until = at + this.#draftTime;
    const base = Object.fromEntries(Object.keys(fields).map((name) => [name, before[name]]));
    const draft = JSON.stringify({ at, until, submitted: this.#submitted, base, fields });
    return (this.#kept = attempt(() => (localStorage.setItem(this.#draft, draft), until)));
  }

  // Puts what a person typed back into the form. What it may not show can be copied; the draft stays as it is until that was seen.
  #put(fields) {
    const unseen = this.#fields.fill(fields);
    if (!unseen.length) this.#keep();
    else {
      const text = (name) => h("label", {}, this.#fields.label(name), h("textarea", { readonly: "", rows: "6" }, [fields[name]].flat().join("\n")));
      this.#cards.note("unseen", "wait", "unseen", { lines: ["unseenMore"], body: h("div", { class: "prompt" }, ...unseen.map(text)), actions: [["ok"]] });
    }
    this.#fields.focus();
  }

  #drop() {
    clearTimeout(this.#keepTimer);
    this.#keepTimer = this.#kept = undefined;
    attempt(() => localStorage.removeItem(this.#draft));
  }

  // A draft is offered, not put in; but for the page that shows a refused form again.
  #offerDraft() {
    if (!this.#draftTime) return this.#drop();
    const draft = attempt(() => JSON.parse(localStorage.getItem(this.#draft)));
    if (!draft) return undefined;
    const now = this.#base.fields;
    const names = Object.keys(draft.fields).filter((name) => name in now);
    const untouched = names.every((name) => same(draft.base[name], now[name]));
    // Sent a while ago, and the record is another since: it was saved. Sent just now: this page shows a refused form again.
    const again = draft.submitted && Date.now() - draft.at < 60e3;
    const saved = draft.submitted && !again && !untouched;
    if (saved || names.every((name) => same(draft.fields[name], now[name]))) return this.#drop();
    const restore = () => {
      this.#cards.clear("draft");
      if (!untouched) return this.#choose({ ...now, ...draft.base }, { ...now, ...draft.fields }, { version: this.version, fields: now }, "draftStale");
      return this.#put(draft.fields);
    };
    if (again && untouched) {
      restore();
      return this.#cards.note("restored", "info", "restored", { actions: [["ok"]] });
    }
    const discard = () => this.#cards.clear("draft", this.#drop());
    return this.#cards.note("draft", "info", "draft", { values: draft, lines: ["draftMore"], actions: [["restore", restore], ["discard", discard]] });
  }

  // ---- what is shown ----

  #emit(kind, detail) {
    this.dispatchEvent(new CustomEvent(kind, { bubbles: true, composed: true, detail: { resource: this.#resource, ...detail } }));
  }

  #state(state, tone, card) {
    const focused = document.activeElement;
    this.setAttribute("state", state);
    this.#fields.freeze();
    this.#cards.note("state", tone, state, { ...card, slot: state });
    if (focused?.disabled && this.contains(focused)) this.#cards.focus();
  }

  // title: a text, or what a server said about it
  #problem(title, text) {
    this.#cards.note("problem", "bad", title, { values: { text }, lines: text ? ["quote"] : title === "notSaved" ? ["notSavedMore"] : [], actions: [["ok"]] });
  }
}
