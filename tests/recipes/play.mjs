// The story that every example application plays: Alice and Bob edit one policy, and everything ends that can end.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { check } from "../http/server.mjs";
import { Browser } from "./browser.mjs";

const EDIT = "/policies/1/edit";
const SIT = `import sqlite3, sys
change = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
change.execute("BEGIN IMMEDIATE")
print("begun", flush=True)
sys.stdin.read()`;

// Someone sits in a change that is not committed: nobody else can write. Answers how to end it.
async function sitInChange(file) {
  const child = spawn("/usr/bin/python3", ["-c", SIT, file], { stdio: ["pipe", "pipe", "inherit"] });
  const gone = once(child, "exit");
  await once(child.stdout, "data");
  return () => (child.stdin.end(), gone);
}

export class Play {
  // token: what the application has; app: {address, origin}
  static async begin(server, token, app) {
    const play = Object.assign(new Play(), { server, token, app });
    play.alice = new Browser(app.address, app.origin);
    play.bob = new Browser(app.address, app.origin);
    await play.alice.logIn("alice");
    await play.bob.logIn("bob");
    return play;
  }

  async saved(policy = 1) {
    const page = await new Browser(this.app.address, this.app.origin).open("/");
    return new RegExp(`<span id="policy-${policy}">([^<]*)<`).exec(page.html)[1];
  }

  async holders() {
    const answer = await this.server.ask("GET", "/v1/locks/policy/1", { token: this.server.token });
    return answer.json.holders.map((holder) => holder.name).join();
  }

  async sessions() {
    return (await this.server.ask("GET", "/v1/sessions", { token: this.server.token })).json.sessions;
  }

  takeAway(reason) {
    return this.server.ask("POST", "/v1/locks/policy/1/force-release", { token: this.server.token, body: { reason, actor: "Dora" } });
  }

  // inDatabase: saves ask holdfast's check; else the newest fence in the record decides
  async all({ inDatabase = false } = {}) {
    await this.refusal();
    await this.logout();
    await this.lateSave();
    await this.bound();
    await this.pageEnd();
    await this.reload();
    await this.correction();
    await this.strangers();
    await this.unopened(inDatabase);
    if (!inDatabase) await this.busy();
    await this.outage();
    this.secrets();
  }

  async refusal() {
    const page = await this.alice.open(EDIT);
    check(page.status === 200 && page.text === "Covers fire." && (await this.holders()) === "Alice Chen", "Alice opens the policy and holds it", page.words);
    const [before] = await this.sessions();
    await page.beat();
    const [after] = await this.sessions();
    check(after.id === before.id && after.expires > before.expires && !page.button.disabled && page.output.textContent === "",
      "her page says that the work goes on", [before, after, page.output]);
    check(page.period === 100000, "at a third of the idle bound", page.period);
    await page.changeVisibility();
    check((await this.sessions())[0].expires > after.expires, "and whenever it is hidden or shown");
    const refused = await this.bob.open(EDIT);
    check(refused.status === 423 && /policy\/1 is being edited by Alice Chen since \d\d:\d\d UTC \("editing"\)/.test(refused.words),
      "Bob is refused, and reads who has it", refused.words);
    check((await this.sessions()).length === 1, "nothing of his try is left", await this.sessions());
  }

  async logout() {
    await this.alice.logOut();
    check((await this.holders()) === "" && (await this.sessions()).length === 0, "Alice logs out: what she held is free at once");
    const page = await this.bob.open(EDIT);
    check(page.status === 200 && (await this.holders()) === "Bob Smith", "Bob opens it", page.words);
    const asks = await this.server.open("eve", { name: "Eve Jones" });
    await this.server.ask("POST", "/v1/locks/policy/1/request", { session: asks, body: { message: "It is urgent." } });
    await page.beat();
    check(page.output.textContent === "Eve Jones asks for this record. It is urgent.", "he reads who asks for it", page.output.textContent);
    await this.server.ask("DELETE", `/v1/sessions/${asks.id}`, { session: asks });
    const next = await page.submit({ text: "Covers <fire> & water." });
    check(next.status === 200 && (await this.saved()) === "Covers &lt;fire&gt; &amp; water.", "and saves", next.words);
    check((await this.sessions()).length === 0, "which ends his work");
    await this.alice.logIn("alice");
  }

