// SPDX-License-Identifier: MIT
// <lock-badge>: who has a record, in a list. One session, one look-up and one subscription for all badges of a page.
import { h, sentence, sheet, textOf, undecided } from "./helpers.js";
import { RESOURCES_MAX } from "./hub.js";
import { Work } from "./work.js";
import look from "./lock_badge.css";
import tones from "./tones.css";

const SHEETS = [look, tones].map(sheet);

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

export class LockBadge extends HTMLElement {
  static observedAttributes = ["resource"];

  #board;
  #resource;

  constructor() {
    super();
    this.attachShadow({ mode: "open" }).adoptedStyleSheets = SHEETS;
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
    return this.shadowRoot.replaceChildren(h("span", { class: `badge tones tinted ${own ? "good" : "wait"}`, part: "badge" },
      h("span", {}, ...sentence(this, template, { ...first, count: holders.length - 1 }))));
  }
}
