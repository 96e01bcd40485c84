// As much of a browser as the examples' pages need: cookies, redirects, a form, the page's own script (run as it is), beacons, and the
// rules for asking servers of another origin.
import { request } from "node:http";
import vm from "node:vm";

const UNESCAPED = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'", "&#39;": "'" };
const text = (html) => html.replace(/&(amp|lt|gt|quot|#x27|#39);/g, (code) => UNESCAPED[code]);
const attribute = (tag, name) => {
  const found = new RegExp(`\\s${name}="([^"]*)"`).exec(tag);
  return found ? text(found[1]) : undefined;
};

function send(method, url, headers, body) {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: { ...headers, ...(body !== undefined && { "content-length": Buffer.byteLength(body) }) } }, (answer) => {
      let said = "";
      answer.setEncoding("utf8").on("data", (piece) => (said += piece));
      answer.on("end", () => resolve({ status: answer.statusCode, ok: answer.statusCode < 300, headers: answer.headers, text: said }));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

const form = (fields) => [new URLSearchParams(fields).toString(), { "content-type": "application/x-www-form-urlencoded;charset=UTF-8" }];

export class Browser {
  // address: where the application is; origin: what its pages believe it is called
  constructor(address, origin = address) {
    this.address = address;
    this.origin = origin;
    this.cookies = new Map();
    this.seen = []; // every page, to look for secrets in
  }

  // To the application itself.
  async own(method, path, body, headers = {}) {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await send(method, this.address + path, { ...headers, ...(cookie && { cookie }), ...(method !== "GET" && { origin: this.origin }) }, body);
    for (const line of answer.headers["set-cookie"] ?? []) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      if (value === "" || /Max-Age=0|1970/i.test(line)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    this.seen.push(answer.text);
    return answer;
  }

  async navigate(method, path, fields) {
    const answer = fields === undefined ? await this.own(method, path) : await this.own(method, path, ...form(fields));
    const to = answer.headers.location;
    return answer.status >= 300 && to ? this.navigate("GET", to) : Page.load(this, path, answer);
  }

  open(path) {
    return this.navigate("GET", path);
  }

  async logIn(user) {
    const page = await this.open("/login");
    return page.submit({ username: user, password: "demo" });
  }

  async logOut() {
    const page = await this.open("/");
    return page.submit({}, "/logout");
  }

  // What a page's script asks for; to another origin only what that server's CORS headers allow.
  async fetch(target, { method = "GET", headers = {}, body } = {}) {
    const [sent, type] = body instanceof URLSearchParams ? form(body) : [body, {}];
    if (target.startsWith("/")) return this.own(method, target, sent ?? (method === "POST" ? "" : undefined), { ...headers, ...type });
    if (Object.keys(headers).length > 0) await this.#askBefore(target, method, headers);
    const answer = await send(method, target, { ...headers, origin: this.origin }, sent);
    if (answer.headers["access-control-allow-origin"] !== this.origin) throw new TypeError(`${target} does not let ${this.origin} read`);
    return answer;
  }

  async #askBefore(target, method, headers) {
    const names = Object.keys(headers).map((name) => name.toLowerCase());
    const { ok, headers: said } = await send("OPTIONS", target, {
      origin: this.origin, "access-control-request-method": method, "access-control-request-headers": names.join(","),
    });
    const allowed = (said["access-control-allow-headers"] ?? "").toLowerCase().split(/, */);
    const may = ok && said["access-control-allow-origin"] === this.origin && names.every((name) => allowed.includes(name));
    if (!may) throw new TypeError(`${target} does not allow ${method} with ${names}`);
  }

  // Like fetch without headers, and nobody reads the answer.
  async beacon(target, body) {
    const [sent, type] = body instanceof URLSearchParams ? form(body) : [body, { "content-type": "text/plain;charset=UTF-8" }];
    if (target.startsWith("/")) return this.own("POST", target, sent, type);
    return send("POST", target, { ...type, origin: this.origin }, sent);
  }
}

export class Page {
  static async load(browser, path, { status, headers, text: html }) {
    const page = Object.assign(new Page(), { browser, path, status, headers, html, beacons: [], statuses: [], pending: new Set(), listeners: {} });
    const script = /<script src="([^"]+)"/.exec(html)?.[1];
    if (script) await page.#run((await browser.own("GET", script)).text);
    return page;
  }

  #form(action) {
    const all = this.html.match(/<form[^]*?<\/form>/g) ?? [];
    return action ? all.find((one) => attribute(one, "action") === action) : all[0];
  }

  #fields(html) {
    const fields = {};
    for (const tag of html.match(/<input[^>]*>/g) ?? []) fields[attribute(tag, "name")] = attribute(tag, "value") ?? "";
    for (const [, name, value] of html.matchAll(/<textarea name="([^"]+)">([^]*?)<\/textarea>/g)) fields[name] = text(value);
    return fields;
  }

  get text() {
    return this.#fields(this.#form()).text;
  }

  // What a person can read.
  get words() {
    return text(this.html.replace(/<[^>]*>/g, " "));
  }

  // Runs the page's script. What it would wait for is done by beat, show and hide.
  async #run(source) {
    const html = this.#form();
    const [tag] = /<form[^>]*>/.exec(html);
    const dataset = Object.fromEntries(["beat", "close", "session", "idle"].map((name) => [name, attribute(tag, `data-${name}`)]));
    const listen = (on) => (event, call) => ((this.listeners[`${on} ${event}`] ??= []).push(call));
    this.output = { textContent: "" };
    this.button = { disabled: false };
    const element = {
      dataset,
      elements: Object.fromEntries(Object.entries(this.#fields(html)).map(([name, value]) => [name, { value }])),
      querySelector: (name) => ({ output: this.output, button: this.button })[name],
      addEventListener: listen("form"),
    };
    const window = { addEventListener: listen("window") };
    const document = { querySelectorAll: (what) => (what === "form[data-beat]" && dataset.beat ? [element] : []), addEventListener: listen("document") };
    const answered = ({ text: said, ...answer }) => {
      this.statuses.push(answer.status);
      return { ...answer, json: async () => JSON.parse(said) };
    };
    const fetch = (target, how) => this.#awaited(this.browser.fetch(target, how).then(answered));
    const navigator = { sendBeacon: (target, body) => this.beacons.push(this.browser.beacon(target, body)) };
    const setInterval = (call, period) => Object.assign(this, { tick: call, period });
    vm.runInNewContext(source, { window, document, fetch, navigator, setInterval, URLSearchParams });
    await this.#happens("window pageshow", { persisted: false });
  }

  #awaited(promise) {
    this.pending.add(promise);
    const over = () => this.pending.delete(promise);
    promise.then(over, over);
    return promise;
  }

  // An event, and all that the script does about it.
  async #happens(name, event = {}) {
    for (const call of this.listeners[name] ?? []) call(event);
    while (this.pending.size > 0) await Promise.allSettled(this.pending);
    await new Promise(setImmediate);
  }

  beat() {
    return this.tick();
  }

  changeVisibility() {
    return this.#happens("document visibilitychange");
  }

  // Out of the browser's cache of pages.
  show() {
    return this.#happens("window pageshow", { persisted: true });
  }

  // The page is left or closed; answers what its beacons came to.
  async hide() {
    await this.#happens("window pagehide");
    return Promise.all(this.beacons.splice(0));
  }

  // Submits a form as the browser does: the old page goes when the answer is there. to: another address than the form's own.
  async submit(changes, action, to) {
    const html = this.#form(action);
    await this.#happens("form submit");
    const target = to ?? attribute(/<form[^>]*>/.exec(html)[0], "action") ?? this.path;
    const next = await this.browser.navigate("POST", target, { ...this.#fields(html), ...changes });
    await this.hide();
    return next;
  }
}