  async lateSave() {
    const alices = await this.alice.open(EDIT);
    await this.takeAway("gone for lunch");
    const bobs = await this.bob.open(EDIT);
    check(bobs.status === 200, "Alice's lock is taken away, and Bob opens the policy", bobs.words);
    await alices.beat();
    check(alices.button.disabled && alices.output.textContent.startsWith("The record was taken from you by Dora (gone for lunch)."),
      "her page tells her so", alices.output.textContent);
    const late = await alices.submit({ text: "By Alice, late." });
    check(late.status === 409 && late.words.includes("Bob Smith") && late.words.includes("By Alice, late."),
      "her late save is refused; she reads who has it, and has her text", late.words);
    check((await this.saved()) === "Covers &lt;fire&gt; &amp; water.", "nothing was overwritten", await this.saved());
    await bobs.submit({ text: "By Bob." });
    check((await this.saved()) === "By Bob.", "Bob's save is not touched by it", await this.saved());
    const again = await alices.submit({ text: "By Alice, later." });
    check(again.status === 409 && (await this.saved()) === "By Bob.", "nor does hers get through after his", again.words);
  }

  // A lock with a bound of its own is lost while the page beats: nobody took it away.
  async bound() {
    const bounded = (ttl) => this.server.ask("PUT", "/v1/types/policy", { token: this.server.token, body: { policy: "read-write", ...ttl } });
    const ran = () => new Promise((resolve) => setTimeout(resolve, 1100));
    const set = await bounded({ ttl_seconds: 1 });
    check(set.status === 200, "policies are held for a second at most", set.text);
    const page = await this.alice.open(EDIT);
    await ran();
    await page.beat();
    check(page.button.disabled && page.output.textContent.startsWith("Your lock expired. What you typed"), "a page whose lock has expired says so",
      page.output.textContent);
    const again = await this.alice.open(EDIT);
    await ran();
    await bounded({ ttl_seconds: 60 }); // Bob's is to last
    const bobs = await this.bob.open(EDIT);
    await again.beat();
    check(bobs.status === 200 && again.output.textContent.startsWith("Your lock expired, and Bob Smith has taken the record since. What you typed"),
      "and who has taken the record since, with no word of taking it away", again.output.textContent);
    await again.hide();
    await bobs.hide();
    await bounded({});
  }

  async pageEnd() {
    const page = await this.alice.open(EDIT);
    const [beacon] = await page.hide();
    check(beacon?.status === 200 && (await this.holders()) === "", "Alice closes the page: the policy is free at once", beacon);
    const bobs = await this.bob.open(EDIT);
    check(bobs.status === 200, "Bob opens it", bobs.words);
    await page.show();
    check(page.button.disabled && /no longer hold/.test(page.output.textContent), "her page, called back, says that it holds nothing", page.output.textContent);
    await bobs.hide();
    check((await this.holders()) === "", "he leaves too");
  }

  async reload() {
    const first = await this.alice.open(EDIT);
    const second = await this.alice.open(EDIT);
    check(second.status === 200, "opening it again, Alice isn't in her own way", second.words);
    await first.hide();
    check((await this.holders()) === "Alice Chen", "the end of the older page does not end the newer one's work");
    const late = await first.submit({ text: "From the older page." });
    check(late.status === 409 && (await this.saved()) === "By Bob.", "the older page can't save any more", late.words);
    await second.submit({ text: "From the newer page." });
    check((await this.saved()) === "From the newer page.", "the newer one can");
  }

  // A save that is refused for another reason leaves the page as well, but not the work.
  async correction() {
    const page = await this.alice.open(EDIT);
    const again = await page.submit({ text: "" });
    check(again.status === 422 && (await this.holders()) === "Alice Chen", "a form that is shown again still has its lock", again.words);
    await again.beat();
    check(!again.button.disabled, "and goes on beating", again.output.textContent);
    await again.submit({ text: "From the newer page." });
    check((await this.saved()) === "From the newer page." && (await this.holders()) === "", "until it is saved");
  }

