#!/usr/bin/env node
// The dashboard in a real browser: signing in and out, what others do shown as they do it, forced releases, pages of people and records, the
// log, narrow screens, hostile names, the keyboard, what a token that may only observe sees; and a hundred thousand locks.
import { readFileSync } from "node:fs";
import { check, finish, Server } from "../http/server.mjs";
import { Chromium, picture, until, violations } from "./browser.mjs";

const server = await Server.start();
const admin = server.token;
const ask = (method, path, more) => server.ask(method, path, { token: admin, ...more });
const key = (session) => `${session.id}.${session.key}`;
const take = (session, resource, body = {}) => {
  const slash = resource.indexOf("/");
  return server.ask("PUT", `/v1/locks/${resource.slice(0, slash)}/${encodeURIComponent(resource.slice(slash + 1))}`, { session, body });
};
const token = async (name, roles) => (await ask("POST", "/v1/tokens", { body: { name, roles } })).json.token;

const chromium = await Chromium.start();
const office = await chromium.person({ viewport: { width: 1280, height: 820 }, acceptDownloads: true });
const page = await chromium.open(office, `${server.url}/`);

const rows = (where = page) => where.locator(".list-body .row");
const row = (resource, where = page) => rows(where).filter({ has: where.locator(`a[title="${resource}"]`) });
const go = async (hash, where = page) => {
  await where.evaluate((to) => { location.hash = to; }, hash);
  await where.waitForFunction(() => document.activeElement?.id === "title");
};
const shows = (locator, times = 1) => until(async () => (await locator.count()) === times, 10);
const clean = async (name, where = page) => {
  await picture(where, `dashboard-${name}`);
  const found = await violations(where);
  check(found.length === 0, `axe finds nothing on ${name}`, found.join("\n# "));
};
const isWithin = (where) => where.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth);
async function signIn(where, secret) {
  await where.fill("input[name=token]", secret);
  await where.press("input[name=token]", "Enter");
}

// ---- signing in ----

await page.waitForSelector("input[name=token]");
await clean("the page to sign in");
const before = (await ask("GET", "/v1/audit-log?before_seq=0&kind=unauthenticated")).json.events.length;
check(before === 0, "a page that nobody has signed in to is no refusal in the log");
await signIn(page, "0".repeat(64));
check(await shows(page.locator(".problem", { hasText: "No such token" })), "a wrong token is told so");
await signIn(page, "rubbish");
check(await shows(page.locator(".problem", { hasText: "64 hex digits" })), "what is no token is told so");
await signIn(page, admin);
check(await shows(page.locator("h1", { hasText: "Locks" })), "a token signs in");
check(await shows(page.locator(".empty-title", { hasText: "Nothing is locked" })), "without locks it says so");
await clean("an empty list");
const stored = await page.evaluate(() => JSON.stringify(localStorage) + document.cookie + document.documentElement.outerHTML);
check(!stored.includes(admin), "no script can read the token");
check(await shows(page.locator(".live.live")), "it is live");

// ---- what others do ----

const alice = await server.open("alice", { name: "Alice Chen" });
const bob = await server.open("bob", { name: "Bob Smith" });
await take(alice, "policy/12345", { purpose: "renewal", ttl_seconds: 3600 });
const began = Date.now();
check(await shows(row("policy/12345")), "a lock that another takes is shown");
console.log(`# after ${Date.now() - began} ms`);
const text = await row("policy/12345").innerText();
check(["Alice Chen", "alice", "exclusive", "renewal"].every((word) => text.includes(word)), "with who holds it, how and what for", text);
check(await until(async () => /\d+ (s|min)|now/.test(await row("policy/12345").locator(".c-beat").innerText()), 10), "with its last beat");
check(/\d min/.test(await row("policy/12345").locator(".c-left").innerText()), "with the time that is left");
await ask("POST", "/v1/locks/policy/12345/request", { session: bob, body: { message: "the customer waits" } });
check(await shows(row("policy/12345").locator(".badge", { hasText: "1 waiting" })), "who waits is counted");
await server.ask("DELETE", "/v1/locks/policy/12345", { session: alice });
check(await shows(row("policy/12345"), 0), "a lock that is given back goes");

// ---- hostile names ----

