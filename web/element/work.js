// SPDX-License-Identifier: MIT
// A session with the server: opened by the application, kept alive by beats, closed with the page.
import { ask, script } from "./helpers.js";
import { Hub } from "./hub.js";

export class Work {
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
    navigator.locks?.request(`holdfast ${id}`, () => new Promise((resolve) => (this.leave = resolve))).catch(() => {});
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
