// SPDX-License-Identifier: MIT
// <edit-lock> around a form, and <lock-badge> in a list: who works on a record, shown where people work. One file without dependencies, for any
// framework or none; docs/edit-lock.md tells how to use it. From top to bottom: texts, look, helpers, the merge, drafts, events (Hub), a
// session with the server (Work), the element, the badge.
//
// Invariants of the element:
//  1. The form can be edited only in the states held and editing, and only with fields that were read after the grant.
//  2. What was typed is never removed from the form but by the person's own choice, or where the newest state replaces what was only read.
//  3. Names and messages of people reach the page as text nodes inside <bdi>, never as markup.
(() => {
  "use strict";
  if (customElements.get("edit-lock")) return;

  // ---- texts: {name} and the like are filled in; a page replaces them by the property `texts`, or adds a language to EditLock.texts ----

  const ROWS = {
    connecting: ["Opening…", "Wird geöffnet …"],
    held: ["You are editing this", "Sie bearbeiten diesen Datensatz"],
    heldMore: ["Since {since}. Others see that you have it.", "Seit {since}. Andere sehen, dass Sie ihn haben."],
    handed: ["{name} has handed this over to you", "{name} hat Ihnen den Datensatz übergeben"],
    editingMore: [
      "So can others; you are told when someone saves.",
      "Andere können das auch; Sie erfahren, wenn jemand speichert.",
    ],
    reading: ["You are reading this", "Sie lesen diesen Datensatz"],
    readingMore: ["Nobody can change it meanwhile.", "Niemand kann ihn solange ändern."],
    refused: ["{name} is editing this", "{name} bearbeitet diesen Datensatz"],
    refusedReading: ["{name} is reading this", "{name} liest diesen Datensatz"],
    refusedOwn: ["You have this open in another tab", "Sie haben diesen Datensatz in einem anderen Tab offen"],
    refusedElsewhere: ["You have this open somewhere else", "Sie haben diesen Datensatz woanders offen"],
    since: ["Since {since}.", "Seit {since}."],
    purpose: ["Since {since}, for “{purpose}”.", "Seit {since}, für „{purpose}“."],
    also: ["{name}, since {since}.", "{name}, seit {since}."],
    until: [
      "It frees when {name} finishes, or at {until} if that page goes silent.",
      "Er wird frei, wenn {name} fertig ist, oder um {until}, wenn sich die Seite dort nicht mehr meldet.",
    ],
    here: ["Continue here", "Hier weitermachen"],
    retry: ["Try again", "Noch einmal versuchen"],
    ask: ["Ask to release", "Um Freigabe bitten"],
    askLabel: ["Message to {name} (optional)", "Nachricht an {name} (freiwillig)"],
    takeOver: ["Take over", "Übernehmen"],
    takeOverLabel: ["Why? {name} is told, and it is kept", "Warum? {name} erfährt es, und es wird festgehalten"],
    send: ["Send", "Senden"],
    cancel: ["Cancel", "Abbrechen"],
    asked: ["You asked {name} at {at}", "Sie haben {name} um {at} gebeten"],
    askedMore: ["You are told here when it is free.", "Sie erfahren hier, wenn er frei ist."],
    declined: ["{name} keeps it for now", "{name} behält ihn vorerst"],
    quote: ["“{text}”", "„{text}“"],
    freed: ["This is free now", "Der Datensatz ist frei"],
    freedMore: ["The newest state is loaded before you begin.", "Vor dem Bearbeiten wird der neueste Stand geladen."],
    enter: ["Edit it now", "Jetzt bearbeiten"],
    edit: ["Edit", "Bearbeiten"],
    stop: ["Stop editing", "Bearbeiten beenden"],
    expired: ["Your lock has expired", "Ihre Sperre ist abgelaufen"],
    expiredBy: [
      "Your lock expired, and {name} has the record now",
      "Ihre Sperre ist abgelaufen; {name} hat den Datensatz jetzt",
    ],
    forced: ["{name} has taken this over", "{name} hat den Datensatz übernommen"],
    ended: ["Your editing session has ended", "Ihre Bearbeitung ist beendet"],
    moved: ["You went on in another tab", "Sie haben in einem anderen Tab weitergemacht"],
    handedOver: ["You handed this over to {name}", "Sie haben den Datensatz an {name} übergeben"],
    released: ["You are not editing this", "Sie bearbeiten diesen Datensatz nicht"],
    saved: ["Saved at {at}", "Gespeichert um {at}"],
    kept: [
      "What you typed is still here, and kept in this browser until {until}.",
      "Ihr Text steht noch hier und bleibt bis {until} in diesem Browser.",
    ],
    still: ["What you typed is still here. Copy what you need.", "Ihr Text steht noch hier. Kopieren Sie, was Sie brauchen."],
    again: ["Edit again", "Wieder bearbeiten"],
    offline: ["No connection since {at}", "Keine Verbindung seit {at}"],
    offlineMore: [
      "Go on typing. Your lock lasts until {until}, and longer once the connection is back.",
      "Schreiben Sie weiter. Ihre Sperre gilt bis {until}, und länger, sobald die Verbindung zurück ist.",
    ],
    silent: ["No connection, and your time is up", "Keine Verbindung, und Ihre Zeit ist um"],
    silentMore: [
      "Nothing can be changed until it is known whether the record is still yours.",
      "Nichts lässt sich ändern, bis feststeht, ob der Datensatz noch Ihrer ist.",
    ],
    ending: ["Your lock ends at {until}", "Ihre Sperre endet um {until}"],
    endingMore: ["Save before that, or keep it longer.", "Speichern Sie vorher, oder behalten Sie ihn länger."],
    longer: ["Keep it longer", "Länger behalten"],
    back: ["Welcome back", "Willkommen zurück"],
    backMore: [
      "You were away from {from} to {to}. The record is still yours.",
      "Sie waren von {from} bis {to} weg. Der Datensatz ist noch Ihrer.",
    ],
    ok: ["OK", "OK"],
    request: ["{name} asks for this", "{name} bittet um diesen Datensatz"],
    requestMore: ["Since {since}.", "Seit {since}."],
    handOver: ["Hand over", "Übergeben"],
    release: ["Release", "Freigeben"],
    decline: ["Decline", "Ablehnen"],
    declineLabel: ["Message to {name} (optional)", "Nachricht an {name} (freiwillig)"],
    draft: ["You have unsaved text from {at}", "Sie haben nicht gespeicherten Text von {at}"],
    draftMore: ["It was kept in this browser.", "Er blieb in diesem Browser."],
    draftStale: ["The record has changed since you typed", "Der Datensatz hat sich seitdem geändert"],
    restore: ["Put it back", "Zurückholen"],
    discard: ["Discard", "Verwerfen"],
    restored: ["Your unsaved text is back", "Ihr nicht gespeicherter Text ist wieder da"],
    changed: ["{name} has just saved this", "{name} hat gerade gespeichert"],
    deleted: ["{name} has deleted this", "{name} hat den Datensatz gelöscht"],
    changedMore: [
      "At {at}. Your text is untouched; compare before you save.",
      "Um {at}. Ihr Text ist unverändert; vergleichen Sie vor dem Speichern.",
    ],
    compare: ["Compare", "Vergleichen"],
    stale: ["{name} saved this before you", "{name} hat vor Ihnen gespeichert"],
    staleMore: [
      "Nothing is lost. Choose what to keep, field by field, then save again.",
      "Nichts ist verloren. Wählen Sie Feld für Feld, was bleibt, und speichern Sie noch einmal.",
    ],
    someone: ["Someone else", "Jemand anders"],
    mine: ["Mine", "Meins"],
    theirs: ["Theirs", "Das andere"],
    merged: ["Both, merged", "Beides, vereint"],
    use: ["Use these", "So übernehmen"],
    empty: ["(empty)", "(leer)"],
    same: ["Yours and theirs are the same now", "Beide Stände sind jetzt gleich"],
    unavailable: ["The lock service does not answer", "Der Sperrdienst antwortet nicht"],
    unavailableMore: [
      "Nothing can be edited for now. This page tries again by itself.",
      "Im Moment lässt sich nichts bearbeiten. Diese Seite versucht es von selbst wieder.",
    ],
    signedOut: ["You are signed out", "Sie sind abgemeldet"],
    signedOutMore: [
      "Sign in again, in another tab if you like, then try again.",
      "Melden Sie sich wieder an, gern in einem anderen Tab, und versuchen Sie es noch einmal.",
    ],
    failed: ["This can't be edited", "Das lässt sich nicht bearbeiten"],
    noRecord: ["The record could not be loaded", "Der Datensatz ließ sich nicht laden"],
    notSaved: ["Not saved", "Nicht gespeichert"],
    notSavedMore: ["Your text is untouched. Try again.", "Ihr Text ist unverändert. Versuchen Sie es noch einmal."],
    badge: ["{name} since {since}", "{name} seit {since}"],
    badgeOwn: ["You since {since}", "Sie seit {since}"],
    badgeMore: ["{name} and {count} more since {since}", "{name} und {count} weitere seit {since}"],
  };
  const column = (at) => Object.fromEntries(Object.entries(ROWS).map(([key, row]) => [key, row[at]]));
  const TEXTS = { en: column(0), de: column(1) };

  // ---- the look: as a constructed sheet, which a Content-Security-Policy without inline styles allows ----

  const sheet = (css) => {
    const it = new CSSStyleSheet();
    it.replaceSync(css);
    return it;
  };

  // A tone is one colour for light and dark; grounds and lines are mixed from it.
  const TONES = `--ink: light-dark(#1c2330, #e8ebf0); --soft: light-dark(#4d5766, #b0b9c7); --paper: light-dark(#fff, #14181e);
    --line: light-dark(#c4cbd6, #4b5666); --info: light-dark(#1d55c4, #8db8ff); --wait: light-dark(#855600, #f2bf5e);
    --good: light-dark(#17693f, #6bdca4); --bad: light-dark(#b3261e, #ff9d94);
    --font: var(--edit-lock-font, system-ui, sans-serif);`;
  const TINTED = `background: color-mix(in srgb, var(--tone) 7%, var(--paper)); border: 1px solid color-mix(in srgb, var(--tone) 28%, var(--paper));`;

  const LOOK = sheet(`
    :host { display: block; }
    .cards { ${TONES} display: grid; gap: .5rem; margin-block-end: 1rem; font: .9375rem/1.45 var(--font); color: var(--ink); }
    .card { --tone: var(--info); --act: var(--tone); display: grid; grid-template-columns: auto 1fr auto; gap: 0 .75rem; align-items: center;
      padding: .75rem .875rem; border-radius: var(--edit-lock-radius, 12px); ${TINTED} }
    .quiet { --tone: var(--soft); padding-block: .4375rem; }
    .wait { --tone: var(--wait); --act: var(--info); }
    .good { --tone: var(--good); }
    .bad { --tone: var(--bad); }
    svg { inline-size: 1.25rem; block-size: 1.25rem; color: var(--tone); fill: none; stroke: currentColor; stroke-width: 1.75;
      stroke-linecap: round; stroke-linejoin: round; align-self: start; margin-block-start: .0625rem; }
    .quiet svg { color: var(--good); align-self: center; }
    p { margin: 0; overflow-wrap: anywhere; }
    .text { min-inline-size: 0; }
    .title { font-weight: 600; outline: 0; }
    .detail, label { color: var(--soft); font-size: .875rem; }
    .quiet .text { display: flex; flex-wrap: wrap; gap: 0 .625rem; align-items: baseline; }
    .actions { display: flex; flex-wrap: wrap; gap: .5rem; justify-content: end; }
    button { font: inherit; font-size: .875rem; font-weight: 500; min-block-size: 2.125rem; padding: .25rem .8125rem; cursor: pointer;
      color: var(--ink); background: var(--paper); border: 1px solid var(--line); border-radius: 8px; }
    button:hover { border-color: var(--act); }
    button:first-child:not([part~=ok]) { color: var(--paper); background: var(--act); border-color: transparent; }
    .quiet button:first-child { background: none; color: var(--soft); }
    .quiet button:hover { color: var(--ink); border-color: var(--line); }
    :focus-visible { outline: 2px solid var(--info); outline-offset: 2px; }
    .body { grid-column: 1 / -1; }
    .body > form { display: grid; gap: .625rem; padding-block-start: .75rem; }
    .prompt input { font: inherit; display: block; box-sizing: border-box; inline-size: 100%; margin-block-start: .25rem; padding: .4375rem .625rem;
      color: var(--ink); background: var(--paper); border: 1px solid var(--soft); border-radius: 8px; }
    .sr { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); }
    fieldset { margin: 0; padding: 0; border: 0; min-inline-size: 0; }
    legend { padding: 0; font-weight: 600; font-size: .875rem; margin-block-end: .25rem; }
    .choices { display: grid; gap: .375rem; grid-template-columns: repeat(auto-fit, minmax(min(12rem, 100%), 1fr)); }
    .choice { display: grid; grid-template-columns: auto 1fr; gap: 0 .5rem; align-content: start; padding: .5rem .625rem; cursor: pointer;
      background: var(--paper); border: 1px solid var(--line); border-radius: 8px; min-inline-size: 0; }
    .choice:has(:checked) { border-color: var(--act); box-shadow: inset 0 0 0 1px var(--act); }
    .choice input { accent-color: var(--act); margin: .1875rem 0 0; }
    .choice bdi { grid-column: 2; color: var(--ink); white-space: pre-wrap; overflow-wrap: anywhere; max-block-size: 12rem; overflow: auto; }
    mark { color: inherit; background: color-mix(in srgb, var(--wait) 25%, var(--paper)); border-radius: 3px; }
    @media (max-width: 34rem) {
      .card:not(.quiet) { grid-template-columns: auto 1fr; }
      .card:not(.quiet) .actions { grid-column: 1 / -1; }
      .card:not(.quiet) button { flex: 1; min-block-size: 2.5rem; margin-block-start: .5rem; }
    }
    @media (prefers-reduced-motion: no-preference) {
      .card { animation: in .18s; }
      @keyframes in { from { opacity: 0; translate: 0 -4px; } }
    }`);

  const BADGE = sheet(`
    :host { display: inline-block; max-inline-size: 100%; vertical-align: middle; }
    :host([state="free"]) { display: none; }
    .badge { ${TONES} --tone: var(--wait); display: inline-flex; align-items: center; gap: .375rem; max-inline-size: 100%; box-sizing: border-box;
      padding: .0625rem .5625rem; font: 500 .8125rem/1.5 var(--font); color: var(--tone); border-radius: 99px; ${TINTED} }
    .own { --tone: var(--good); }
    .badge::before { content: ""; flex: none; inline-size: .4375rem; block-size: .4375rem; border-radius: 50%; background: currentColor; }
    .badge span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }`);

  // By tone: a pencil, a lock, a tick, a sign of warning, an i.
  const ICONS = {
    quiet: "M4 20h4L19 9a2.8 2.8 0 0 0-4-4L4 16zM13 7l4 4",
    wait: "M6 11h12v9H6zM9 11V8a3 3 0 0 1 6 0v3",
    good: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M8 12l3 3 5-6",
    bad: "M12 4 2.5 20h19zM12 10v4M12 17v.01",
    info: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 11v5M12 8v.01",
  };

  // ---- helpers ----

  const script = document.currentScript;
  const SVG = "http://www.w3.org/2000/svg";

  // A function is a listener; false and undefined are no attribute.
  function h(tag, attributes, ...children) {
    const it = tag === "svg" || tag === "path" ? document.createElementNS(SVG, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes))
      if (typeof value === "function") it.addEventListener(name, value);
      else if (value !== undefined && value !== false) it.setAttribute(name, value);
    it.append(...children);
    return it;
  }

  const language = (element) => element.closest("[lang]")?.lang || navigator.language;

  function textOf(element, key) {
    const lang = language(element);
    return { ...TEXTS.en, ...TEXTS[lang.split("-")[0]], ...TEXTS[lang], ...element.texts }[key] ?? key;
  }

  // The time of day where the person is, with the day if that is not today.
  function clock(element, when) {
    const time = new Date(when);
    const lang = language(element);
    const locale = navigator.language.startsWith(lang) ? navigator.language : lang;
    const day = time.toDateString() === new Date().toDateString() ? {} : { weekday: "short", day: "numeric", month: "short" };
    return time.toLocaleString(locale, { hour: "numeric", minute: "2-digit", ...day });
  }

  // A text as nodes. What is filled in is isolated, so that no name turns the sentence around.
  const sentence = (element, template, values = {}) =>
    template.split(/(\{\w+\})/).map((piece) => {
      const name = piece.slice(1, -1);
      if (piece[0] !== "{" || values[name] === undefined) return piece;
      return h("bdi", {}, /^(at|since|until|from|to)$/.test(name) ? clock(element, values[name]) : values[name]);
    });

  // Servers take 255 bytes.
  function cut(text) {
    const letters = [...text.trim()];
    while (new Blob([letters.join("")]).size > 255) letters.pop();
    return letters.join("");
  }

  // Status 0: no answer. The data is {} if there is none.
  async function ask(url, method, body, headers, more) {
    try {
      const answer = await fetch(url, {
        method,
        headers: body ? { "Content-Type": "application/json", ...headers } : headers,
        body: body && JSON.stringify(body),
        signal: AbortSignal.timeout(10e3),
        ...more,
      });
      return { status: answer.status, data: (await answer.json().catch(() => 0)) || {} };
    } catch {
      return { status: 0, data: {} };
    }
  }

  // Whether the same question may be answered otherwise soon.
  const undecided = ({ status, data }) => !status || status >= 500 || [408, 429].includes(status) || data.code === "busy";

  const pathOf = (resource) => {
    const [type, ...id] = resource.split("/");
    return `${type}/${encodeURIComponent(id.join("/"))}`;
  };

  // What the browser can't or won't store is not stored.
  const stored = (call) => {
    try {
      return call();
    } catch {
      return undefined;
    }
  };

  // Is a page of this browser at work with that session? undefined: can't be told.
  const isOpenHere = async (session) => (await navigator.locks?.query())?.held.some(({ name }) => name === `holdfast ${session}`);

  // ---- three-way merge ----

  const plain = (value) =>
    Array.isArray(value) ? value.map(String) : typeof value === "boolean" ? value : String(value ?? "").replace(/\r\n?/g, "\n");
  const same = (a, b) => JSON.stringify(plain(a)) === JSON.stringify(plain(b));

  // Where `text` differs from `base`, in words: [from, to) of the base is replaced by `words`.
  function change(base, text) {
    const [old, now] = [base, text].map((whole) => whole.split(/(\s+)/));
    let [from, end] = [0, 0];
    while (from < old.length && from < now.length && old[from] === now[from]) from++;
    while (end < old.length - from && end < now.length - from && old.at(-1 - end) === now.at(-1 - end)) end++;
    return { old, now, from, to: old.length - end, words: now.slice(from, now.length - end) };
  }

  // Both changes in one text; undefined if no word stands between them.
  function merge(base, mine, theirs) {
    if (typeof base !== "string" || typeof mine !== "string") return undefined;
    const [one, two] = [change(base, mine), change(base, theirs)].sort((a, b) => a.from - b.from || a.to - b.to);
    if (one.to + 1 >= two.from) return undefined;
    return [...one.old.slice(0, one.from), ...one.words, ...one.old.slice(one.to, two.from), ...two.words, ...one.old.slice(two.to)].join("");
  }

  // The fields that differ, with what is proposed: whoever changed it; both, where that can be merged.
  function compare(base, mine, theirs) {
    return Object.keys(theirs).filter((name) => name in mine && !same(mine[name], theirs[name])).map((name) => {
      const [was, my, their] = [base[name], mine[name], theirs[name]].map(plain);
      if (same(was, my)) return { name, was, values: { mine: my, theirs: their }, proposed: "theirs" };
      if (same(was, their)) return { name, was, values: { mine: my, theirs: their }, proposed: "mine" };
      const merged = merge(was, my, their);
      return merged === undefined ? { name, was, values: { mine: my, theirs: their } }
        : { name, was, values: { mine: my, theirs: their, merged }, proposed: "merged" };
    });
  }

  // ---- events: one stream for all tabs of a browser, which opens six connections to a server at most. The tab that has the Web Lock reads
  //      it and tells the others by a BroadcastChannel. Without Web Locks, in pages that are not secure, each page reads its own ----

  const RESOURCES_MAX = 1000;

  class Hub {
    static #all = {};
    static at = (server) => (Hub.#all[server] ??= new Hub(server));

    #server;
    #channel;
    #tab = Math.random();
    #followers = new Set(); // {work, resources(), hear(event), look(), tick(), give(to)}
    #others = {}; // of other tabs: {wants, login}
    #leading = false;
    #stream; // ends what is read now
    #open = []; // the resources of the stream
    #heard = 0;
    #ticked = 0;
    #wait = 1000;
    #next = 0; // when to connect

    constructor(server) {
      this.#server = server;
      this.#channel = new BroadcastChannel(`holdfast ${server}`);
      this.#channel.onmessage = ({ data }) => this.#hear(data);
      const lead = () => new Promise(() => {
        this.#leading = true;
        this.#channel.postMessage({ who: true });
        this.#plan();
      });
      if (navigator.locks) navigator.locks.request(`holdfast events ${server}`, lead);
      else lead();
    }

    add(follower) {
      this.#followers.add(follower);
      this.changed();
    }

    remove(follower) {
      this.#followers.delete(follower);
      this.changed();
    }

    // What is followed is another now.
    changed() {
      this.#channel.postMessage({ tab: this.#tab, ...this.#own() });
      this.#plan();
    }

    // Asks the page of that session to give its record to another.
    give(session, to) {
      this.#channel.postMessage({ give: session, to });
    }

    // Every second. The server sends something every 15 seconds: a stream from which nothing comes is dead.
    tick(retry) {
      const now = Date.now();
      if (this.#stream && now - this.#heard > 40e3) this.#stream.abort();
      if (this.#leading && (now >= this.#next || (retry && !this.#stream))) this.#connect(now);
    }

    #plan() {
      this.#next = 0;
      setTimeout(() => this.tick(), 100);
    }

    #own() {
      const all = [...this.#followers];
      return { wants: all.flatMap((one) => one.resources()), login: all.find((one) => one.work.id)?.work.login };
    }

    // Opens a stream of what is wanted now. The one before is read until the new one is open: nothing is missed.
    async #connect(now) {
      const all = [this.#own(), ...Object.values(this.#others)];
      const logins = all.flatMap(({ login }) => login ?? []);
      const resources = [...new Set(all.flatMap(({ wants }) => wants))].sort().slice(0, RESOURCES_MAX);
      this.#next = Infinity;
      if (!logins.length || !resources.length || same(resources, this.#open)) return;
      const stop = new AbortController();
      this.#next = now + this.#wait * (0.5 + Math.random());
      this.#wait = Math.min(this.#wait * 2, 30e3);
      try {
        const answer = await fetch(`${this.#server}/v1/events?${resources.slice(0, 100).map((one) => `resource=${encodeURIComponent(one)}`).join("&")}`, {
          headers: { "Holdfast-Session": logins[Math.floor(Math.random() * logins.length)] },
          signal: stop.signal,
        });
        if (answer.ok) await this.#read(answer.body.pipeThrough(new TextDecoderStream()).getReader(), stop, resources);
      } catch {
        // The same as its end.
      }
      if (this.#stream !== stop) return; // it never opened, or a newer one has taken its place
      this.#stream = undefined;
      this.#open = [];
      this.#next = Date.now() + this.#wait * Math.random();
    }

    async #read(reader, stop, resources) {
      const opened = resources.filter((one) => !this.#open.includes(one));
      this.#stream?.abort();
      this.#stream = stop;
      this.#open = resources;
      this.#wait = 1000;
      this.#next = Infinity;
      this.#heard = Date.now();
      this.#plan(); // something else may be wanted by now
      this.#tell({ opened });
      for (let rest = ""; ; ) {
        const { done, value } = await reader.read();
        if (done) return;
        this.#heard = Date.now();
        const blocks = (rest + value).split("\n\n");
        rest = blocks.pop();
        blocks.forEach((block) => this.#block(block));
        // Timers of hidden pages are slow, what comes from the network is not: it is their clock.
        if (this.#heard - this.#ticked > 5000) this.#tell({ tick: (this.#ticked = this.#heard) });
      }
    }

    #block(block) {
      const data = /^data: ?(.*)$/m.exec(block)?.[1];
      if (/^event: ?(resync|restored)$/m.test(block)) this.#tell({ opened: this.#open });
      else if (data) this.#tell({ event: JSON.parse(data) });
    }

    #tell(message) {
      this.#channel.postMessage(message);
      this.#hear(message);
    }

    #hear({ tab, wants, login, who, opened = [], event, tick, give, to }) {
      if (who) this.changed();
      if (wants) {
        this.#others[tab] = { wants, login };
        this.#plan();
      }
      for (const one of [...this.#followers]) {
        const mine = one.resources();
        if (opened.some((resource) => mine.includes(resource))) one.look();
        if (event && (event.resource ? mine.includes(event.resource) : event.session === one.work.id)) one.hear(event);
        if (tick) one.tick();
        if (give && give === one.work.id) one.give(to);
      }
    }
  }

  // ---- a session with the server: opened by the application, kept alive by beats, closed with the page ----

  class Work {
    skew = 0; // the server's clock minus ours
    beaten = 0; // when the last beat that was answered was sent

    // element: has the attributes server, session-src and csrf
    constructor(element) {
      const server = element.getAttribute("server") ?? (script?.src || location.href);
      const csrf = element.getAttribute("csrf");
      this.server = new URL(server, location.href).origin;
      this.source = element.getAttribute("session-src");
      this.csrf = { Accept: "application/json", ...(csrf && { "X-CSRF-Token": csrf, "X-CSRFToken": csrf }) };
      this.hub = Hub.at(this.server);
    }

    // Asks the application, with its cookie.
    own(url, method, body) {
      return ask(url, method, body, this.csrf, { cache: "no-store" });
    }

    async open(resource) {
      const answer = await this.own(this.source, "POST", { resource });
      const { session, name, user, idle_seconds: idle = 60, may_take_over: mayTakeOver } = answer.data;
      if (answer.status !== 200 || !session) return answer;
      const [id, key] = session.split(".");
      Object.assign(this, { id, key, login: session, name, user, idle: idle * 1000, mayTakeOver, beaten: Date.now() });
      navigator.locks?.request(`holdfast ${id}`, () => new Promise((resolve) => (this.leave = resolve)));
      return answer;
    }

    api(method, path, body, headers, more) {
      return ask(this.server + path, method, body, { "Holdfast-Session": this.login, ...headers }, more);
    }

    async beat() {
      const sent = Date.now();
      const answer = await this.api("POST", `/v1/sessions/${this.id}/beat`);
      if (answer.status === 200) {
        this.beaten = sent;
        this.skew = Date.parse(answer.data.expires) - this.idle - Date.now();
      }
      return answer;
    }

    // going: the page goes
    close(going) {
      const path = `/v1/sessions/${this.id}`;
      if (!this.id) return undefined;
      this.id = undefined;
      this.leave?.();
      if (going) return navigator.sendBeacon(`${this.server}${path}/close`, JSON.stringify({ key: this.key }));
      return this.api("DELETE", path, undefined, {}, { keepalive: true });
    }
  }

  // ---- <edit-lock> ----

  const DRAFT = "holdfast-draft ";
  const OPEN = "holdfast-open ";
  const STATES = { exclusive: "held", shared: "reading" };
  const CAN_EDIT = ["held", "editing"];
  const WAITING = ["refused", "freed"];
  const TEXT_TYPES = "text search url tel email password date month week time datetime-local number textarea".split(" ");
  const NO_FIELD = /^(hidden|file|submit|button|reset|image|fieldset|output|object)$/;

  // Passwords, numbers of cards and one-time codes are never kept, nor what the page excludes; hidden fields and files are no fields here.
  const keepable = (control) =>
    control.type !== "password" && !/cc-|one-time|password/.test(control.autocomplete) && !control.closest("[data-no-draft]");

  class EditLock extends HTMLElement {
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
    #form;
    #frozen = new Map(); // control → [property, what it was]
    #cards = new Map();
    #polite = h("div", { class: "sr", role: "status" });
    #urgent = h("div", { class: "sr", role: "alert" });
    #list = h("div", { class: "cards", part: "cards" });
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
    #busy = false; // fields are put in, or saved
    #submitted = false;
    #ending; // of all listeners

    constructor() {
      super();
      const root = this.attachShadow({ mode: "open" });
      root.adoptedStyleSheets = [LOOK];
      root.append(this.#polite, this.#urgent, this.#list, h("slot", {}));
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

    // Has something been typed that is not saved?
    get dirty() {
      return CAN_EDIT.includes(this.state) && Object.keys(this.#changes()).length > 0;
    }

    // Takes the record, or tries again.
    acquire() {
      return this.#start();
    }

    // Gives the record back. What was typed stays as a draft; with discard it is dropped, and the record is shown as it was.
    release({ discard } = {}) {
      this.#keep();
      if (discard) this.#fill(this.#base.fields, this.#drop());
      this.#over("released", "quiet", { lines: this.#kept ? ["kept"] : [] });
    }

    // The record was saved, by the element or by the page itself.
    saved(version = this.version) {
      this.#drop();
      this.#base = { version, fields: this.#values() };
      this.#emit("saved", { version });
      if (this.#lock) return this.#over("saved", "good");
      this.#carry();
      return this.#note("saved", "good", "saved", { values: { at: Date.now() }, actions: [["ok"]] });
    }

    // A save was refused because the record is another by now: shows mine, theirs and merged. problem: what the server said.
    async stale({ present } = {}) {
      const theirs = await this.#record();
      if (!theirs) return this.#problem("noRecord");
      const mine = this.#values();
      this.#clear("changed");
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
      on(this, "input change", () => (this.#keepTimer ??= setTimeout(() => this.#keep(), 300)));
      on(this, "click", ({ target }) => target.closest("[data-holdfast=cancel]") && this.release({ discard: true }));
      on(document, "visibilitychange resume", () => this.#comes());
      on(window, "online", () => this.#comes());
      on(window, "pagehide", () => this.#goes());
      on(window, "pageshow", ({ persisted }) => persisted && this.#start());
      const observer = new MutationObserver(() => this.#adopt());
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
      this.#clear(...[...this.#cards.keys()].slice(1)); // all but the state's
      this.#state("connecting", "quiet");
      this.#adopt();
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
      this.#clear("asked", "declined");
      const loaded = await this.#load();
      if (run !== this.#run || lock !== this.#lock) return undefined;
      if (!loaded) return this.#state("failed", "bad", { title: "noRecord", actions: [["retry", () => this.#granted(lock, from)]] });
      const asked = this.shadowRoot.activeElement;
      this.#open(from);
      this.#emit("held", { mode: lock?.mode ?? "optimistic", fence: lock?.fence, version: this.version, session: this.session });
      if (CAN_EDIT.includes(this.state)) this.#offerDraft();
      if (asked) this.#focusForm();
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
      this.#fill(record.fields);
      this.#base = { version: record.version, fields: this.#values() };
      this.#carry();
      return true;
    }

    async #record() {
      const { data } = await this.#work.own(this.getAttribute("record-src"), "GET");
      return data.fields && { version: data.version ?? 0, fields: data.fields };
    }

    // ---- others have it ----

    async #refused(holders) {
      const run = this.#run;
      const [{ session, user, name, since, expires: until, purpose, mode }, ...rest] = holders;
      const here = await isOpenHere(session);
      if (run !== this.#run) return;
      const before = this.#holders[0]?.session;
      if (before !== session) this.#clear("asked", "declined");
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
      this.#clear("asked", "declined");
      this.#holders = [];
      this.#state("freed", "good", { lines: ["freedMore"], actions: [["enter", () => this.#acquire()]] });
      this.#emit("freed");
    }

    async #ask(message) {
      const { status } = await this.#work.api("POST", `${this.#path}/request`, { message: cut(message) });
      this.#clear("declined");
      if (status === 200) this.#note("asked", "info", "asked", { values: { name: this.#holders[0]?.name, at: Date.now() }, lines: ["askedMore"] });
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
        this.#clear("asked");
        this.#note("declined", "wait", "declined", { values: { name, text: reason }, lines: reason ? ["quote"] : [], actions: [["ok"]] });
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
        if (editing) this.#seenVersion(answer.data.present ?? answer.data);
        else if (answer.status === 200) this.#seenHolders(answer.data);
        else this.#beat();
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
      this.#clear(...this.#requests.map(({ session }) => session).filter((old) => !now.some(({ session }) => session === old)));
      this.#requests = now;
      for (const { session, name, message, at } of now)
        this.#note(session, "info", "request", {
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
      else this.#lost("expired");
    }

    #beaten({ locks, lost, requests }) {
      this.#failing = 0;
      this.#clear("offline");
      const away = this.#away;
      this.#away = undefined;
      if (!this.#lock) {
        if (this.state === "silent") this.#open();
        return this.#look();
      }
      if (!locks) {
        const { why = "ended", by, reason } = lost.find(({ resource }) => resource === this.#resource) ?? {};
        return this.#lost(why, { by: by ?? undefined, reason });
      }
      if (this.state === "silent") this.#open();
      if (away) this.#note("back", "good", "back", { values: away, lines: ["backMore"], actions: [["ok"]] });
      return this.#asked(requests);
    }

    // When nothing is known of the lock any more, and before it ends.
    #warn(now) {
      const { beaten, idle, skew } = this.#work;
      const until = beaten + idle;
      const mine = this.#lock || this.state === "editing";
      if (mine && this.state !== "silent" && now > until) {
        this.#keep();
        this.#clear("offline");
        this.#state("silent", "bad", { lines: ["silentMore", this.#kept ? "kept" : "still"] });
      } else if (mine && this.state !== "silent" && this.#failing)
        this.#note("offline", "wait", "offline", { values: { at: this.#failing, until }, lines: ["offlineMore"] });
      if (!this.#lock) return;
      const ends = Date.parse(this.#lock.expires) - skew;
      if (now > ends) this.#look();
      // Only a bound of the lock's own comes nearer; that of the session is moved by beats.
      if (ends < until - 2000 && ends < now + 60e3 && this.state !== "silent")
        this.#note("ending", "wait", "ending", { values: { until: ends }, lines: ["endingMore"], actions: [["longer", () => this.#renew()]] });
      else this.#clear("ending");
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
      this.#clear(...[...this.#cards.keys()].slice(1)); // all but the state's
      this.#state(state, tone, { title, values: { at: Date.now(), until: this.#kept, ...values }, lines, actions: [["again", () => this.#start()]] });
    }

    #lost(why, { by, reason } = {}) {
      const had = this.#lock || CAN_EDIT.includes(this.state) || this.state === "silent";
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
      stored(() => this.#lock && localStorage.setItem(OPEN + this.#resource, it));
    }

    // Closes a session of this browser whose page is gone. False: there is none.
    async #closeOlder(holders) {
      const { login, left } = stored(() => JSON.parse(localStorage.getItem(OPEN + this.#resource))) ?? {};
      const older = holders.find(({ session }) => login?.startsWith(session));
      if (!older || !(left || (await isOpenHere(older.session)) === false)) return false;
      stored(() => localStorage.removeItem(OPEN + this.#resource));
      const { status } = await ask(`${this.#work.server}/v1/sessions/${older.session}`, "DELETE", undefined, { "Holdfast-Session": login });
      return status > 0;
    }

    // ---- saving ----

    #guard(event) {
      const card = this.#cards.get("merge") ?? this.#cards.get("state");
      if (event.target !== this.#form || (CAN_EDIT.includes(this.state) && !this.#busy && !this.#cards.has("merge"))) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      this.#announce(card.nodes, true);
    }

    #submit(event) {
      if (event.target !== this.#form || event.defaultPrevented) return;
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

    async #save(submitter) {
      const run = this.#run;
      const form = this.#form;
      const data = new FormData(form, submitter);
      this.#busy = true;
      this.#clear("problem");
      const answer = await fetch(submitter?.getAttribute("formaction") ?? form.getAttribute("action") ?? "", {
        method: "POST",
        body: form.enctype === "multipart/form-data" ? data : new URLSearchParams(data),
        headers: this.#work.csrf,
      }).catch(() => ({}));
      const { version, message, code, holders, present } = (await answer.json?.().catch(() => 0)) || {};
      this.#busy = false;
      if (answer.redirected) location.assign(answer.url);
      if (run !== this.#run) return;
      if (answer.ok) this.saved(version);
      else if (answer.status === 412 || code === "stale") await this.stale({ present });
      else if (answer.status === 409 || answer.status === 423) this.#lost("expired", { by: holders?.[0]?.name });
      else this.#problem("notSaved", message);
    }

    // ---- someone else has saved ----

    // While someone edits without a lock.
    #seenVersion(present) {
      const { version, gone, saved: at, session } = present;
      if (this.state !== "editing" || !(version > this.version) || session === this.session || this.#cards.has("merge")) return;
      const first = !this.#cards.has("changed");
      this.#note("changed", "wait", gone ? "deleted" : "changed", {
        values: { name: present.name || present.user || textOf(this, "someone"), at },
        lines: ["changedMore"],
        actions: gone ? [] : [["compare", () => this.stale({ present })]],
      });
      if (first) this.#emit("stale", { base: this.#base, present });
    }

    // Mine, theirs and merged, field by field; what is chosen goes into the form, on top of theirs.
    #choose(base, mine, theirs, title, values) {
      const rows = compare(base, mine, theirs.fields);
      const done = (chosen) => {
        this.#clear("merge");
        this.#fill(theirs.fields);
        this.#base = { version: theirs.version, fields: this.#values() };
        this.#fill(chosen);
        this.#carry();
        this.#keep();
        this.#focusForm();
      };
      if (rows.length) return this.#note("merge", "wait", title, { values, lines: ["staleMore"], body: this.#table(rows, done) });
      done({});
      return this.#note("same", "good", "same", { actions: [["ok"]] });
    }

    #table(rows, done) {
      const form = h("form", {
        part: "merge",
        submit: (event) => {
          event.preventDefault();
          const chosen = new FormData(form);
          done(Object.fromEntries(rows.map(({ name, values }, at) => [name, values[chosen.get(`${at}`)]])));
        },
      },
      ...rows.map((row, at) => h("fieldset", {}, h("legend", {}, this.#label(row.name)),
        h("div", { class: "choices" }, ...Object.entries(row.values).map(([which, value]) =>
          h("label", { class: "choice", part: which },
            h("input", { type: "radio", name: at, value: which, required: "", checked: row.proposed === which && "" }),
            h("span", {}, textOf(this, which)), h("bdi", {}, ...this.#marked(row, value))))))),
      h("div", {}, h("button", { part: "button use" }, textOf(this, "use"))));
      return form;
    }

    // What a person reads of a value, with what differs from the base marked.
    #marked({ name, was }, value) {
      const options = [...(this.#controls(name)[0].options ?? [])].filter((option) => [value].flat().includes(option.value));
      if (options.length) return [options.map(({ label }) => label).join(", ")];
      if (typeof value !== "string") return [value === true ? "✓" : value === false ? "✗" : value.join(", ")];
      if (value === "") return [textOf(this, "empty")];
      const { now, from, words } = change(was, value);
      return [now.slice(0, from).join(""), h("mark", {}, words.join("")), now.slice(from + words.length).join("")];
    }

    // ---- drafts: what was typed and not saved, in this browser, for this person and record, until it ends ----

    get #draft() {
      const { user, name } = this.#work;
      return `${DRAFT}${user ?? name} ${this.#resource}`;
    }

    // How long drafts are kept, in milliseconds.
    get #draftTime() {
      const said = this.getAttribute("drafts");
      return said === "off" ? 0 : (Number(said) || 72) * 3600e3;
    }

    #sweep() {
      stored(() => {
        for (const key of Object.keys(localStorage))
          if (key.startsWith("holdfast-") && !(JSON.parse(localStorage[key]).until > Date.now())) localStorage.removeItem(key);
      });
    }

    // What was typed, as far as `wanted` goes.
    #changes(wanted) {
      return Object.fromEntries(Object.entries(this.#values(wanted)).filter(([name, value]) => !same(value, this.#base.fields[name])));
    }

    #keep() {
      clearTimeout(this.#keepTimer);
      this.#keepTimer = undefined;
      // An older draft waits for its answer, or the fields are not the person's.
      if (this.#busy || !this.session || !CAN_EDIT.includes(this.state) || this.#cards.has("draft")) return;
      const fields = this.#changes(keepable);
      const names = Object.keys(fields);
      if (!names.length || !this.#draftTime) return void this.#drop();
      const at = Date.now();
      const until = at + this.#draftTime;
      const base = Object.fromEntries(names.map((name) => [name, this.#base.fields[name]]));
      const draft = JSON.stringify({ at, until, submitted: this.#submitted, base, fields });
      this.#kept = stored(() => (localStorage.setItem(this.#draft, draft), until));
    }

    #drop() {
      clearTimeout(this.#keepTimer);
      this.#keepTimer = this.#kept = undefined;
      stored(() => localStorage.removeItem(this.#draft));
    }

    // A draft is offered, not put in; but for the page that shows a refused form again.
    #offerDraft() {
      const draft = this.#draftTime && stored(() => JSON.parse(localStorage.getItem(this.#draft)));
      if (!draft) return undefined;
      const now = this.#base.fields;
      const names = Object.keys(draft.fields).filter((name) => name in now);
      const untouched = names.every((name) => same(draft.base[name], now[name]));
      // Sent a while ago, and the record is another since: it was saved. Sent just now: this page shows a refused form again.
      const again = draft.submitted && Date.now() - draft.at < 60e3;
      const saved = draft.submitted && !again && !untouched;
      if (saved || names.every((name) => same(draft.fields[name], now[name]))) return this.#drop();
      const restore = () => {
        this.#clear("draft");
        if (!untouched) return this.#choose({ ...now, ...draft.base }, { ...now, ...draft.fields }, { version: this.version, fields: now }, "draftStale");
        this.#fill(draft.fields);
        this.#keep();
        return this.#focusForm();
      };
      if (again && untouched) {
        restore();
        return this.#note("restored", "info", "restored", { actions: [["ok"]] });
      }
      const discard = () => this.#clear("draft", this.#drop());
      return this.#note("draft", "info", "draft", { values: draft, lines: ["draftMore"], actions: [["restore", restore], ["discard", discard]] });
    }

    // ---- the form ----

    // It may come, and grow, after the element.
    #adopt() {
      this.#form = this.querySelector("form");
      if (this.#work) this.#carry();
      this.#freeze(!CAN_EDIT.includes(this.state));
    }

    // Read-only: text can still be read and copied; what can't be read-only is disabled.
    #freeze(frozen) {
      if (!frozen) {
        for (const [control, [property, was]] of this.#frozen) control[property] = was;
        this.#frozen.clear();
        return;
      }
      for (const control of this.#form?.querySelectorAll("input, textarea, select, button, [contenteditable]") ?? []) {
        if (this.#frozen.has(control) || control.type === "hidden" || control.closest("[data-holdfast=cancel]")) continue;
        const property = !control.type ? "contentEditable" : TEXT_TYPES.includes(control.type) ? "readOnly" : "disabled";
        this.#frozen.set(control, [property, control[property]]);
        control[property] = control.type ? true : "false";
      }
    }

    // What the save carries: who, and what proves that nobody came in between.
    #carry() {
      const values = { session: this.session, fence: this.fence, version: this.version };
      for (const [name, value = ""] of Object.entries(values)) {
        const full = `holdfast_${name}`;
        const input = this.#form?.querySelector(`[name=${full}]`) ?? h("input", { type: "hidden", name: full });
        input.value = value;
        if (!input.isConnected) this.#form?.append(input);
      }
    }

    #controls(name) {
      return [...(this.#form?.elements ?? [])].filter((control) => control.name && !NO_FIELD.test(control.type) && (!name || control.name === name));
    }

    // What is in the form, by name.
    #values(wanted = () => true) {
      const values = {};
      for (const control of this.#controls().filter(wanted)) {
        const { name, type, checked, value } = control;
        if (type === "checkbox" && this.#controls(name).length === 1) values[name] = checked;
        else if (type === "checkbox") values[name] = [...(values[name] ?? []), ...(checked ? [value] : [])];
        else if (type === "radio") values[name] = checked ? value : values[name] ?? "";
        else if (type === "select-multiple") values[name] = [...control.selectedOptions].map((option) => option.value);
        else values[name] = plain(value);
      }
      return values;
    }

    // Puts fields into the form, so that frameworks notice.
    #fill(fields) {
      this.#busy = true;
      this.#freeze(false);
      for (const [name, value] of Object.entries(fields)) this.#controls(name).forEach((control) => this.#put(control, plain(value)));
      this.#freeze(!CAN_EDIT.includes(this.state));
      this.#busy = false;
    }

    #put(control, value) {
      const { type } = control;
      const has = (one) => (typeof value === "boolean" ? value : [value].flat().includes(one));
      if (type === "checkbox" || type === "radio") {
        if (control.checked !== has(control.value) && (type === "checkbox" || !control.checked)) control.click();
        return;
      }
      if (type === "select-multiple") [...control.options].forEach((option) => (option.selected = has(option.value)));
      else if (plain(control.value) === value) return;
      // React replaces the setter of the control itself, to tell its own changes from a person's.
      else Object.getOwnPropertyDescriptor(Object.getPrototypeOf(control), "value").set.call(control, value);
      ["input", "change"].forEach((event) => control.dispatchEvent(new Event(event, { bubbles: true })));
    }

    #label(name) {
      const [control] = this.#controls(name);
      const label = control.type === "radio" ? control.closest("fieldset")?.querySelector("legend") : control.labels[0];
      const own = [...(label?.childNodes ?? [])].filter((node) => !node.matches?.("input, select, textarea")).map((node) => node.textContent);
      return own.join("").trim() || control.ariaLabel || name;
    }

    #focusForm() {
      this.#controls().find((control) => !control.disabled)?.focus();
    }

    // ---- what is shown ----

    #emit(kind, detail) {
      this.dispatchEvent(new CustomEvent(kind, { bubbles: true, composed: true, detail: { resource: this.#resource, ...detail } }));
    }

    // For those who hear the page.
    #announce(nodes, urgent) {
      this.#polite.replaceChildren();
      this.#urgent.replaceChildren();
      (urgent ? this.#urgent : this.#polite).append(...nodes.map((node) => node.cloneNode(true)));
    }

    #state(state, tone, card) {
      this.setAttribute("state", state);
      this.#freeze(!CAN_EDIT.includes(state));
      this.#note("state", tone, state, { ...card, slot: state });
    }

    // title: a text, or what a server said about it
    #problem(title, text) {
      this.#note("problem", "bad", title, { values: { text }, lines: text ? ["quote"] : title === "notSaved" ? ["notSavedMore"] : [], actions: [["ok"]] });
    }

    #clear(...names) {
      for (const name of names) {
        const card = this.#cards.get(name);
        const focused = card?.box.contains(this.shadowRoot.activeElement);
        card?.box.remove();
        this.#cards.delete(name);
        if (focused) this.#cards.get("state")?.text.querySelector(".title")?.focus();
      }
    }

    // Shows a card, or something else on it. lines: texts, or [text, values]; actions: [text, call], with a line to type where the text has a
    // label; without a call it puts the card away. The parts are made anew only when they change, so that nobody loses focus or a message.
    #note(name, tone, key, { title = key, values = {}, lines = [], actions = [], body, slot } = {}) {
      const card = this.#cards.get(name) ?? this.#make(name);
      const said = JSON.stringify([slot, title, lines, values, language(this)]);
      const offered = JSON.stringify([actions.map(([text]) => text), language(this)]);
      card.calls = Object.fromEntries(actions);
      card.values = values;
      if (tone !== card.tone) {
        card.tone = tone;
        card.box.className = `card ${tone}`;
        card.box.setAttribute("part", `card ${tone}`);
        card.box.querySelector("svg")?.remove();
        card.box.prepend(h("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, h("path", { d: ICONS[tone] })));
      }
      if (said !== card.said) {
        card.said = said;
        const line = (kind, text, own, more) => h("p", { class: kind, part: kind, ...more }, ...sentence(this, textOf(this, text), { ...values, ...own }));
        card.nodes = [line("title", title, {}, { id: name, tabindex: "-1" }), ...lines.map((one) => line("detail", ...[one].flat()))];
        card.text.replaceChildren(...(slot ? [h("slot", { name: slot }, ...card.nodes)] : card.nodes));
        if (card.told !== title + values.name) this.#announce(card.nodes, tone !== "quiet");
        card.told = title + values.name;
      }
      if (offered !== card.offered) this.#offer(card, name, actions, offered);
      if (body) card.body.replaceChildren(body);
    }

    #make(name) {
      const card = { text: h("div", { class: "text" }), actions: h("div", { class: "actions", part: "actions" }), body: h("div", { class: "body" }) };
      card.box = h("div", { role: "group", "aria-labelledby": name }, card.text, card.actions, card.body);
      this.#cards.set(name, card);
      this.#list[name === "state" ? "prepend" : "append"](card.box);
      return card;
    }

    #offer(card, name, actions, offered) {
      const focused = card.box.contains(this.shadowRoot.activeElement);
      card.offered = offered;
      card.body.replaceChildren();
      card.actions.replaceChildren(...actions.map(([text]) => {
        const call = (typed) => (card.calls[text] ?? (() => this.#clear(name)))(typed);
        const label = textOf(this, `${text}Label`);
        const click = ({ target }) => (label === `${text}Label` ? call() : this.#prompt(card, text, label, call, target));
        return h("button", { type: "button", part: `button ${text}`, click }, textOf(this, text));
      }), ...(name === "state" ? [h("slot", { name: "actions" })] : []));
      if (focused) (card.actions.querySelector("button") ?? card.text.querySelector(".title")).focus();
    }

    // Asks for a line of text below the buttons; why someone takes over must be said.
    #prompt(card, text, label, call, button) {
      const needed = text === "takeOver";
      const input = h("input", { maxlength: "255", required: needed && "", part: "input" });
      const close = () => {
        card.body.replaceChildren();
        button.focus();
      };
      const submit = (event) => {
        event.preventDefault();
        close();
        call(input.value);
      };
      card.body.replaceChildren(h("form", { class: "prompt", submit, keydown: ({ key }) => key === "Escape" && close() },
        h("label", {}, ...sentence(this, label, card.values), input),
        h("div", { class: "actions" }, h("button", { part: "button send" }, textOf(this, needed ? text : "send")),
          h("button", { type: "button", part: "button cancel", click: close }, textOf(this, "cancel")))));
      input.focus();
    }
  }

  // ---- <lock-badge>: one session, one look-up and one subscription for all of a page ----

  class Board {
    static #all = {};

    // settings: the badge, or what is around it, with session-src and server
    static of(settings) {
      const work = new Work(settings);
      return (Board.#all[`${work.server} ${work.source}`] ??= new Board(work));
    }

    #work;
    #badges = new Map(); // resource → badges
    #asked = new Set(); // to look up
    #ends = new Map(); // resource → when its lock ends by itself
    #timer;
    #opening;
    #follower;

    constructor(work) {
      this.#work = work;
      const tick = () => this.#tick();
      const all = () => this.#ask(this.#badges.keys());
      this.#follower = { work, resources: () => [...this.#badges.keys()], hear: ({ resource }) => resource && this.#ask([resource]), look: all, tick };
      setInterval(tick, 1000);
      document.addEventListener("visibilitychange", tick);
      addEventListener("pagehide", () => this.#close(true));
      addEventListener("pageshow", ({ persisted }) => persisted && all());
    }

    add(resource, badge) {
      if (!this.#badges.has(resource)) this.#badges.set(resource, new Set());
      this.#badges.get(resource).add(badge);
      this.#ask([resource]);
    }

    remove(resource, badge) {
      this.#badges.get(resource).delete(badge);
      if (this.#badges.get(resource).size) return;
      this.#badges.delete(resource);
      this.#ends.delete(resource);
    }

    #close(going) {
      this.#opening = undefined;
      this.#work.close(going);
      this.#work.hub.remove(this.#follower);
    }

    // All that is asked for within a moment is one question.
    #ask(resources) {
      for (const resource of resources) this.#asked.add(resource);
      this.#timer ??= setTimeout(() => this.#lookUp(), 60);
    }

    async #lookUp() {
      const [first] = this.#badges.keys();
      if (first) await (this.#opening ??= this.#work.open(first).then(() => this.#work.hub.add(this.#follower)));
      this.#timer = undefined;
      const resources = [...this.#asked].filter((one) => this.#badges.has(one)).slice(0, RESOURCES_MAX);
      if (!this.#work.id) this.#opening = undefined;
      if (!this.#work.id || !resources.length) return;
      this.#asked.clear();
      this.#work.hub.changed();
      const { status, data } = await this.#work.api("POST", "/v1/locks/lookup", { resources });
      if (status === 200) data.resources.forEach((one) => this.#show(one));
      else resources.forEach((one) => this.#asked.add(one)); // with the next tick
    }

    #show({ resource, holders }) {
      this.#ends.set(resource, Math.min(...holders.map(({ expires }) => Date.parse(expires))) - this.#work.skew + 300);
      this.#badges.get(resource)?.forEach((badge) => badge.show(holders, this.#work.user));
    }

    async #tick() {
      const now = Date.now();
      const work = this.#work;
      work.hub.tick();
      const over = [...this.#ends].filter(([, ends]) => now > ends).map(([resource]) => resource);
      if (over.length || this.#asked.size) this.#ask(over);
      if (!work.id || now - work.beaten < work.idle / 3) return;
      work.beaten = now;
      const answer = await work.beat();
      if (answer.status === 200 || undecided(answer)) return;
      this.#close();
      this.#ask(this.#badges.keys());
    }
  }

  class LockBadge extends HTMLElement {
    static observedAttributes = ["resource"];

    #board;
    #resource;

    constructor() {
      super();
      this.attachShadow({ mode: "open" }).adoptedStyleSheets = [BADGE];
    }

    connectedCallback() {
      const settings = this.closest("[session-src]") ?? document.querySelector("[session-src]");
      this.#resource = this.getAttribute("resource");
      this.show([]);
      if (!settings || !this.#resource) return;
      this.#board = Board.of(settings);
      this.#board.add(this.#resource, this);
    }

    disconnectedCallback() {
      this.#board?.remove(this.#resource, this);
      this.#board = undefined;
    }

    attributeChangedCallback() {
      if (!this.#board) return;
      this.disconnectedCallback();
      this.connectedCallback();
    }

    // Called by the board.
    show(holders, user) {
      const [first] = holders;
      const own = first && first.user === user;
      this.setAttribute("state", own ? "own" : first ? "held" : "free");
      if (!first) return this.shadowRoot.replaceChildren();
      const template = own ? textOf(this, "badgeOwn") : holders.length > 1 ? textOf(this, "badgeMore") : this.getAttribute("text") ?? textOf(this, "badge");
      return this.shadowRoot.replaceChildren(h("span", { class: own ? "badge own" : "badge", part: "badge" },
        h("span", {}, ...sentence(this, template, { ...first, count: holders.length - 1 }))));
    }
  }

  customElements.define("edit-lock", EditLock);
  customElements.define("lock-badge", LockBadge);
})();