const hostile = ["<img src=x onerror=window.hurt=1>", "\u202Etxt.exe", "n".repeat(255), "\u0627\u0644\u0644\u063A\u0629"];
for (const [i, name] of hostile.entries()) {
  const session = await server.open(`hostile-${i}`, { name });
  await take(session, `customer/${name.slice(0, 200)}`, { purpose: name });
}
check(await shows(rows(), hostile.length), "names of any kind are shown");
const names = await page.locator(".c-person .name").evaluateAll((all) => all.map((element) => [element.textContent, element.localName, getComputedStyle(element).unicodeBidi]));
check(hostile.every((name) => names.some(([shown, tag, bidi]) => shown === name && tag === "bdi" && bidi === "isolate")), "as text, with their direction isolated", names);
check(await page.evaluate(() => window.hurt === undefined && !document.querySelector(".list img")), "and none is run");
await clean("a list of hostile names");

// ---- search, filter, sort ----

for (let i = 1; i <= 12; i++) await take(bob, `order/${i}`, { mode: i % 2 ? "shared" : "exclusive", purpose: `count ${i}` });
check(await shows(rows(), 16), "the list follows");
await page.keyboard.press("/");
check(await page.evaluate(() => document.activeElement.id === "search"), "/ goes to the search");
await page.keyboard.type("bob COUNT 12");
check(await shows(rows(), 1), "words of the person and the purpose are searched for");
await page.fill("#search", "");
await page.selectOption(".toolbar select >> nth=0", "order");
await page.selectOption(".toolbar select >> nth=1", "shared");
check((await shows(rows(), 6)) && (await page.locator(".found").innerText()).startsWith("6 of 16"), "types and modes filter");
await page.selectOption(".toolbar select >> nth=1", "");
const order = () => page.locator(".c-resource .id").evaluateAll((all) => all.sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top).map(({ textContent }) => textContent).join(" "));
check(await until(async () => (await order()) === "1 2 3 4 5 6 7 8 9 10 11 12"), "numbers are sorted by their size", await order());
await page.locator(".sort", { hasText: "Record" }).press("Enter");
check((await until(async () => (await order()).startsWith("12 11 10"))) && (await page.locator("[aria-sort=descending]").count()) === 1, "a column's head turns the order", await order());

// ---- forced release, by the keyboard ----

await row("order/7").locator("button").focus();
await page.keyboard.press("Enter");
const dialog = page.getByRole("dialog");
await dialog.waitFor();
await clean("the dialog of a release");
check(await page.evaluate(() => document.activeElement.localName === "textarea"), "the reason has the focus");
await page.keyboard.press("Escape");
check((await shows(dialog, 0)) && (await page.evaluate(() => document.activeElement.getAttribute("aria-label"))).includes("order/7"), "Escape leaves, and the focus goes back");
await page.keyboard.press("Enter"); // the dialog is there at once: nothing that is typed is lost
await page.keyboard.type("left for the day");
await page.keyboard.press("Tab");
await page.keyboard.press("Tab");
await page.keyboard.press("Enter");
check((await shows(dialog, 0)) && (await shows(row("order/7"), 0)), "a lock is released by force");
const forced = (await ask("GET", "/v1/audit-log?before_seq=0&kind=forced")).json.events[0] ?? {};
check(forced.resource === "order/7" && forced.reason === "left for the day" && forced.actor !== null, "with the reason and who did it in the log", forced);
check((await page.locator(".toast").innerText()).startsWith("1 lock released"), "and it is said");

// ---- a person's page ----

await go("#/person/bob");
check(await shows(page.locator(".hold"), 11), "a person's page has their locks");
check((await page.title()).includes("Bob Smith") && (await shows(page.locator(".lines li"))), "and sessions");
check(await shows(page.locator(".log .kind", { hasText: "forced release" })), "and history");
await clean("a person's page");
await page.getByRole("button", { name: "Release all 11…" }).click();
await page.keyboard.type("bulk");
await page.getByRole("button", { name: "Release 11" }).click();
check((await shows(page.locator(".hold"), 0)) && (await shows(dialog, 0)), "all of a person's locks are released at once");
check((await ask("GET", "/v1/audit-log?before_seq=0&kind=forced")).json.events.filter(({ reason }) => reason === "bulk").length === 11, "each with its line in the log");

// ---- a record's page ----

