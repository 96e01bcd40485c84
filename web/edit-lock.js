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

  const TEXTS = {
    en: {
      connecting: "Opening…",
      held: "You are editing this",
      heldMore: "Since {since}. Others see that you have it.",
      handed: "{name} has handed this over to you",
      editing: "You are editing this",
      editingMore: "Others can edit it too; you are told when someone saves.",
      reading: "You are reading this",
      readingMore: "Nobody changes it while you do.",
      refused: "{name} is editing this",
      refusedReading: "{name} is reading this",
      also: "Also here: {name}, since {since}.",
      since: "Since {since}.",
      sinceFor: "Since {since}, for “{purpose}”.",
      until: "It frees when {name} finishes, or at {until} if that page goes silent.",
      own: "You have this open somewhere else",
      ownTab: "You have this open in another tab",
      ownMore: "Open there since {since}. One of your pages at a time can edit it.",
      here: "Continue here",
      retry: "Try again",
      ask: "Ask to release",
      askLabel: "Message to {name} (optional)",
      takeOver: "Take over",
      reasonLabel: "Why? {name} is told, and it is kept",
      send: "Send",
      cancel: "Cancel",
      asked: "You asked {name} at {at}",
      askedMore: "You are told here as soon as it is free.",
      declined: "{name} keeps it for now",
      quote: "“{text}”",
      freed: "This is free now",
      freedMore: "{name} has finished. The newest state is loaded before you begin.",
      enter: "Edit it now",
      edit: "Edit",
      stop: "Stop editing",
      expired: "Your lock has expired",
      expiredBy: "Your lock expired, and {name} has the record now",
      forced: "{name} has taken this over",
      ended: "Your editing session has ended",
      moved: "You went on in another place",
      handedOver: "You handed this over to {name}",
      released: "You are not editing this",
      saved: "Saved at {at}",
      kept: "What you typed is still here, and is kept in this browser until {until}.",
      still: "What you typed is still here. Copy what you need before you leave.",
      again: "Edit again",
      offline: "No connection since {at}",
      offlineMore: "Go on typing. Your lock lasts until {until}; it is renewed when the connection is back.",
      silent: "No connection, and your time is up",
      silentMore: "Nothing can be changed until it is known whether the record is still yours.",
      ending: "Your lock ends at {until}",
      endingMore: "Save before that, or keep it longer.",
      longer: "Keep it longer",
      back: "Welcome back",
      backMore: "You were away from {from} to {to}. The record is still yours.",
      ok: "OK",
      request: "{name} asks for this",
      requestMore: "Asked at {at}.",
      handOver: "Hand over",
      release: "Release",
      decline: "Decline",
      declineLabel: "Message to {name} (optional)",
      draft: "You have unsaved text from {at}",
      draftMore: "It was kept in this browser when you lost the record or the page.",
      restore: "Put it back",
      discard: "Discard",
      restored: "Your unsaved text is back",
      changed: "{name} has just saved this",
      deleted: "{name} has deleted this",
      changedMore: "At {at}. Your text is untouched; compare before you save.",
      compare: "Compare",
      stale: "{name} saved this before you",
      staleMore: "Nothing is lost. Choose what to keep, field by field, then save again.",
      draftStale: "The record has changed since you typed",
      someone: "Someone else",
      mine: "Mine",
      theirs: "Theirs",
      merged: "Both, merged",
      allMine: "All mine",
      allTheirs: "All theirs",
      use: "Use these",
      choose: "Choose for every field first",
      empty: "(empty)",
      yes: "yes",
      no: "no",
      same: "Yours and theirs are the same now",
      unavailable: "The lock service does not answer",
      unavailableMore: "Nothing can be edited for the moment; this page tries again by itself.",
      signedOut: "You are signed out",
      signedOutMore: "Sign in again, in another tab if you like, and try again here.",
      failed: "This can't be edited",
      noRecord: "The record could not be loaded",
      notSaved: "Not saved",
      notSavedMore: "The server did not take it. Your text is untouched; try again.",
      badge: "{name} since {since}",
      badgeOwn: "You since {since}",
      badgeMore: "{name} and {count} more since {since}",
    },
    de: {
      connecting: "Wird geöffnet …",
      held: "Sie bearbeiten diesen Datensatz",
      heldMore: "Seit {since}. Andere sehen, dass Sie ihn haben.",
      handed: "{name} hat Ihnen den Datensatz übergeben",
      editing: "Sie bearbeiten diesen Datensatz",
      editingMore: "Andere können das auch; Sie erfahren, wenn jemand speichert.",
      reading: "Sie lesen diesen Datensatz",
      readingMore: "Solange ändert ihn niemand.",
      refused: "{name} bearbeitet diesen Datensatz",
      refusedReading: "{name} liest diesen Datensatz",
      also: "Auch hier: {name}, seit {since}.",
      since: "Seit {since}.",
      sinceFor: "Seit {since}, für „{purpose}“.",
      until: "Er wird frei, wenn {name} fertig ist, oder um {until}, wenn sich die Seite dort nicht mehr meldet.",
      own: "Sie haben diesen Datensatz woanders offen",
      ownTab: "Sie haben diesen Datensatz in einem anderen Tab offen",
      ownMore: "Dort offen seit {since}. Nur eine Ihrer Seiten kann ihn bearbeiten.",
      here: "Hier weitermachen",
      retry: "Noch einmal versuchen",
      ask: "Um Freigabe bitten",
      askLabel: "Nachricht an {name} (freiwillig)",
      takeOver: "Übernehmen",
      reasonLabel: "Warum? {name} erfährt es, und es wird festgehalten",
      send: "Senden",
      cancel: "Abbrechen",
      asked: "Sie haben {name} um {at} gebeten",
      askedMore: "Sie erfahren hier, sobald er frei ist.",
      declined: "{name} behält ihn vorerst",
      quote: "„{text}“",
      freed: "Der Datensatz ist frei",
      freedMore: "{name} ist fertig. Vor dem Bearbeiten wird der neueste Stand geladen.",
      enter: "Jetzt bearbeiten",
      edit: "Bearbeiten",
      stop: "Bearbeiten beenden",
      expired: "Ihre Sperre ist abgelaufen",
      expiredBy: "Ihre Sperre ist abgelaufen; {name} hat den Datensatz jetzt",
      forced: "{name} hat den Datensatz übernommen",
      ended: "Ihre Bearbeitung ist beendet",
      moved: "Sie haben woanders weitergemacht",
      handedOver: "Sie haben den Datensatz an {name} übergeben",
      released: "Sie bearbeiten diesen Datensatz nicht",
      saved: "Gespeichert um {at}",
      kept: "Ihr Text steht noch hier und bleibt bis {until} in diesem Browser.",
      still: "Ihr Text steht noch hier. Kopieren Sie, was Sie brauchen, bevor Sie gehen.",
      again: "Wieder bearbeiten",
      offline: "Keine Verbindung seit {at}",
      offlineMore: "Schreiben Sie weiter. Ihre Sperre gilt bis {until} und wird verlängert, sobald die Verbindung zurück ist.",
      silent: "Keine Verbindung, und Ihre Zeit ist um",
      silentMore: "Nichts lässt sich ändern, bis feststeht, ob der Datensatz noch Ihrer ist.",
      ending: "Ihre Sperre endet um {until}",
      endingMore: "Speichern Sie vorher, oder behalten Sie ihn länger.",
      longer: "Länger behalten",
      back: "Willkommen zurück",
      backMore: "Sie waren von {from} bis {to} weg. Der Datensatz ist noch Ihrer.",
      ok: "OK",
      request: "{name} bittet um diesen Datensatz",
      requestMore: "Um {at}.",
      handOver: "Übergeben",
      release: "Freigeben",
      decline: "Ablehnen",
      declineLabel: "Nachricht an {name} (freiwillig)",
      draft: "Sie haben nicht gespeicherten Text von {at}",
      draftMore: "Er blieb in diesem Browser, als Sie den Datensatz oder die Seite verloren.",
      restore: "Zurückholen",
      discard: "Verwerfen",
      restored: "Ihr nicht gespeicherter Text ist wieder da",
      changed: "{name} hat gerade gespeichert",
      deleted: "{name} hat den Datensatz gelöscht",
      changedMore: "Um {at}. Ihr Text ist unverändert; vergleichen Sie vor dem Speichern.",
      compare: "Vergleichen",
      stale: "{name} hat vor Ihnen gespeichert",
      staleMore: "Nichts ist verloren. Wählen Sie Feld für Feld, was bleibt, und speichern Sie dann noch einmal.",
      draftStale: "Der Datensatz hat sich seitdem geändert",
      someone: "Jemand anders",
      mine: "Meins",
      theirs: "Das andere",
      merged: "Beides, vereint",
      allMine: "Alles meins",
      allTheirs: "Alles das andere",
      use: "So übernehmen",
      choose: "Wählen Sie zuerst für jedes Feld",
      empty: "(leer)",
      yes: "ja",
      no: "nein",
      same: "Beide Stände sind jetzt gleich",
      unavailable: "Der Sperrdienst antwortet nicht",
      unavailableMore: "Im Moment lässt sich nichts bearbeiten; diese Seite versucht es von selbst wieder.",
      signedOut: "Sie sind abgemeldet",
      signedOutMore: "Melden Sie sich wieder an, gern in einem anderen Tab, und versuchen Sie es hier noch einmal.",
      failed: "Das lässt sich nicht bearbeiten",
      noRecord: "Der Datensatz ließ sich nicht laden",
      notSaved: "Nicht gespeichert",
      notSavedMore: "Der Server hat es nicht angenommen. Ihr Text ist unverändert; versuchen Sie es noch einmal.",
      badge: "{name} seit {since}",
      badgeOwn: "Sie seit {since}",
      badgeMore: "{name} und {count} weitere seit {since}",
    },
  };

  // ---- the look: as a constructed sheet, which a Content-Security-Policy without inline styles allows ----

  const sheet = (css) => {
    const it = new CSSStyleSheet();
    it.replaceSync(css);
    return it;
  };

  const COLOURS = `
    --ink: light-dark(#1c2330, #e8ebf0); --soft: light-dark(#525c6c, #aab3c2);
    --quiet: light-dark(#f6f7f9, #20252d); --quiet-line: light-dark(#e0e4ea, #353d49); --quiet-tone: light-dark(#1f7a4d, #5fd39b);
    --wait: light-dark(#fff8ea, #2c2616); --wait-line: light-dark(#f0dcae, #57481f); --wait-tone: light-dark(#8a5a00, #f2bf5e);
    --good: light-dark(#eefaf3, #15291f); --good-line: light-dark(#bfe6cf, #2a5a40); --good-tone: light-dark(#17693f, #6bdca4);
    --bad: light-dark(#fef2f1, #301c1c); --bad-line: light-dark(#f4cfcb, #6a3330); --bad-tone: light-dark(#b3261e, #ff9d94);
    --info: light-dark(#eff5ff, #18243a); --info-line: light-dark(#c9dcfb, #2c4672); --info-tone: light-dark(#1d55c4, #8db8ff);`;

  const LOOK = sheet(`
    :host { ${COLOURS} display: block; font: 400 .9375rem/1.45 var(--edit-lock-font, system-ui, sans-serif); color: var(--ink); }
    :host([hidden]) { display: none; }
    .form { font: initial; color: initial; display: contents; }
    .cards { display: grid; gap: .5rem; margin-block-end: 1rem; }
    .card { --tone: var(--info-tone); display: grid; grid-template-columns: auto 1fr auto; gap: .25rem .75rem; align-items: center;
      padding: .75rem .875rem; border: 1px solid var(--info-line); border-radius: var(--edit-lock-radius, 12px); background: var(--info); }
    .quiet { --tone: var(--quiet-tone); background: var(--quiet); border-color: var(--quiet-line); padding-block: .4375rem; }
    .wait { --tone: var(--wait-tone); background: var(--wait); border-color: var(--wait-line); }
    .good { --tone: var(--good-tone); background: var(--good); border-color: var(--good-line); }
    .bad { --tone: var(--bad-tone); background: var(--bad); border-color: var(--bad-line); }
    svg { inline-size: 1.25rem; block-size: 1.25rem; color: var(--tone); fill: none; stroke: currentColor; stroke-width: 1.75;
      stroke-linecap: round; stroke-linejoin: round; align-self: start; margin-block-start: .0625rem; }
    p { margin: 0; overflow-wrap: anywhere; }
    .text { min-inline-size: 0; }
    .title { font-weight: 600; outline: 0; }
    .detail { color: var(--soft); font-size: .875rem; }
    .quiet .text { display: flex; flex-wrap: wrap; gap: 0 .625rem; align-items: baseline; }
    .actions { display: flex; flex-wrap: wrap; gap: .5rem; justify-content: end; }
    button { font: inherit; font-size: .875rem; font-weight: 550; min-block-size: 2.125rem; padding: .25rem .8125rem; cursor: pointer;
      color: var(--ink); background: light-dark(#fff, #2b323d); border: 1px solid light-dark(#c4cbd6, #4b5666); border-radius: 8px; }
    button:hover { border-color: var(--tone); }
    button.primary { color: light-dark(#fff, #10151c); background: var(--tone); border-color: transparent; }
    button.primary:hover { filter: brightness(1.08); }
    .quiet button { min-block-size: 1.875rem; background: none; border-color: transparent; color: var(--soft); }
    .quiet button:hover { color: var(--ink); border-color: var(--quiet-line); }
    :focus-visible { outline: 2px solid var(--info-tone); outline-offset: 2px; }
    .body { grid-column: 1 / -1; }
    .prompt { display: grid; gap: .5rem; padding-block-start: .625rem; }
    label { font-size: .875rem; color: var(--soft); }
    .prompt input { font: inherit; display: block; box-sizing: border-box; inline-size: 100%; margin-block-start: .25rem; padding: .4375rem .625rem;
      color: var(--ink); background: light-dark(#fff, #14181e); border: 1px solid light-dark(#8993a3, #6b7789); border-radius: 8px; }
    .sr { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
    .merge { display: grid; gap: .75rem; padding-block-start: .75rem; }
    fieldset { margin: 0; padding: 0; border: 0; min-inline-size: 0; }
    legend { padding: 0; font-weight: 600; font-size: .875rem; margin-block-end: .3125rem; }
    .choices { display: grid; gap: .375rem; grid-template-columns: repeat(auto-fit, minmax(min(13rem, 100%), 1fr)); }
    .choice { display: grid; grid-template-columns: auto 1fr; gap: .0625rem .5rem; align-items: start; padding: .5rem .625rem; cursor: pointer;
      background: light-dark(#fff, #14181e); border: 1px solid light-dark(#d5dae2, #414b59); border-radius: 8px; min-inline-size: 0; }
    .choice:has(:checked) { border-color: var(--tone); box-shadow: inset 0 0 0 1px var(--tone); }
    .choice input { accent-color: var(--tone); margin: .1875rem 0 0; }
    .choice .value { grid-column: 2; color: var(--ink); white-space: pre-wrap; overflow-wrap: anywhere; max-block-size: 12rem; overflow: auto; }
    mark { color: inherit; background: light-dark(#ffe9a8, #5c4a12); border-radius: 3px; }
    .row { display: flex; flex-wrap: wrap; gap: .5rem; }
    @media (max-width: 34rem) {
      .card { grid-template-columns: auto 1fr; }
      .actions { grid-column: 1 / -1; justify-content: start; padding-block-start: .375rem; }
      .actions:not(:has(*)) { display: none; }
      .quiet { grid-template-columns: auto 1fr auto; }
      .quiet .actions { grid-column: auto; padding: 0; }
      .card:not(.quiet) .actions button { flex: 1 1 auto; min-block-size: 2.5rem; }
    }
    @media (prefers-reduced-motion: no-preference) {
      .card { animation: in .18s ease-out; }
      @keyframes in { from { opacity: 0; translate: 0 -4px; } }
    }
    @media (forced-colors: active) { .card, button { border-color: CanvasText; } }`);

  const BADGE = sheet(`
    :host { ${COLOURS} display: inline-block; max-inline-size: 100%; vertical-align: middle; }
    :host([hidden]), :host([state="free"]) { display: none; }
    .badge { display: inline-flex; align-items: center; gap: .375rem; max-inline-size: 100%; box-sizing: border-box; padding: .0625rem .5625rem;
      font: 500 .8125rem/1.5 var(--edit-lock-font, system-ui, sans-serif); color: var(--wait-tone); background: var(--wait);
      border: 1px solid var(--wait-line); border-radius: 99px; }
    .badge.own { color: var(--good-tone); background: var(--good); border-color: var(--good-line); }
    .badge::before { content: ""; flex: none; inline-size: .4375rem; block-size: .4375rem; border-radius: 50%; background: currentColor; }
    .badge span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }`);

  // By tone: a pencil, an hourglass, a tick, a sign of warning, an i.
  const ICONS = {
    quiet: "M4 20h4L19 9a2.8 2.8 0 0 0-4-4L4 16zM13 7l4 4",
    wait: "M6 11h12v9H6zM9 11V8a3 3 0 0 1 6 0v3",
    good: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M8 12l3 3 5-6",
    bad: "M12 4 2.5 20h19zM12 10v4M12 17v.01",
    info: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 11v5M12 8v.01",
  };

  // ---- helpers ----

  const SVG = "http://www.w3.org/2000/svg";
  const HOUR = 3600e3;
  const script = document.currentScript;

  function h(tag, attributes, ...children) {
    const it = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {}))
      if (typeof value === "function") it.addEventListener(name, value);
      else if (value !== undefined && value !== false) it.setAttribute(name, value === true ? "" : value);
    it.append(...children);
    return it;
  }

  function icon(tone) {
    const it = document.createElementNS(SVG, "svg");
    it.setAttribute("viewBox", "0 0 24 24");
    it.setAttribute("aria-hidden", "true");
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", ICONS[tone]);
    it.append(path);
    return it;
  }

  const language = (element) => element.lang || element.closest("[lang]")?.lang || navigator.language || "en";

  function texts(element) {
    const own = language(element);
    return { ...TEXTS.en, ...TEXTS[own.split("-")[0]], ...TEXTS[own], ...element.texts };
  }

  // The text as nodes. What is filled in is isolated, so that no name turns the sentence around.
  function sentence(template, values = {}) {
    return template.split(/(\{\w+\})/).map((piece) => {
      const value = values[piece.slice(1, -1)];
      return piece[0] === "{" && value !== undefined ? h("bdi", null, String(value)) : piece;
    });
  }

  // The time of day where the person is, with the day if that is another than today.
  function clock(element, when) {
    const time = new Date(when);
    const own = language(element);
    const locale = navigator.language?.startsWith(own) ? navigator.language : own;
    const today = time.toDateString() === new Date().toDateString();
    const format = { hour: "numeric", minute: "2-digit", ...(!today && { weekday: "short", day: "numeric", month: "short" }) };
    try {
      return time.toLocaleString(locale, format);
    } catch {
      return time.toLocaleString(undefined, format); // lang is not a language
    }
  }

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
        headers: { ...(body && { "Content-Type": "application/json" }), ...headers },
        body: body && JSON.stringify(body),
        signal: AbortSignal.timeout(10000),
        ...more,
      });
      return { status: answer.status, data: (await answer.json().catch(() => null)) ?? {} };
    } catch {
      return { status: 0, data: {} };
    }
  }

  // Whether the same question may be answered otherwise soon.
  const undecided = ({ status, data }) =>
    status === 0 || status >= 500 || status === 408 || status === 429 || (status === 423 && data.code !== "locked");

  const lockPath = (resource) => {
    const [, type, id] = /^([^/]*)\/([^]*)$/.exec(resource) ?? [null, resource, ""];
    return `/v1/locks/${type}/${encodeURIComponent(id)}`;
  };

  // Is a page of this browser at work with that session? null: can't be told.
  async function isOpenHere(session) {
    if (!navigator.locks) return null;
    const { held } = await navigator.locks.query();
    return held.some(({ name }) => name === `holdfast ${session}`);
  }

  // ---- three-way merge ----

  const plain = (value) =>
    Array.isArray(value) ? value.map(String) : typeof value === "boolean" ? value : String(value ?? "").replace(/\r\n?/g, "\n");
  const same = (a, b) => JSON.stringify(plain(a)) === JSON.stringify(plain(b));

  // Where `text` differs from `base`, in words: [from, to) of the base is replaced by `words`.
  function change(base, text) {
    const [old, now] = [base, text].map((whole) => whole.split(/(\s+)/));
    let from = 0, end = 0;
    while (from < old.length && from < now.length && old[from] === now[from]) from++;
    while (end < old.length - from && end < now.length - from && old.at(-1 - end) === now.at(-1 - end)) end++;
    return { old, now, from, to: old.length - end, words: now.slice(from, now.length - end) };
  }

  // Both changes in one text; undefined if they touch.
  function merge(base, mine, theirs) {
    if ([base, mine, theirs].some((value) => typeof value !== "string")) return undefined;
    const [first, second] = [change(base, mine), change(base, theirs)].sort((a, b) => a.from - b.from || a.to - b.to);
    if (first.to >= second.from) return undefined;
    const { old } = first;
    return [...old.slice(0, first.from), ...first.words, ...old.slice(first.to, second.from), ...second.words, ...old.slice(second.to)].join("");
  }

  // What differs between mine and theirs, with what is to be proposed.
  function compare(base, mine, theirs) {
    return Object.keys(theirs).filter((name) => name in mine && !same(mine[name], theirs[name])).map((name) => {
      const [was, my, their] = [base[name], mine[name], theirs[name]].map(plain);
      const merged = same(was, my) || same(was, their) ? undefined : merge(was, my, their);
      const proposed = same(was, my) ? "theirs" : same(was, their) ? "mine" : merged !== undefined ? "merged" : undefined;
      return { name, was, values: { mine: my, theirs: their, ...(merged !== undefined && { merged }) }, proposed };
    });
  }

  // ---- drafts: what was typed and not saved, in this browser, for this person and record, until it ends ----

  const DRAFT = "holdfast-draft ";
  const storage = (call) => {
    try {
      return call(localStorage);
    } catch {
      return undefined; // switched off, or full
    }
  };

  const drafts = {
    sweep: () => storage((all) => {
      for (const key of Object.keys(all).filter((name) => name.startsWith(DRAFT)))
        if (!(drafts.read(key)?.until > Date.now())) all.removeItem(key);
    }),
    read: (key) => storage((all) => JSON.parse(all.getItem(key))),
    write: (key, draft) => storage((all) => (all.setItem(key, JSON.stringify(draft)), true)) ?? false,
    remove: (key) => storage((all) => all.removeItem(key)),
  };

  // Passwords, files, hidden fields, numbers of cards and one-time codes are never kept, nor what the page excludes.
  const keepable = (control) =>
    !["password", "file", "hidden"].includes(control.type) && !/\b(cc-|one-time|\w+-password)/.test(control.autocomplete ?? "") &&
    !control.closest("[data-no-draft]");

  // ---- events: one stream for all tabs of a browser, which opens six connections to a server at most. The tab that has the Web Lock reads
  //      it and tells the others by a BroadcastChannel; where either is missing, each page has a stream of its own while it is visible ----

  const RESOURCES_MAX = 1000;

  class Hub {
    static #all = new Map();

    static at(server) {
      if (!Hub.#all.has(server)) Hub.#all.set(server, new Hub(server));
      return Hub.#all.get(server);
    }

    #server;
    #tab = crypto.getRandomValues(new Uint32Array(2)).join();
    #follows = new Set(); // {work, resources(), hear(event), look(), tick(), give(to)}
    #others = new Map(); // what other tabs follow, by tab
    #channel;
    #shared;
    #leading;
    #resign; // ends the leadership
    #stop; // of the stream that is read
    #open = new Set(); // the resources of the stream
    #heard = 0;
    #ticked = 0;
    #wait = 500;
    #timer;

    constructor(server) {
      this.#server = server;
      this.#shared = Boolean(navigator.locks && globalThis.BroadcastChannel);
      if (!this.#shared) return;
      this.#channel = new BroadcastChannel(`holdfast ${server}`);
      this.#channel.onmessage = ({ data }) => this.#hear(data);
    }

    add(follower) {
      this.#follows.add(follower);
      this.changed();
      if (this.#follows.size === 1 && !this.#resign) this.#apply();
    }

    remove(follower) {
      if (this.#follows.delete(follower)) this.changed();
    }

    // What is followed is another now.
    changed() {
      this.#channel?.postMessage({ tab: this.#tab, wants: this.#mine() });
      this.#plan();
    }

    // Asks the page of that session to give its record to another.
    give(session, to) {
      this.#channel?.postMessage({ give: session, to });
    }

    // Called every second: a stream from which nothing comes is dead, the server sends something every 15 seconds.
    check() {
      if (this.#leading && this.#stop && Date.now() - this.#heard > 40e3) this.#stop.abort();
    }

    // The network is back, or the page.
    retry() {
      if (this.#leading && !this.#open.size) this.#connect();
    }

    leave() {
      this.#channel?.postMessage({ tab: this.#tab, wants: [] });
    }

    #mine() {
      return [...new Set([...this.#follows].flatMap((one) => one.resources()))];
    }

    #wanted() {
      return [...new Set([this.#mine(), ...this.#others.values()].flat())].slice(0, RESOURCES_MAX);
    }

    #apply() {
      this.#resign = () => {};
      const lead = () => new Promise((resolve) => {
        this.#resign = resolve;
        this.#leading = true;
        this.#channel?.postMessage({ who: true });
        this.#plan();
      });
      const over = () => {
        this.#leading = false;
        this.#resign = undefined;
        if (this.#follows.size) this.#apply();
      };
      (this.#shared ? navigator.locks.request(`holdfast events ${this.#server}`, lead) : lead()).then(over, over);
    }

    #plan(wait = 100) {
      clearTimeout(this.#timer);
      if (this.#leading) this.#timer = setTimeout(() => this.#connect(), wait);
    }

    // Opens a stream of what is wanted now. The one before is read until the new one is open: nothing is missed.
    async #connect() {
      clearTimeout(this.#timer);
      const work = [...this.#follows].find((one) => one.work.id)?.work;
      if (!work) {
        this.#stop?.abort();
        if (!this.#follows.size) this.#resign?.();
        return;
      }
      const wanted = this.#wanted();
      if (wanted.length === this.#open.size && wanted.every((one) => this.#open.has(one))) return;
      const stop = new AbortController();
      try {
        const answer = await fetch(`${this.#server}/v1/events`, {
          method: "POST",
          headers: { "Content-Type": "application/json", "Holdfast-Session": work.login },
          body: JSON.stringify({ resources: wanted }),
          signal: stop.signal,
        });
        if (answer.ok) await this.#read(answer.body, stop, wanted);
      } catch {
        // The end of a stream is the end of a stream.
      }
      if (this.#stop && this.#stop !== stop) return; // replaced by a newer one
      this.#stop = undefined;
      this.#open = new Set();
      this.#wait = Math.min(this.#wait * 2, 30e3);
      this.#plan(this.#wait * (0.5 + Math.random()));
    }

    async #read(body, stop, wanted) {
      const more = wanted.filter((one) => !this.#open.has(one));
      const before = this.#stop;
      this.#stop = stop;
      this.#open = new Set(wanted);
      this.#wait = 250;
      this.#heard = Date.now();
      before?.abort();
      this.#tell({ opened: more });
      let rest = "";
      for (const reader = body.pipeThrough(new TextDecoderStream()).getReader(); ; ) {
        const { done, value } = await reader.read();
        if (done) return;
        this.#heard = Date.now();
        const blocks = (rest + value).split("\n\n");
        rest = blocks.pop();
        for (const block of blocks) this.#block(block);
        // Timers of hidden pages are slow, what comes from the network is not: it is their clock.
        if (this.#heard - this.#ticked > 5000) {
          this.#ticked = this.#heard;
          this.#tell({ tick: true });
        }
      }
    }

    #block(block) {
      const data = /^data: ?(.*)$/m.exec(block)?.[1];
      if (/^event: ?(resync|restored)$/m.test(block)) this.#tell({ opened: [...this.#open] });
      else if (data) this.#tell({ event: JSON.parse(data) });
    }

    #tell(message) {
      this.#channel?.postMessage(message);
      this.#hear(message);
    }

    #hear({ tab, wants, who, opened, event, tick, give, to }) {
      if (who) this.#channel.postMessage({ tab: this.#tab, wants: this.#mine() });
      if (wants) {
        if (wants.length) this.#others.set(tab, wants);
        else this.#others.delete(tab);
        this.#plan();
      }
      for (const one of [...this.#follows]) {
        const mine = one.resources();
        if (opened?.some((resource) => mine.includes(resource))) one.look();
        if (event && (mine.includes(event.resource) || (!event.resource && event.session === one.work.id))) one.hear(event);
        if (tick) one.tick();
        if (give && give === one.work.id) one.give?.(to);
      }
    }
  }

  // ---- a session with the server: opened by the application, kept alive by beats, closed with the page ----

  class Work {
    idle = 60;
    skew = 0; // the server's clock minus ours
    beaten = 0; // when the last beat that was answered was sent

    // element: has the attributes server, session-src and csrf
    constructor(element) {
      const server = element.getAttribute("server") ?? (script?.src ? new URL(script.src).origin : location.origin);
      this.server = server.replace(/\/+$/, "");
      this.source = element.getAttribute("session-src");
      const csrf = element.getAttribute("csrf");
      this.csrf = csrf ? { "X-CSRF-Token": csrf, "X-CSRFToken": csrf } : {};
      this.hub = Hub.at(this.server);
    }

    // Asks the application, with its cookie.
    own(url, method, body) {
      return ask(url, method, body, { Accept: "application/json", ...this.csrf }, { credentials: "same-origin", cache: "no-store" });
    }

    async open(resource) {
      const answer = await this.own(this.source, "POST", { resource });
      const [, id, key] = /^(\w+)\.(\w+)$/.exec(answer.data.session ?? "") ?? [];
      if (answer.status !== 200 || !id) return answer;
      const { session, name, user, idle_seconds: idle, may_take_over: mayTakeOver } = answer.data;
      Object.assign(this, { id, key, login: session, name, user, idle: idle || 60, mayTakeOver: Boolean(mayTakeOver), beaten: Date.now() });
      navigator.locks?.request(`holdfast ${id}`, () => new Promise((resolve) => (this.leave = resolve)));
      return answer;
    }

    api(method, path, body, headers, more) {
      return ask(this.server + path, method, body, { "Holdfast-Session": this.login, ...headers }, more);
    }

    async beat() {
      const sent = Date.now();
      const answer = await this.api("POST", `/v1/sessions/${this.id}/beat`, undefined, undefined, { keepalive: true });
      if (answer.status === 200) {
        this.beaten = sent;
        this.skew = Date.parse(answer.data.expires) - this.idle * 1000 - Date.now();
      }
      return answer;
    }

    // beacon: the page goes
    close(beacon) {
      this.leave?.();
      if (!this.id) return undefined;
      const { id, login, key } = this;
      this.id = undefined;
      if (beacon) return navigator.sendBeacon(`${this.server}/v1/sessions/${id}/close`, JSON.stringify({ key }));
      return ask(`${this.server}/v1/sessions/${id}`, "DELETE", undefined, { "Holdfast-Session": login }, { keepalive: true });
    }
  }

  // ---- <edit-lock> ----

  const TEXT_TYPES = new Set(
    "text search url tel email password date month week time datetime-local number textarea".split(" "));
  const CAN_EDIT = new Set(["held", "editing"]);
  const WAITING = new Set(["refused", "freed"]);

  class EditLock extends HTMLElement {
    static observedAttributes = ["resource"];
    static texts = TEXTS;

    #work;
    #lock; // what we hold
    #holders = [];
    #base = { version: 0, fields: {} }; // the record as it was loaded
    #form;
    #locked = new Map(); // control → [property, what it was]
    #hidden = {};
    #cards = new Map();
    #run = 0; // grows with every start: answers to older ones are dropped
    #seen = Date.now(); // when the person was here last
    #away;
    #beating = false;
    #failing = 0; // since when beats are not answered
    #nextTry = 0;
    #looking = false;
    #lookAgain = false;
    #expiry;
    #requests = [];
    #filling = false;
    #saving = false;
    #submitting = false;
    #follower;
    #observer;
    #interval;
    #abort;
    #typed;
    #dom;

    constructor() {
      super();
      const root = this.attachShadow({ mode: "open" });
      root.adoptedStyleSheets = [LOOK];
      this.#dom = {
        cards: h("div", { class: "cards", part: "cards" }),
        polite: h("div", { class: "sr", role: "status" }),
        urgent: h("div", { class: "sr", role: "alert" }),
      };
      root.append(this.#dom.polite, this.#dom.urgent, this.#dom.cards, h("div", { class: "form", part: "form" }, h("slot")));
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
      const now = this.#values();
      return CAN_EDIT.has(this.state) && Object.keys(now).some((name) => !same(now[name], this.#base.fields[name]));
    }

    // Takes the record, or tries again.
    acquire() {
      return this.#start();
    }

    // Gives the record back. The text stays as a draft; with discard it is dropped and the record shown as it was.
    release({ discard = false } = {}) {
      if (discard) this.#drop();
      return this.#leave("released", { discard });
    }

    // The page has saved by itself.
    saved(version) {
      this.#drop();
      if (version !== undefined) this.#base.version = version;
      this.#base.fields = this.#values();
      this.#emit("saved", { version: this.#base.version });
      if (this.#mode === "optimistic") {
        this.#carry();
        return this.#note("saved", { tone: "good", title: ["saved", { at: this.#time(Date.now()) }], brief: true });
      }
      return this.#leave("saved");
    }

    // The page's own save was refused: shows mine, theirs and merged. problem: what the server said.
    stale(problem = {}) {
      return this.#stale(problem);
    }

    // ---- life ----

    get #mode() {
      return this.getAttribute("mode") ?? "exclusive";
    }

    get #resource() {
      return this.getAttribute("resource") ?? "";
    }

    connectedCallback() {
      this.#abort = new AbortController();
      const { signal } = this.#abort;
      const on = (target, event, call, more) => target.addEventListener(event, call, { signal, ...more });
      on(this, "submit", (event) => this.#guardSubmit(event), { capture: true });
      on(this, "submit", (event) => this.#submit(event));
      on(this, "input", () => this.#keep());
      on(this, "change", () => this.#keep());
      on(this, "click", (event) => event.target.closest?.("[data-holdfast=cancel]") && this.release({ discard: true }));
      on(document, "visibilitychange", () => this.#visible());
      on(document, "resume", () => this.#tick());
      on(window, "online", () => this.#retry());
      on(window, "pagehide", () => this.#goes());
      on(window, "pageshow", ({ persisted }) => persisted && this.#start());
      this.#observer = new MutationObserver(() => this.#adopt());
      this.#observer.observe(this, { childList: true, subtree: true });
      this.#interval = setInterval(() => this.#tick(), 1000);
      this.#start();
    }

    // A framework may move the element: only one that stays away gives back.
    disconnectedCallback() {
      queueMicrotask(() => {
        if (this.isConnected) return;
        this.#keep(true);
        this.#abort.abort();
        this.#observer.disconnect();
        clearInterval(this.#interval);
        this.#close();
      });
    }

    attributeChangedCallback(name, before, now) {
      if (before !== null && before !== now && this.isConnected) {
        this.#keep(true);
        this.#start();
      }
    }

    // ---- begin ----

    async #start() {
      this.#close();
      const run = this.#run;
      this.#cards.forEach((card, key) => this.#note(key));
      this.#state("connecting", { tone: "quiet" });
      this.#adopt();
      if (!this.getAttribute("session-src") || (this.#mode !== "optimistic" && !this.getAttribute("record-src")))
        return this.#fail("failed", "edit-lock needs the attributes session-src and record-src.");
      drafts.sweep();
      const work = new Work(this);
      await this.#closeOlder(work);
      const answer = await work.open(this.#resource);
      if (run !== this.#run || !this.isConnected) return work.close();
      if (!work.id) return this.#noSession(answer);
      this.#work = work;
      this.#remember({});
      this.#failing = 0;
      this.#seen = Date.now();
      this.#follower = {
        work,
        resources: () => [this.#resource],
        hear: (event) => this.#hear(event),
        look: () => this.#look(),
        tick: () => this.#tick(),
        give: (to) => this.#handOver({ session: to }, "moved"),
      };
      work.hub.add(this.#follower);
      return this.#acquire(run);
    }

    #noSession(answer) {
      if (undecided(answer)) return this.#unavailable();
      if (answer.status === 200 || answer.status === 401) return this.#fail("signedOut");
      return this.#fail("failed", answer.data.message);
    }

    #unavailable() {
      this.#nextTry = Date.now() + 5000 + Math.random() * 5000;
      this.#state("unavailable", { tone: "bad", lines: [["unavailableMore"]], actions: [["retry", () => this.#start()]] });
    }

    // message: of a server, else our own text
    #fail(title, message) {
      const lines = message ? [["quote", { text: message }]] : TEXTS.en[`${title}More`] ? [[`${title}More`]] : [];
      this.#state("failed", { tone: "bad", title: [title], lines, actions: [["retry", () => this.#start()]], urgent: true });
    }

    async #acquire(run, mode = this.#mode) {
      const work = this.#work;
      if (mode === "optimistic") return this.#granted(run);
      const purpose = this.getAttribute("purpose") ?? "";
      const answer = await work.api("PUT", lockPath(this.#resource), { mode, ...(purpose && { purpose: cut(purpose) }) });
      if (run !== this.#run) return undefined;
      if (answer.status === 200 || answer.status === 201) return this.#granted(run, answer.data.locks[0]);
      if (answer.data.code === "locked") return this.#refused(answer.data.holders);
      if (undecided(answer)) return this.#unavailable();
      return this.#fail(answer.status === 401 || answer.status === 410 ? "ended" : "failed", answer.data.message);
    }

    // Ours: but the form is opened only with what is read now.
    async #granted(run, lock, from) {
      this.#lock = lock;
      this.#holders = [];
      clearTimeout(this.#expiry);
      const loaded = await this.#load();
      if (run !== this.#run || this.#lock !== lock) return;
      if (!loaded) {
        this.#state("failed", { tone: "bad", title: ["noRecord"], actions: [["retry", () => this.#granted(run, lock, from)]], urgent: true });
        return;
      }
      const mode = lock?.mode ?? "optimistic";
      const state = { optimistic: "editing", shared: "reading", exclusive: "held" }[mode];
      ["asked", "declined"].forEach((key) => this.#note(key));
      this.#show(state, from);
      this.#emit("held", { mode, fence: lock?.fence, version: this.#base.version, session: this.#work.id, state });
      if (CAN_EDIT.has(state)) this.#offerDraft();
      if (this.shadowRoot.activeElement) this.#focusForm();
      this.#look();
    }

    #show(state, from) {
      const stop = ["stop", () => this.release()];
      this.#state(state, {
        held: () => ({
          tone: from ? "good" : "quiet", urgent: Boolean(from), title: from ? ["handed", { name: from }] : ["held"],
          lines: [["heldMore", { since: this.#time(this.#lock.since) }]], actions: [stop],
        }),
        reading: () => ({ tone: "quiet", lines: [["readingMore"]], actions: [["edit", () => this.#acquire(this.#run, "exclusive")]] }),
        editing: () => ({ tone: "quiet", lines: [["editingMore"]], actions: [stop] }),
      }[state]());
    }

    // The newest fields, into the form. False: they could not be had.
    async #load() {
      const source = this.getAttribute("record-src");
      if (this.#mode === "optimistic" && this.hasAttribute("version") && !this.#base.loaded) {
        this.#base = { version: Number(this.getAttribute("version")), fields: this.#values(), loaded: true };
        this.#carry();
        return true;
      }
      const record = source && (await this.#record());
      if (!record) return false;
      this.#fill(record.fields);
      this.#base = { version: record.version, fields: this.#values(), loaded: true };
      this.#carry();
      return true;
    }

    async #record() {
      const { status, data } = await this.#work.own(this.getAttribute("record-src"), "GET");
      return status === 200 && data.fields ? { version: data.version ?? 0, fields: data.fields } : null;
    }

    // ---- others have it ----

    async #refused(holders) {
      const first = !WAITING.has(this.state);
      const changed = holders.map(({ session }) => session).join() !== this.#holders.map(({ session }) => session).join();
      const was = this.#holders[0]?.session;
      this.#holders = holders;
      this.#lock = undefined;
      const [holder, ...rest] = holders;
      const here = await isOpenHere(holder.session);
      const own = here || (this.#work.user !== undefined && holder.user === this.#work.user);
      const { name } = holder;
      const since = { since: this.#time(holder.since), purpose: holder.purpose };
      const lines = own ? [["ownMore", since]] : [
        [holder.purpose ? "sinceFor" : "since", since],
        ...rest.map((other) => ["also", { name: other.name, since: this.#time(other.since) }]),
        ["until", { name, until: this.#time(holder.expires) }],
      ];
      const takeOver = this.getAttribute("take-over-src") && this.#work.mayTakeOver;
      if (was && was !== holder.session) ["asked", "declined"].forEach((key) => this.#note(key));
      this.#state("refused", {
        tone: "wait", urgent: first || changed,
        title: own ? [here ? "ownTab" : "own"] : [holder.mode === "shared" ? "refusedReading" : "refused", { name }],
        lines,
        actions: [
          here && ["here", () => this.#work.hub.give(holder.session, this.#work.id), { primary: true }],
          ["retry", () => this.#acquire(this.#run, this.#lastMode)],
          !own && ["ask", (text) => this.#ask(text), { primary: true, prompt: ["askLabel", { name }] }],
          takeOver && ["takeOver", (text) => this.#takeOver(text), { prompt: ["reasonLabel", { name }], needed: true }],
        ],
      });
      if (first || changed) this.#emit("refused", { holders });
      this.#awaitExpiry();
    }

    get #lastMode() {
      return this.#mode === "optimistic" ? "exclusive" : this.#mode;
    }

    // Nobody is told when a session dies by itself: whoever waits looks then.
    #awaitExpiry() {
      clearTimeout(this.#expiry);
      const ends = Math.min(...this.#holders.map(({ expires }) => Date.parse(expires))) - this.#work.skew - Date.now();
      this.#expiry = setTimeout(() => this.#look(), Math.min(Math.max(ends, 0) + 300, 2 ** 31 - 1));
    }

    #freed() {
      const name = this.#holders[0]?.name;
      this.#holders = [];
      clearTimeout(this.#expiry);
      ["asked", "declined"].forEach((key) => this.#note(key));
      this.#state("freed", {
        tone: "good", urgent: true, lines: name ? [["freedMore", { name }]] : [],
        actions: [["enter", () => this.#acquire(this.#run, this.#lastMode), { primary: true }]],
      });
      this.#emit("freed", {});
    }

    async #ask(message) {
      const answer = await this.#work.api("POST", `${lockPath(this.#resource)}/request`, message ? { message: cut(message) } : {});
      if (answer.status !== 200) return this.#look();
      const name = this.#holders[0]?.name ?? "";
      this.#note("declined");
      return this.#note("asked", { tone: "info", title: ["asked", { name, at: this.#time(Date.now()) }], lines: [["askedMore"]] });
    }

    async #takeOver(reason) {
      const fence = this.#holders.length === 1 ? this.#holders[0].fence : undefined;
      const { status, data } = await this.#work.own(this.getAttribute("take-over-src"), "POST", { resource: this.#resource, reason: cut(reason), fence });
      if (status === 200) return this.#acquire(this.#run, this.#lastMode);
      return this.#note("problem", { tone: "bad", title: ["failed"], lines: data.message ? [["quote", { text: data.message }]] : [], brief: true, urgent: true });
    }

    // ---- what happens meanwhile ----

    #hear(event) {
      const mine = event.session === this.#work?.id;
      if (event.kind === "declined") {
        if (mine) this.#declined(event.reason);
        else this.#look();
      } else if (event.kind === "saved" || event.kind === "deleted") {
        if (this.state === "editing" && !mine && !this.#saving) this.#changed();
      } else this.#look();
    }

    #declined(message) {
      if (this.state !== "refused") return;
      const name = this.#holders[0]?.name ?? "";
      this.#note("asked");
      this.#note("declined", {
        tone: "wait", title: ["declined", { name }], lines: message ? [["quote", { text: message }]] : [], brief: true, urgent: true,
      });
      this.#emit("declined", { name, message });
    }

    // Reads who has it, once at a time.
    async #look() {
      if (this.#looking) return void (this.#lookAgain = true);
      if (!this.#work?.id || this.#mode === "optimistic") return this.state === "editing" ? this.#changed() : undefined;
      this.#looking = true;
      const run = this.#run;
      const { status, data } = await this.#work.api("GET", lockPath(this.#resource));
      this.#looking = false;
      if (run === this.#run && status === 200) this.#seenHolders(data);
      else if (run === this.#run && [401, 403, 410].includes(status)) this.#beat();
      if (this.#lookAgain) {
        this.#lookAgain = false;
        this.#look();
      }
      return undefined;
    }

    #seenHolders({ holders, requests }) {
      const mine = holders.find(({ session }) => session === this.#work.id);
      if (this.#lock) {
        if (!mine) this.#beat(); // tells how it went
        else {
          this.#lock = Object.assign(this.#lock, { expires: mine.expires });
          this.#asked(requests);
        }
      } else if (WAITING.has(this.state)) {
        const others = holders.filter((holder) => this.#mode !== "shared" || holder.mode === "exclusive");
        if (mine) this.#granted(this.#run, mine, this.#holders[0]?.name ?? "");
        else if (others.length) this.#refused(others);
        else if (this.state !== "freed") this.#freed();
      }
    }

    // Who asks for what we hold.
    #asked(requests) {
      const others = requests.filter(({ resource, session }) => resource === this.#resource && session !== this.#work.id);
      const fresh = others.filter(({ session, at }) => !this.#requests.some((old) => old.session === session && old.at === at));
      for (const { session } of this.#requests) if (!others.some((one) => one.session === session)) this.#note(`request ${session}`);
      this.#requests = others;
      for (const request of others) {
        const { session, name, message, at } = request;
        this.#note(`request ${session}`, {
          tone: "info", title: ["request", { name }], urgent: fresh.includes(request),
          lines: [message ? ["quote", { text: message }] : ["requestMore", { at: this.#time(at) }]],
          actions: [
            ["handOver", () => this.#handOver(request), { primary: true }],
            ["release", () => this.release()],
            ["decline", (text) => this.#decline(request, text), { prompt: ["declineLabel", { name }] }],
          ],
        });
      }
      if (fresh.length) this.#emit("requested", { requests: others });
    }

    async #handOver({ session, name }, why = "handedOver") {
      if (!this.#lock) return;
      this.#keep(true);
      const answer = await this.#work.api("POST", `${lockPath(this.#resource)}/hand-over`, { session }, { "Holdfast-Fence": this.#lock.fence });
      if (answer.status < 300 && answer.status) this.#lost(why, { by: name });
      else this.#look();
    }

    async #decline({ session }, message) {
      await this.#work.api("POST", `${lockPath(this.#resource)}/decline`, { session, ...(message && { message: cut(message) }) });
      this.#look();
    }

    // ---- beats ----

    // Every second, and when something shows that time has passed.
    #tick() {
      const now = Date.now();
      const work = this.#work;
      if (!work?.id) {
        if (this.state === "unavailable" && now > this.#nextTry) this.#start();
        return;
      }
      work.hub.check();
      if (!document.hidden) {
        if (now - this.#seen > Math.max(work.idle * 1000, 20e3)) this.#away = { from: this.#seen, to: now };
        this.#seen = now;
      }
      const due = this.#failing ? 2000 : (work.idle * 1000) / 3;
      if (now - Math.max(work.beaten, this.#nextTry) >= due) this.#beat();
      if (this.#lock || this.state === "editing") this.#warn(now);
    }

    async #beat() {
      if (this.#beating || !this.#work?.id) return;
      this.#beating = true;
      this.#nextTry = Date.now();
      const [run, work] = [this.#run, this.#work];
      const answer = await work.beat();
      this.#beating = false;
      if (run !== this.#run || work !== this.#work || !work.id) return;
      if (answer.status === 200) this.#beaten(answer.data);
      else if (undecided(answer)) {
        this.#failing ||= Date.now();
        this.#warn(Date.now());
      } else this.#lost("expired");
    }

    #beaten({ locks, lost, requests }) {
      const was = this.#failing;
      this.#failing = 0;
      this.#note("offline");
      if (this.#lock && locks === 0) {
        const { why, by, reason } = lost.find(({ resource }) => resource === this.#resource) ?? { why: "ended" };
        return this.#lost(why, { by, reason });
      }
      if (this.#lock) this.#asked(requests);
      else if (WAITING.has(this.state)) this.#look();
      else if (this.state === "editing") this.#changed();
      if (this.state === "silent") this.#show({ exclusive: "held", shared: "reading" }[this.#lock?.mode] ?? "editing");
      if (was) this.#work.hub.retry();
      if (this.#away) {
        const { from, to } = this.#away;
        this.#away = undefined;
        if (this.#lock) this.#note("back", {
          tone: "good", title: ["back"], lines: [["backMore", { from: this.#time(from), to: this.#time(to) }]], brief: true,
        });
      }
      return undefined;
    }

    // Before a lock ends, and when nothing is known of it any more.
    #warn(now) {
      const ends = this.#work.beaten + this.#work.idle * 1000;
      if (this.#lock && now > ends && this.state !== "silent") {
        this.#keep(true);
        this.#note("offline");
        this.#state("silent", { tone: "bad", lines: [["silentMore"], this.#keptLine()], urgent: true });
      } else if (this.#failing && this.state !== "silent") {
        const more = this.#lock ? [["offlineMore", { until: this.#time(ends) }]] : [];
        this.#note("offline", { tone: "wait", title: ["offline", { at: this.#time(this.#failing) }], lines: more, urgent: true });
      }
      if (!this.#lock) return;
      // Its own bound: not moved by beats.
      const left = Date.parse(this.#lock.expires) - this.#work.skew - now;
      const bound = Date.parse(this.#lock.expires) < this.#work.beaten + this.#work.skew + this.#work.idle * 1000 - 1500;
      if (left <= 0) this.#beat();
      if (!bound || left > 60e3 || this.state === "silent") return this.#note("ending");
      return this.#note("ending", {
        tone: "wait", title: ["ending", { until: this.#time(now + left) }], lines: [["endingMore"]], urgent: true,
        actions: [["longer", () => this.#renew()]],
      });
    }

    async #renew() {
      const { status, data } = await this.#work.api("PATCH", lockPath(this.#resource), {}, { "Holdfast-Fence": this.#lock.fence });
      if (status === 200) this.#lock.expires = data.expires;
      else this.#look();
    }

    #visible() {
      if (document.hidden) this.#keep(true);
      this.#tick();
      this.#beat();
      if (!document.hidden) this.#work?.hub.retry();
    }

    #retry() {
      this.#work?.hub.retry();
      if (this.state === "unavailable") this.#start();
      else this.#beat();
    }

    // ---- ends ----

    #lost(why, { by, reason } = {}) {
      const title = { forced: ["forced", { name: by }], expired: by ? ["expiredBy", { name: by }] : ["expired"], handedOver: ["handedOver", { name: by }] }[why];
      const had = Boolean(this.#lock) || this.state === "editing" || this.state === "silent";
      this.#keep(true);
      const lines = [reason && ["quote", { text: reason }], had && this.#keptLine()].filter(Boolean);
      this.#close();
      this.#cards.forEach((card, key) => this.#note(key));
      this.#state("lost", { tone: why === "handedOver" || why === "moved" ? "info" : "bad", title: title ?? [why], lines, urgent: true,
        actions: [["again", () => this.#start(), { primary: true }]] });
      this.#emit("lost", { why, by, reason });
    }

    #keptLine() {
      return this.#typed ? ["kept", { until: this.#time(this.#typed) }] : ["still"];
    }

    // Given back by the person: state is released or saved.
    async #leave(state, { discard } = {}) {
      const { fields } = this.#base;
      this.#keep(true);
      const ended = this.#close();
      this.#cards.forEach((card, key) => this.#note(key));
      const lines = state === "released" && this.#typed && !discard ? [this.#keptLine()] : [];
      this.#state(state, { tone: state === "saved" ? "good" : "quiet", title: [state, { at: this.#time(Date.now()) }], lines,
        actions: [["again", () => this.#start()]] });
      if (discard) this.#fill(fields);
      await ended;
    }

    // beacon: the page goes
    #close(beacon) {
      clearTimeout(this.#expiry);
      const work = this.#work;
      this.#work = this.#lock = undefined;
      this.#requests = [];
      this.#holders = [];
      this.#run++;
      if (!work) return undefined;
      work.hub.remove(this.#follower);
      if (!beacon) this.#remember(null);
      return work.close(beacon);
    }

    #goes() {
      if (!this.#work) return;
      this.#keep(true);
      this.#remember({ left: true, submitted: this.#submitting });
      this.#work.hub.leave();
      this.#close(true);
    }

    // What this tab has open, so that a reload, or a tab restored after a crash, is not in its own way.
    #remember(more) {
      try {
        const key = `holdfast ${this.#resource}`;
        if (more) sessionStorage.setItem(key, JSON.stringify({ login: this.#work.login, ...more }));
        else sessionStorage.removeItem(key);
      } catch {
        // Storage is switched off.
      }
    }

    async #closeOlder(work) {
      try {
        const { login, left, submitted } = JSON.parse(sessionStorage.getItem(`holdfast ${this.#resource}`)) ?? {};
        sessionStorage.removeItem(`holdfast ${this.#resource}`);
        this.#submitting = Boolean(submitted);
        if (!login) return;
        const [id] = login.split(".");
        // A copy of a tab has its storage too; the one it was copied from is still at work.
        if (left || (await isOpenHere(id)) === false)
          await ask(`${work.server}/v1/sessions/${id}`, "DELETE", undefined, { "Holdfast-Session": login }, { signal: AbortSignal.timeout(3000) });
      } catch {
        // Storage is switched off.
      }
    }

    // ---- saving ----

    #guardSubmit(event) {
      if (event.target !== this.#form) return;
      if (CAN_EDIT.has(this.state) && !this.#saving && !this.#cards.has("merge")) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      this.#announce(this.#cards.get(this.#cards.has("merge") ? "merge" : "state").title, true);
    }

    #submit(event) {
      if (event.target !== this.#form || event.defaultPrevented) return;
      if (this.getAttribute("save") === "fetch") {
        event.preventDefault();
        this.#save(event.submitter);
        return;
      }
      this.#keep(true, true);
      this.#submitting = true;
      // A framework may prevent it after us.
      setTimeout(() => event.defaultPrevented && (this.#submitting = false));
    }

    async #save(submitter) {
      this.#saving = true;
      this.#note("problem");
      const form = this.#form;
      const data = new FormData(form, submitter);
      const multipart = form.enctype === "multipart/form-data";
      const url = submitter?.getAttribute("formaction") ?? form.getAttribute("action") ?? location.href;
      const answer = await fetch(url, {
        method: "POST", body: multipart ? data : new URLSearchParams(data), credentials: "same-origin",
        headers: { Accept: "application/json", ...this.#work.csrf },
      }).catch(() => ({ status: 0 }));
      const said = (await answer.json?.().catch(() => null)) ?? {};
      this.#saving = false;
      if (answer.ok) {
        this.saved(said.version);
        if (answer.redirected) location.assign(answer.url);
      } else if (answer.status === 412 || said.code === "stale") await this.#stale(said);
      else if (answer.status === 409 || answer.status === 423) this.#lost("expired", { by: said.holders?.[0]?.name });
      else
        this.#note("problem", {
          tone: "bad", title: ["notSaved"], lines: [said.message ? ["quote", { text: said.message }] : ["notSavedMore"]], brief: true, urgent: true,
        });
    }

    // ---- someone else has saved ----

    // While someone edits without a lock: is it still the version that was loaded?
    async #changed() {
      const [, type, id] = /^([^/]*)\/([^]*)$/.exec(this.#resource);
      const { status, data } = await this.#work.api("GET", `/v1/versions/${type}/${encodeURIComponent(id)}`);
      const now = status === 410 ? data.present : status === 200 ? data : null;
      if (this.state !== "editing" || !now || now.version <= this.#base.version || this.#cards.has("merge")) return;
      const name = now.name || now.user || this.#text("someone");
      this.#note("changed", {
        tone: "wait", title: [now.gone ? "deleted" : "changed", { name }], lines: [["changedMore", { at: this.#time(now.saved) }]], urgent: true,
        actions: now.gone ? [] : [["compare", () => this.#stale({ present: now }), { primary: true }]],
      });
      this.#emit("stale", { saving: false, present: now });
    }

    async #stale(problem) {
      const theirs = await this.#record();
      if (!theirs) return this.#note("problem", { tone: "bad", title: ["noRecord"], brief: true, urgent: true });
      const name = problem.present?.name || problem.present?.user || this.#text("someone");
      const mine = this.#values();
      this.#note("changed");
      this.#emit("stale", { saving: true, base: this.#base, mine, theirs, present: problem.present });
      return this.#choose(this.#base.fields, mine, theirs, ["stale", { name }]);
    }

    // Mine, theirs and merged, field by field; what is chosen goes into the form, on top of theirs.
    #choose(base, mine, theirs, title) {
      const rows = compare(base, mine, theirs.fields);
      const done = (fields) => {
        this.#fill({ ...theirs.fields, ...fields });
        this.#base = { version: theirs.version, fields: { ...this.#values(), ...this.#only(theirs.fields) }, loaded: true };
        this.#carry();
        this.#note("merge");
        this.#keep();
        this.#focusForm();
      };
      if (!rows.length) {
        done({});
        return this.#note("same", { tone: "good", title: ["same"], brief: true });
      }
      return this.#note("merge", { tone: "wait", title, lines: [["staleMore"]], body: () => this.#table(rows, done), urgent: true });
    }

    #only(fields) {
      return Object.fromEntries(Object.keys(this.#values()).filter((name) => name in fields).map((name) => [name, plain(fields[name])]));
    }

    #table(rows, done) {
      const form = h("form", { class: "merge", part: "merge", submit: (event) => {
        event.preventDefault();
        const chosen = new FormData(form);
        if (rows.some((row, at) => !chosen.has(`${at}`))) this.#announce(this.#text("choose"), true);
        else done(Object.fromEntries(rows.map((row, at) => [row.name, row.values[chosen.get(`${at}`)]])));
      } });
      const all = (which) => () => form.querySelectorAll(`[value=${which}]`).forEach((radio) => (radio.checked = true));
      const button = (text, call, primary) =>
        h("button", { type: call ? "button" : "submit", part: "button", class: primary && "primary", click: call ?? (() => {}) }, this.#text(text));
      form.append(
        ...rows.map((row, at) => h("fieldset", null, h("legend", null, this.#label(row.name)),
          h("div", { class: "choices" }, ...Object.entries(row.values).map(([which, value]) => this.#choice(row, at, which, value))))),
        h("div", { class: "row" }, button("use", undefined, true), button("allMine", all("mine")), button("allTheirs", all("theirs"))));
      return form;
    }

    #choice(row, at, which, value) {
      const radio = h("input", { type: "radio", name: at, value: which, required: true, checked: row.proposed === which });
      return h("label", { class: "choice", part: `choice choice-${which}` }, radio, h("span", null, this.#text(which)),
        h("bdi", { class: "value" }, ...this.#marked(row, value)));
    }

    // What a person reads of a value, with what differs from the base marked.
    #marked({ name, was }, value) {
      const words = (it) => (it === true ? this.#text("yes") : it === false ? this.#text("no") : Array.isArray(it) ? it.join(", ") : it);
      const options = [...(this.#controls(name)[0]?.options ?? [])];
      const shown = options.find((option) => option.value === value)?.label ?? words(value);
      if (shown === "") return [this.#text("empty")];
      if (typeof value !== "string" || options.length || same(was, value)) return [shown];
      const { now, from, words: fresh } = change(was, shown);
      const [head, tail] = [now.slice(0, from).join(""), now.slice(from + fresh.length).join("")];
      return [head, fresh.length ? h("mark", null, fresh.join("")) : "", tail];
    }

    // ---- drafts ----

    get #draftKey() {
      const { user, name } = this.#work ?? {};
      return `${DRAFT}${user ?? name ?? ""} ${this.#resource}`;
    }

    // Hours that a draft is kept; 0: none.
    get #draftHours() {
      const said = this.getAttribute("drafts");
      return said === "off" ? 0 : Number(said) || 72;
    }

    // at once: the page may go
    #keep(atOnce = false, submitted = false) {
      if (this.#filling || !this.#work?.id || !CAN_EDIT.has(this.state)) return;
      if (!atOnce) {
        this.#keepTimer ||= setTimeout(() => this.#keep(true), 300);
        return;
      }
      clearTimeout(this.#keepTimer);
      this.#keepTimer = undefined;
      const now = this.#values(keepable);
      const fields = Object.fromEntries(Object.entries(now).filter(([name, value]) => !same(value, this.#base.fields[name])));
      this.#typed = undefined;
      if (this.#cards.has("draft")) return; // an older one waits for its answer
      if (!this.#draftHours || !Object.keys(fields).length) return void drafts.remove(this.#draftKey);
      const until = Date.now() + this.#draftHours * HOUR;
      const base = Object.fromEntries(Object.keys(fields).map((name) => [name, this.#base.fields[name]]));
      if (drafts.write(this.#draftKey, { at: Date.now(), until, submitted, base, fields })) this.#typed = until;
    }

    #keepTimer;

    #drop() {
      clearTimeout(this.#keepTimer);
      this.#keepTimer = this.#typed = undefined;
      if (this.#work) drafts.remove(this.#draftKey);
    }

    // A draft is offered, never put in by itself; but for the page that a refused submit shows again.
    #offerDraft() {
      const [draft, again] = [this.#draftHours ? drafts.read(this.#draftKey) : null, this.#submitting];
      this.#submitting = false;
      if (!draft) return;
      const now = this.#base.fields;
      const names = Object.keys(draft.fields).filter((name) => name in now);
      const untouched = names.every((name) => same(draft.base[name], now[name]));
      // It was sent, and the record is another since: it was saved.
      const over = draft.submitted && !again && !untouched;
      if (over || names.every((name) => same(draft.fields[name], now[name]))) return this.#drop();
      const mine = { ...now, ...Object.fromEntries(names.map((name) => [name, draft.fields[name]])) };
      const restore = () => {
        this.#note("draft");
        if (untouched) this.#fill(mine);
        else this.#choose({ ...now, ...draft.base }, mine, { version: this.#base.version, fields: now }, ["draftStale"]);
        this.#keep();
        if (untouched) this.#focusForm();
      };
      if (again && untouched) {
        restore();
        return this.#note("restored", { tone: "info", title: ["restored"], brief: true });
      }
      return this.#note("draft", {
        tone: "info", title: ["draft", { at: this.#time(draft.at) }], lines: [["draftMore"]], urgent: true,
        actions: [["restore", restore, { primary: true }], ["discard", () => (this.#note("draft"), this.#drop())]],
      });
    }

    // ---- the form ----

    // The form may come, and grow, after the element.
    #adopt() {
      this.#form = this.querySelector("form") ?? undefined;
      if (this.#form && this.#work) this.#carry();
      this.#freeze(!CAN_EDIT.has(this.state));
    }

    // Read-only: text stays readable and can be copied; what knows no read-only is disabled.
    #freeze(frozen) {
      if (!frozen) {
        for (const [control, [property, was]] of this.#locked) control[property] = was;
        this.#locked.clear();
        return;
      }
      if (!this.#form) return;
      for (const control of [...this.#form.elements, ...this.#form.querySelectorAll("[contenteditable]")]) {
        if (this.#locked.has(control) || control.type === "hidden" || /^(fieldset|output|object)$/.test(control.type)) continue;
        if (control.closest("[data-holdfast=cancel]")) continue;
        const property = control.hasAttribute("contenteditable") ? "contentEditable" : TEXT_TYPES.has(control.type) ? "readOnly" : "disabled";
        this.#locked.set(control, [property, control[property]]);
        control[property] = property === "contentEditable" ? "false" : true;
      }
    }

    // What the save carries: who, and what proves that nobody came in between.
    #carry() {
      const values = { session: this.#work?.id ?? "", fence: this.#lock?.fence ?? "", version: this.#base.version ?? "" };
      if (!this.#form) return;
      for (const [name, value] of Object.entries(values)) {
        const full = `holdfast_${name}`;
        const input = this.#form.querySelector(`input[name=${full}]`) ?? h("input", { type: "hidden", name: full });
        if (!input.isConnected) this.#form.append(input);
        if (input.value !== String(value)) input.value = value;
      }
    }

    #controls(name) {
      return [...(this.#form?.elements ?? [])].filter((control) => control.name === name && control.type !== "file");
    }

    // What is in the form, by name.
    #values(wanted = (control) => !["hidden", "file"].includes(control.type)) {
      const values = {};
      for (const control of this.#form?.elements ?? []) {
        const { name, type } = control;
        if (!name || /^(submit|button|reset|image|fieldset|output|object)$/.test(type) || !wanted(control)) continue;
        if (type === "checkbox" && this.#controls(name).length === 1) values[name] = control.checked;
        else if (type === "checkbox") values[name] = [...(values[name] ?? []), ...(control.checked ? [control.value] : [])];
        else if (type === "radio") values[name] = control.checked ? control.value : values[name] ?? "";
        else if (type === "select-multiple") values[name] = [...control.selectedOptions].map((option) => option.value);
        else values[name] = plain(control.value);
      }
      return values;
    }

    // Puts fields into the form, so that frameworks notice.
    #fill(fields) {
      this.#filling = true;
      const frozen = this.#locked.size > 0;
      this.#freeze(false);
      for (const [name, value] of Object.entries(fields)) for (const control of this.#controls(name)) this.#put(control, plain(value));
      if (frozen) this.#freeze(true);
      this.#filling = false;
    }

    #put(control, value) {
      const { type } = control;
      if (type === "checkbox" || type === "radio") {
        const on = typeof value === "boolean" ? value : [value].flat().includes(control.value);
        if (control.checked !== on && (on || type === "checkbox")) control.click();
        return;
      }
      if (type === "select-multiple") for (const option of control.options) option.selected = [value].flat().includes(option.value);
      else {
        if (control.value === value) return;
        // React replaces the setter of the control itself to tell its own changes from a person's.
        Object.getOwnPropertyDescriptor(Object.getPrototypeOf(control), "value").set.call(control, value);
      }
      for (const event of ["input", "change"]) control.dispatchEvent(new Event(event, { bubbles: true }));
    }

    #label(name) {
      const [control] = this.#controls(name);
      const label = control?.type === "radio" ? control.closest("fieldset")?.querySelector("legend") : control?.labels?.[0];
      return (label?.textContent ?? control?.getAttribute("aria-label") ?? name).trim() || name;
    }

    #focusForm() {
      [...(this.#form?.elements ?? [])].find((control) => !control.disabled && !["hidden", "fieldset", "output", "object"].includes(control.type))?.focus();
    }

    // ---- what is shown ----

    #text(key) {
      return texts(this)[key] ?? key;
    }

    #time(when) {
      return clock(this, when);
    }

    #emit(kind, detail) {
      this.dispatchEvent(new CustomEvent(kind, { bubbles: true, composed: true, detail: { resource: this.#resource, ...detail } }));
    }

    #state(state, card) {
      this.setAttribute("state", state);
      this.#freeze(!CAN_EDIT.has(state));
      this.#note("state", { title: [state], ...card, slot: state });
    }

    // Polite or urgent, for those who hear the page.
    #announce(nodes, urgent) {
      const { polite, urgent: loud } = this.#dom;
      const region = urgent ? loud : polite;
      (urgent ? polite : loud).replaceChildren();
      region.replaceChildren(...[nodes].flat().map((node) => node.cloneNode?.(true) ?? node));
    }

    // Shows a card, or another text on it; without one, removes it. The state's comes first.
    // card: {tone, title: [text, values], lines, actions: [[text, call, {primary, prompt, needed}]], body, urgent, brief: can be put away}
    #note(key, card) {
      const old = this.#cards.get(key);
      if (!card) {
        if (old) this.#remove(key, old);
        return;
      }
      const it = old ?? this.#make(key);
      it.box.className = `card ${card.tone}`;
      it.box.setAttribute("part", `card ${card.tone} ${key.split(" ")[0]}`);
      const said = JSON.stringify([card.slot, card.title, card.lines]);
      if (said !== it.said) this.#say(it, card, said);
      const actions = [...(card.actions ?? []), card.brief && ["ok", () => this.#note(key)]].filter(Boolean);
      const offered = JSON.stringify(actions);
      if (offered !== it.offered) this.#offer(it, actions, offered);
      if (it.tone !== card.tone) {
        it.tone = card.tone;
        it.box.querySelector("svg")?.remove();
        it.box.prepend(icon(card.tone));
      }
      if (card.body) it.body.replaceChildren(card.body());
    }

    #make(key) {
      const title = `title-${key.replace(/\W/g, "-")}`;
      const it = {
        text: h("div", { class: "text", part: "text" }),
        actions: h("div", { class: "actions", part: "actions" }),
        body: h("div", { class: "body" }),
        id: title,
      };
      it.box = h("div", { role: "group", "aria-labelledby": title }, it.text, it.actions, it.body);
      if (key === "state") this.#dom.cards.prepend(it.box);
      else this.#dom.cards.append(it.box);
      this.#cards.set(key, it);
      return it;
    }

    #say(it, card, said) {
      const [key, values] = card.title;
      const nodes = [h("p", { id: it.id, class: "title", part: "title", tabindex: "-1" }, ...sentence(this.#text(key), values)),
        ...(card.lines ?? []).map(([line, more]) => h("p", { class: "detail", part: "detail" }, ...sentence(this.#text(line), more)))];
      const first = it.key !== `${card.slot}${key}${JSON.stringify(values)}`;
      Object.assign(it, { said, key: `${card.slot}${key}${JSON.stringify(values)}`, title: [...nodes[0].childNodes] });
      it.text.replaceChildren(...(card.slot ? [h("slot", { name: card.slot }, ...nodes)] : nodes));
      if (first) this.#announce(nodes.flatMap((node) => [...node.childNodes, " "]), card.urgent);
    }

    #offer(it, actions, offered) {
      const focused = it.box.contains(this.shadowRoot.activeElement);
      it.offered = offered;
      it.body.replaceChildren();
      it.actions.replaceChildren(...actions.map(([text, call, { primary, prompt, needed } = {}]) => {
        const click = () => (prompt ? this.#prompt(it, button, prompt, needed, call) : call());
        const button = h("button", { type: "button", part: `button ${text}`, class: primary && "primary", click }, this.#text(text));
        return button;
      }));
      if (it.said.startsWith('["')) it.actions.append(h("slot", { name: "actions" }));
      if (focused) (it.actions.querySelector("button") ?? it.text.querySelector(".title"))?.focus();
    }

    // Asks for a line of text below the buttons.
    #prompt(it, button, label, needed, call) {
      const input = h("input", { maxlength: "255", required: needed, autocomplete: "off", part: "input" });
      const close = () => {
        it.body.replaceChildren();
        button.focus();
      };
      const submit = (event) => {
        event.preventDefault();
        close();
        call(input.value.trim());
      };
      it.body.replaceChildren(h("form", { class: "prompt", submit, keydown: ({ key }) => key === "Escape" && close() },
        h("label", null, ...sentence(this.#text(label[0]), label[1]), input),
        h("div", { class: "row" }, h("button", { part: "button", class: "primary" }, this.#text(needed ? button.part[1] ?? "send" : "send")),
          h("button", { type: "button", part: "button", click: close }, this.#text("cancel")))));
      input.focus();
    }

    #remove(key, old) {
      const focused = old.box.contains(this.shadowRoot.activeElement);
      old.box.remove();
      this.#cards.delete(key);
      if (focused) this.#cards.get("state")?.text.querySelector(".title")?.focus();
    }
  }

  // ---- <lock-badge>: one session, one look-up and one subscription for all of a page ----

  class Board {
    static #all = new Map();

    // settings: the badge, or what is around it, with session-src and server
    static of(settings) {
      const work = new Work(settings);
      const name = `${work.server} ${work.source}`;
      if (!Board.#all.has(name)) Board.#all.set(name, new Board(work));
      return Board.#all.get(name);
    }

    #work;
    #badges = new Map(); // resource → badges
    #asked = new Set(); // to look up
    #timer;
    #ends = new Map(); // resource → when its lock ends by itself
    #opening;

    constructor(work) {
      this.#work = work;
      this.follower = {
        work,
        resources: () => [...this.#badges.keys()],
        hear: ({ resource }) => resource && this.#ask([resource]),
        look: () => this.#ask(this.#badges.keys()),
        tick: () => this.#tick(),
      };
      setInterval(() => this.#tick(), 1000);
      document.addEventListener("visibilitychange", () => this.#tick());
      window.addEventListener("pagehide", () => {
        work.hub.leave();
        work.hub.remove(this.follower);
        work.close(true);
        this.#opening = undefined;
      });
      window.addEventListener("pageshow", ({ persisted }) => persisted && this.#ask(this.#badges.keys()));
    }

    get user() {
      return this.#work.user;
    }

    add(resource, badge) {
      if (!this.#badges.has(resource)) this.#badges.set(resource, new Set());
      this.#badges.get(resource).add(badge);
      this.#ask([resource]);
    }

    remove(resource, badge) {
      const badges = this.#badges.get(resource);
      badges?.delete(badge);
      if (badges?.size === 0) {
        this.#badges.delete(resource);
        this.#ends.delete(resource);
      }
    }

    // Everything that is asked for within a moment is one question.
    #ask(resources) {
      for (const resource of resources) this.#asked.add(resource);
      this.#timer ??= setTimeout(() => this.#lookUp(), 60);
    }

    async #open() {
      const { status } = await this.#work.open([...this.#badges.keys()][0]);
      if (this.#work.id) this.#work.hub.add(this.follower);
      else this.#opening = undefined;
      return status;
    }

    async #lookUp() {
      const resources = [...this.#asked].filter((one) => this.#badges.has(one)).slice(0, RESOURCES_MAX);
      await (this.#opening ??= resources.length ? this.#open() : undefined);
      this.#timer = undefined;
      if (!this.#work.id || !resources.length) return;
      resources.forEach((one) => this.#asked.delete(one));
      this.#work.hub.changed();
      const { status, data } = await this.#work.api("POST", "/v1/locks/lookup", { resources });
      if (status === 200) data.resources.forEach((one) => this.#show(one));
      else resources.forEach((one) => this.#asked.add(one)); // with the next tick
    }

    #show({ resource, holders }) {
      const ends = Math.min(...holders.map(({ expires }) => Date.parse(expires)));
      if (holders.length) this.#ends.set(resource, ends - this.#work.skew + 300);
      else this.#ends.delete(resource);
      this.#badges.get(resource)?.forEach((badge) => badge.show(holders, this.#work.user));
    }

    async #tick() {
      const now = Date.now();
      this.#work.hub.check();
      const over = [...this.#ends].filter(([, ends]) => now > ends).map(([resource]) => resource);
      over.forEach((resource) => this.#ends.set(resource, now + 5000));
      if (over.length || (this.#asked.size && this.#badges.size)) this.#ask(over);
      if (!this.#work.id || now - this.#work.beaten < (this.#work.idle * 1000) / 3) return;
      this.#work.beaten = now;
      const answer = await this.#work.beat();
      if (answer.status === 200 || undecided(answer)) return;
      this.#work.hub.remove(this.follower); // it has ended: another
      this.#work.close();
      this.#opening = undefined;
      this.#ask(this.#badges.keys());
    }
  }

  class LockBadge extends HTMLElement {
    static observedAttributes = ["resource"];

    #board;
    #resource;
    #holders = [];

    constructor() {
      super();
      this.attachShadow({ mode: "open" }).adoptedStyleSheets = [BADGE];
    }

    get holders() {
      return this.#holders;
    }

    connectedCallback() {
      const settings = this.closest("[session-src]") ?? document.querySelector("edit-lock[session-src]");
      this.#resource = this.getAttribute("resource");
      if (!settings || !this.#resource) return;
      this.setAttribute("state", "free");
      this.#board = Board.of(settings);
      this.#board.add(this.#resource, this);
    }

    disconnectedCallback() {
      this.#board?.remove(this.#resource, this);
      this.#board = undefined;
    }

    attributeChangedCallback(name, before, now) {
      if (before === null || before === now || !this.isConnected) return;
      this.disconnectedCallback();
      this.connectedCallback();
    }

    // Called by the board.
    show(holders, user) {
      this.#holders = holders;
      const [first] = holders;
      const own = first && user !== undefined && first.user === user;
      this.setAttribute("state", first ? (own ? "own" : "held") : "free");
      if (!first) return this.shadowRoot.replaceChildren();
      const all = texts(this);
      const kind = own ? "badgeOwn" : holders.length > 1 ? "badgeMore" : "badge";
      const template = (kind === "badge" && this.getAttribute("text")) || all[kind];
      const values = { name: first.name, since: clock(this, first.since), count: holders.length - 1, purpose: first.purpose };
      return this.shadowRoot.replaceChildren(
        h("span", { class: `badge ${own ? "own" : ""}`, part: "badge" }, h("span", null, ...sentence(template, values))));
    }
  }

  customElements.define("edit-lock", EditLock);
  customElements.define("lock-badge", LockBadge);
})();