  async strangers() {
    const page = await this.alice.open(EDIT);
    const work = /name="work" value="([^"]+)"/.exec(page.html)[1];
    const bobs = await this.bob.open("/");
    const csrf = /name="csrfmiddlewaretoken" value="([^"]+)"/.exec(bobs.html)?.[1];
    const save = (fields) => this.bob.navigate("POST", "/policies/1/save", { ...(csrf && { csrfmiddlewaretoken: csrf }), text: "By Bob, unasked.", ...fields });
    for (const [what, fields] of [["with Alice's work", { work }], ["with one that never was", { work: "0".repeat(32) }], ["with none", {}]]) {
      const answer = await save(fields);
      check(answer.status === 409 && (await this.saved()) === "From the newer page.", `Bob can't save ${what}`, answer.words);
    }
    const other = await page.submit({}, "/policies/1/save", "/policies/2/save");
    check(other.status === 409, "nor can Alice save another policy with the work on this one", other.words);
    const nobody = new Browser(this.app.address, this.app.origin);
    const asked = await nobody.open(EDIT);
    check(asked.path.startsWith("/login") && (await this.holders()) === "Alice Chen", "who is not logged in is asked to log in", asked.path);
    const nowhere = await this.alice.open("/policies/3/edit");
    check(nowhere.status === 404, "what is not there can't be edited");
    await page.hide();
  }

  // Lost, but nobody has opened it since.
  async unopened(inDatabase) {
    const page = await this.alice.open(EDIT);
    await this.takeAway("tidying up");
    const late = await page.submit({ text: "Nobody came." });
    if (inDatabase)
      check(late.status === 409 && late.words.includes("Your editing session has expired; reload the record."), "without the lock nothing is saved", late.words);
    else
      check(late.status === 200 && (await this.saved()) === "Nobody came.", "where nobody has opened the policy since, the save gets through", late.words);
    const bobs = await this.bob.open(EDIT);
    await bobs.submit({ text: "From the newer page." });
    check((await this.saved()) === "From the newer page.", "and Bob can edit it", await this.saved());
  }

  async busy() {
    const page = await this.alice.open(EDIT);
    const rise = await sitInChange(join(this.server.data, "holdfast.db"));
    await page.beat();
    check(page.statuses.at(-1) === 423 && !page.button.disabled && page.output.textContent === "",
      "a beat that the store has no time for is no loss", [page.statuses, page.output.textContent]);
    const saved = await page.submit({ text: "Saved while busy." });
    check(saved.status === 200 && (await this.saved()) === "Saved while busy.", "a save gets through, though the work can't be ended", saved.words);
    await rise();
    const again = await this.alice.open(EDIT);
    check(again.status === 200, "it is ended when Alice opens the policy again", again.words);
    await again.submit({ text: "From the newer page." });
    check((await this.holders()) === "" && (await this.sessions()).length === 0, "and nothing is left", await this.sessions());
  }

  // The server is killed, as by a crash. What it granted before stays granted, and the fence is checked where the record is.
  async outage() {
    const page = await this.alice.open(EDIT);
    const bobsPage = await this.bob.open("/policies/2/edit");
    const events = (await this.server.ask("GET", "/v1/audit-log?limit=1000", { token: this.server.token })).json.events;
    this.opened = events.map((event) => event.session);
    await this.server.stop("SIGKILL");
    const refused = await this.bob.open(EDIT);
    check(refused.status === 503 && /lock service does not answer/.test(refused.words), "without holdfast Bob reads that nobody can begin to edit", refused.words);
    await page.beat();
    check(!page.button.disabled, "Alice's page waits");
    const bobs = await this.bob.open("/");
    const csrf = /name="csrfmiddlewaretoken" value="([^"]+)"/.exec(bobs.html)?.[1];
    const unasked = await this.bob.navigate("POST", "/policies/1/save", { ...(csrf && { csrfmiddlewaretoken: csrf }), work: "", text: "Unprotected." });
    check(unasked.status === 409 && (await this.saved()) === "From the newer page.", "nothing is saved without a lock", unasked.words);
    const saved = await page.submit({ text: "Begun before the outage." });
    check(saved.status === 200 && (await this.saved()) === "Begun before the outage.", "what Alice began before is saved: her fence is still the newest", saved.words);
    const out = await this.alice.logOut();
    check(out.status === 200, "she can log out", out.words);
    await this.gateway(bobsPage);
  }

  // Where the server was, something that stands before it answers in its place, and not in JSON.
  async gateway(page) {
    const gateway = createServer((request, response) => response.writeHead(502, { "content-type": "text/html" }).end("<h1>502 Bad Gateway</h1>"));
    await once(gateway.listen(Number(new URL(this.server.url).port), "127.0.0.1"), "listening");
    const refused = await this.bob.open(EDIT);
    check(refused.status === 503 && /lock service does not answer/.test(refused.words), "a gateway that finds no server is told like no answer", refused.words);
    await page.beat();
    check(!page.button.disabled, "a page that beats waits", page.output.textContent);
    const saved = await page.submit({ text: "Saved behind a gateway." });
    check(saved.path === "/" && saved.status === 200 && (await this.saved(2)) === "Saved behind a gateway.", "and what was begun before is saved",
      [saved.status, saved.words]);
    gateway.closeAllConnections();
    gateway.close();
  }

  secrets() {
    const pages = [...this.alice.seen, ...this.bob.seen];
    check(pages.length > 30 && !pages.some((page) => page.includes(this.token)), "no page has the token");
  }
}