await take(alice, "policy/a/b", { purpose: "slashes" });
await server.ask("PUT", "/v1/versions/policy/a%2Fb", { session: alice, body: {} });
await go(`#/resource/${encodeURIComponent("policy/a/b")}`);
check(await shows(page.locator(".hold", { hasText: "Alice Chen" })), "a record's page says who holds it");
check(await shows(page.locator("main", { hasText: /Version 1, saved/ })), "its version");
check((await shows(page.locator(".log .kind", { hasText: "took the lock" }))) && (await shows(page.locator(".log .kind", { hasText: /^saved$/ }))), "and its history of locks and saves");
await server.ask("POST", "/v1/locks/policy/a%2Fb/request", { session: bob, body: { message: "please" } });
check(await shows(page.locator(".lines li", { hasText: "please" })), "who asks for it comes in");
check(await shows(page.locator(".log .kind", { hasText: "asked for it" })), "and the history goes on");
await clean("a record's page");

// ---- sessions, activity, the log ----

await go("#/sessions");
check(await shows(rows().filter({ hasText: "Alice Chen" })), "sessions are listed");
await clean("the sessions");
await go("#/activity");
check(await shows(page.locator(".facts", { hasText: "sqlite" })), "the store, its durability and the version are told");
check(await until(async () => (await page.locator(".plot canvas").count()) === 3, 20), "what was held and refused is plotted");
await clean("the activity");
await go("#/audit");
check(await until(async () => (await page.locator(".log .row").count()) > 20), "the log is there");
await clean("the audit log");
await page.selectOption(".filters select", "forced");
check(await shows(page.locator(".log .list-head ~ [role=rowgroup] .row"), 12), "by kind");
await page.getByLabel("Record or type").fill("order/7");
check(await shows(page.locator(".log .list-head ~ [role=rowgroup] .row"), 1), "by record");
const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export CSV" }).click()]);
const csv = readFileSync(await download.path(), "utf8").trim().split("\r\n");
check(csv.length === 2 && csv[0].endsWith("seq,at,kind,resource,user,actor,session,fence,reason") && csv[1].includes("order/7,bob"), "what passes is exported as CSV", csv);
await take(alice, "sheet/1", { purpose: '=HYPERLINK("x"),\u202Ey' });
await page.getByRole("button", { name: "Clear" }).click();
await page.getByLabel("Record or type").fill("sheet");
check(await shows(page.locator(".log .list-head ~ [role=rowgroup] .row"), 1), "by type");
const [second] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export CSV" }).click()]);
check(readFileSync(await second.path(), "utf8").includes(`"'=HYPERLINK(""x""),`), "and no cell becomes a formula");

// ---- narrow, dark ----

const narrow = await chromium.person({ viewport: { width: 375, height: 780 }, colorScheme: "dark", storageState: await office.storageState() });
const phone = await chromium.open(narrow, `${server.url}/`);
for (const [name, hash] of [["the locks", "#/"], ["the activity", "#/activity"], ["the sessions", "#/sessions"], ["the log", "#/audit"], ["a person", "#/person/hostile-2"], ["a record", "#/resource/policy%2Fa%2Fb"]]) {
  await until(() => phone.locator("h1").count());
  if (hash !== "#/") await go(hash, phone);
  await until(async () => (await phone.locator(".row, .hold, .plot").count()) > 0);
  check(await isWithin(phone), `${name} fit 375 pixels`);
  await clean(`${name} at 375 pixels, dark`, phone);
}
await phone.close();

// ---- a token that may only observe; one that sees a single type ----

for (const [roles, resources, pages] of [["observe", 6, 4], ["observe:sheet", 1, 1]]) {
  const viewer = await chromium.person({ viewport: { width: 1280, height: 820 } });
  const view = await chromium.open(viewer, `${server.url}/`);
  await signIn(view, await token(`viewer ${roles}`, roles));
  check(await shows(rows(view), resources), `${roles} sees ${resources} locks`);
  check((await view.getByRole("button", { name: /Release/ }).count()) === 0, `${roles} is offered no release`);
  check((await view.locator("nav a").count()) === pages, `${roles} is offered ${pages} pages`);
  if (pages > 1) continue;
  // A token that no longer counts.
  const { id } = (await ask("GET", "/v1/tokens")).json.tokens.find(({ name }) => name === `viewer ${roles}`);
  await ask("DELETE", `/v1/tokens/${id}`);
  check((await until(async () => (await view.locator("input[name=token]").count()) === 1, 30)) && (await shows(view.locator(".problem", { hasText: "signed out" }))), "a token that is revoked ends the page");
  check((await rows(view).count()) === 0, "and nothing of it stays");
}

