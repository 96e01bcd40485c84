// SPDX-License-Identifier: MIT
// Events for all tabs of a browser by one stream: browsers open six connections to a server at most. The tab that has the Web Lock reads the
// stream and tells the others by a BroadcastChannel. Without Web Locks, in pages that are not secure, each page reads its own.
import { same } from "./merge.js";

export const RESOURCES_MAX = 1000;

export class Hub {
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
    if (navigator.locks) navigator.locks.request(`holdfast events ${server}`, lead).catch(() => {});
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
    if (this.#leading && (now >= this.#next || (retry && !this.#stream))) this.#connect();
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
  async #connect() {
    const all = [this.#own(), ...Object.values(this.#others)];
    const logins = all.flatMap(({ login }) => login ?? []);
    const resources = [...new Set(all.flatMap(({ wants }) => wants))].sort().slice(0, RESOURCES_MAX);
    this.#next = Infinity;
    if (!logins.length || !resources.length || same(resources, this.#open)) return;
    const stop = new AbortController();
    const tooLate = setTimeout(() => stop.abort(), 15e3);
    try {
      const answer = await fetch(`${this.#server}/v1/events`, {
        method: "POST",
        headers: { "Content-Type": "application/json", "Holdfast-Session": logins[Math.floor(Math.random() * logins.length)] },
        body: JSON.stringify({ resources }),
        signal: stop.signal,
      });
      clearTimeout(tooLate);
      if (answer.ok) await this.#read(answer.body.pipeThrough(new TextDecoderStream()).getReader(), stop, resources);
    } catch {
      // The same as its end.
    }
    if (this.#stream === stop) {
      this.#stream = undefined;
      this.#open = [];
    } else if (this.#stream) return; // another has taken its place
    this.#next = Date.now() + this.#wait * Math.random();
    this.#wait = Math.min(this.#wait * 2, 30e3);
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
    // A regular expression would end lines at U+2028 and U+2029 too, which people may write.
    const of = (field) => block.split("\n").find((line) => line.startsWith(`${field}:`))?.slice(field.length + 1).trim();
    const data = of("data");
    if (["resync", "restored"].includes(of("event"))) this.#tell({ opened: this.#open });
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