// ---- a browser whose language is none ----

const plain = await chromium.person();
await plain.addInitScript(() => Object.defineProperty(Navigator.prototype, "language", { get: () => "C", configurable: true }));
check(await shows((await chromium.open(plain, `${server.url}/`)).locator("input[name=token]")), "a browser whose language is C shows the page");
await plain.close();

// ---- the routes ----

const routes = await chromium.open(narrow, `${server.url}/api`);
check((await routes.locator("td.method").count()) > 40, "the routes are at /api");
await clean("the routes", routes);
await narrow.close();

// ---- out, and a server that goes ----

await go("#/");
await page.getByRole("button", { name: "Sign out" }).click();
check((await shows(page.locator("input[name=token]"))) && (await office.cookies()).length === 0, "signing out takes the cookie back");
check((await page.locator("body").innerText()).includes("Alice") === false, "and leaves nothing on the page");
await signIn(page, admin);
await shows(page.locator(".live.live"));
await page.getByRole("button", { name: "Show all" }).click(); // of no type but orders, so far
check(await shows(rows(), 6), "signed in again, all is shown when asked for");
const { address, data } = server;
server.own = false;
await server.stop();
check(await shows(page.locator(".banner", { hasText: "can't be reached" })), "a server that is gone is told");
await clean("a page without its server");
const again = await Server.start(["--listen", address], { data });
again.own = true;
check((await until(async () => (await page.locator(".live.live").count()) === 1, 20)) && (await shows(page.locator(".banner"), 0)), "and its coming back");
await again.stop();

// ---- a hundred thousand locks ----

const large = await Server.start();
const COUNT = 100000;
const EACH = 4000;
for (let at = 0; at < COUNT; at += EACH) {
  const session = key(await large.open(`user-${at / EACH}`, { name: `Person ${at / EACH}`, idle_seconds: 3600 }));
  for (let from = at; from < at + EACH; from += 1000) {
    const ops = Array.from({ length: 1000 }, (_, i) => ({ op: "acquire", resource: `record/${from + i}`, session, purpose: `task ${(from + i) % 97}` }));
    const { status, text: said } = await large.ask("POST", "/v1/batch", { token: large.token, body: { ops } });
    if (status !== 200) throw new Error(said);
  }
}
const many = await chromium.person({ viewport: { width: 1280, height: 820 } });
const big = await chromium.open(many, `${large.url}/`);
const start = Date.now();
await signIn(big, large.token);
await rows(big).first().waitFor();
const first = Date.now() - start;
console.log(`# the first page of ${COUNT} after ${first} ms`);
check(first < 30000, "the first of a hundred thousand are there soon");
check(await until(async () => (await big.locator(".tile dd").first().innerText()).replace(/\D/g, "") === String(COUNT), 60), "then all of them");
console.log(`# all after ${Date.now() - start} ms`);
check((await rows(big).count()) < 60, "only those near the screen are drawn", await rows(big).count());
const frames = await big.evaluate(async () => {
  const gaps = [];
  let last = performance.now();
  for (let i = 0; i < 40; i++) {
    scrollBy(0, 700);
    await new Promise((resolve) => requestAnimationFrame(resolve));
    gaps.push(performance.now() - last);
    last = performance.now();
  }
  return gaps.sort((a, b) => a - b);
});
console.log(`# a frame while scrolling: ${frames[20].toFixed(1)} ms in the middle, ${frames.at(-1).toFixed(1)} ms at most`);
check(frames[20] < 1500, "scrolling stays smooth");
await big.evaluate(() => scrollTo(0, document.body.scrollHeight));
check(await shows(row("record/99999", big)), "the last can be scrolled to");
await big.evaluate(() => scrollTo(0, 0));
await big.fill("#search", "record/77123");
check(await shows(rows(big), 1), "and any can be searched for");
await large.stop();

check(chromium.errors.length === 0, "no page threw an error", chromium.errors);
await chromium.stop();
finish();
