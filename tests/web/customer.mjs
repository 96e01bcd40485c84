#!/usr/bin/env node
// The customer application (examples/customer), as `make run` starts it, in real Chromium: two people on one record under each of the four
// policies, the conflict field by field, sessions that end, pages without a script, hostile names.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { check, finish } from "../http/server.mjs";
import { Chromium, picture, until, violations } from "./browser.mjs";

const EVIL = "\u202e<script>alert(1)</script>\"'&\u2066";
const build = dirname(process.env.HOLDFAST);

// The server and the application, by tools/run-demo.
class Demo {
  static async start(options = []) {
    const it = new Demo();
    it.data = mkdtempSync(join(tmpdir(), "holdfast-customer-"));
    it.out = it.err = "";
    it.process = spawn(join(process.env.HF_SOURCE_ROOT, "tools/run-demo"), [build, it.data, ...options], { stdio: ["ignore", "pipe", "pipe"] });
    it.process.stdout.on("data", (text) => (it.out += text));
    it.process.stderr.on("data", (text) => (it.err += text));
    it.gone = new Promise((resolve) => it.process.on("exit", resolve));
    if (!(await until(() => /token create/.test(it.out)))) throw new Error(`it did not start: ${it.out}${it.err}`);
    it.url = /first: +(\S+)\/$/m.exec(it.out)[1];
    await until(() => fetch(it.url).then(({ ok }) => ok, () => false));
    return it;
  }

  async stop() {
    this.process.kill("SIGINT");
    const code = await this.gone;
    rmSync(this.data, { recursive: true, force: true });
    return code;
  }
}

let chromium, demo;

// A person: a browser of their own, signed in. `go` opens one of their pages.
async function person(user, options = {}) {
  const context = await chromium.person(options);
  const page = await chromium.open(context, `${demo.url}/${user}/enter?to=/customers`);
  const go = (path) => page.goto(`${demo.url}/${user}${path}`);
  const field = (name) => page.locator(`#edit [name=${name}]`);
  return { user, context, page, go, field, said: () => page.locator("main").innerText(), leave: () => context.close() };
}

const state = (page, wanted) => until(async () => (await page.locator("edit-lock").getAttribute("state").catch(() => "")) === wanted);
const button = (page, name) => page.getByRole("button", { name, exact: true });
const save = (page) => Promise.all([page.waitForNavigation(), button(page, "Save").click()]);

// The switch of the first page, without its two frames, which would take part.
async function policy(name) {
  const csrf = /name="csrf" value="(\w+)"/.exec(await (await fetch(demo.url)).text())[1];
  const answer = await fetch(`${demo.url}/policy`, { method: "POST", body: new URLSearchParams({ policy: name, csrf }) });
  check((await answer.text()).includes(`value="${name}" aria-pressed="true"`), `the switch sets ${name}`);
}

async function clean(page, name) {
  const found = await violations(page);
  check(found.length === 0, `axe finds nothing on ${name}`, found);
  await picture(page, `customer-${name.replace(/\W+/g, "-")}`);
}

// ---- exclusive-write ----

async function exclusiveWrite(alice, bob) {
  await policy("exclusive-write");
  await alice.go("/customers/42/edit");
  check(await state(alice.page, "held"), "Alice edits");
  await bob.go("/customers/42");
  check((await bob.said()).includes("Lindqvist & Daughters"), "Bob may read meanwhile");
  await bob.go("/customers/42/edit");
  check(await state(bob.page, "refused"), "but not edit");
  check(await bob.page.getByText("Alice Chen is editing this").first().isVisible(), "and is told who does");
  check(!(await bob.field("name").isEnabled()) || !(await bob.field("name").isEditable()), "Bob's form can't be filled in");
  await clean(bob.page, "the refused page");
  await alice.field("name").fill("Lindqvist & Sons");
  await alice.field("visit_city").fill("Uppsala");
  await clean(alice.page, "the form");
  await save(alice.page);
  check((await alice.said()).includes("Lindqvist & Sons") && (await alice.said()).includes("Uppsala"), "Alice's save is shown, with a new address");
  await clean(alice.page, "a customer");
  check(await state(bob.page, "freed"), "Bob is told that it is free");
  await button(bob.page, "Edit it now").click();
  check(await state(bob.page, "held"), "and gets it with one click");
  check((await bob.field("name").inputValue()) === "Lindqvist & Sons", "with what Alice has saved, not what was shown before");
  await bob.field("phone").fill("+46 1");
  await save(bob.page);
  check(/version 3, saved by\s+Bob Smith/.test(await bob.said()), "Bob's save is the third", await bob.said());
}

async function takeOver(alice, bob) {
  await bob.go("/customers/43/edit");
  await state(bob.page, "held");
  await bob.field("note").fill("Bob's late words");
  await alice.go("/customers/43/edit");
  await state(alice.page, "refused");
  await button(alice.page, "Take over").click();
  await alice.page.getByRole("textbox", { name: /Why/ }).fill("Bob is at lunch");
  await alice.page.keyboard.press("Enter");
  check(await state(alice.page, "held"), "a supervisor takes over, with a reason");
  check(await state(bob.page, "lost"), "who had it is told");
  await alice.field("note").fill("Alice was faster");
  await save(alice.page);
  // What a page does whose script has not heard of it.
  await Promise.all([bob.page.waitForNavigation(), bob.page.evaluate(() => {
    for (const it of document.querySelectorAll("#edit :disabled, #edit :read-only")) it.disabled = it.readOnly = false;
    document.querySelector("#edit").submit();
  })]);
  const said = await bob.said();
  check(said.includes("Bob's late words") && said.includes("Alice was faster"), "a save that comes too late loses nothing: both are shown", said);
  await clean(bob.page, "the conflict page under a lock");
  await Promise.all([bob.page.waitForNavigation(), button(bob.page, "Discard my changes").click()]);
  await bob.go("/customers/43");
  check((await bob.said()).includes("Alice was faster"), "and what was saved stays");
}

// ---- optimistic ----

async function optimistic(alice, bob) {
  await policy("optimistic");
  for (const one of [alice, bob]) await one.go("/customers/44/edit");
  check((await state(alice.page, "editing")) && (await state(bob.page, "editing")), "both edit at once");
  await alice.field("name").fill("Ferreira & Filhas");
  await alice.field("billing_city").fill("Lisboa");
  await save(alice.page);
  check(await until(async () => (await bob.page.getByText("Alice Chen has just saved this").count()) > 0), "Bob hears of Alice's save while typing");
  await bob.field("phone").fill("+351 1");
  await bob.field("billing_city").fill("Braga");
  await save(bob.page);
  const said = await bob.said();
  check(/customer\/44 was changed by Alice Chen at (\S+ )?\d\d:\d\d UTC \(you read version 1, it is now 2\)/.test(said), "the conflict page says who and when", said);
  const row = (label) => bob.page.getByRole("group", { name: label, exact: true });
  check((await row("Name").innerText()).includes("Only the other person changed this"), "Alice's field is merged");
  check((await row("Phone").innerText()).includes("Only you changed this"), "and Bob's");
  const city = row("Billing address: city");
  const text = await city.innerText();
  check(/Mine\s+Braga/.test(text) && /Theirs\s+Lisboa/.test(text) && /before: Porto/.test(text), "of what both changed mine, theirs and the older are shown", text);
  check((await city.getByRole("textbox").inputValue()) === "Braga", "and what was merged can be changed");
  await clean(bob.page, "the conflict page");
  await button(bob.page, "Save the merged customer").click();
  check(/Your changes and theirs/.test(await bob.page.title()), "what both changed has to be chosen");
  await city.getByRole("radio", { name: "Merged" }).check();
  await city.getByRole("textbox").fill("Lisboa and Braga");
  await Promise.all([bob.page.waitForNavigation(), button(bob.page, "Save the merged customer").click()]);
  const merged = await bob.said();
  check(["Ferreira & Filhas", "+351 1", "Lisboa and Braga", "version 3"].every((part) => merged.includes(part)), "the merged customer is saved", merged);
}

// ---- exclusive-read and read-write ----

async function exclusiveRead(alice, bob) {
  await policy("exclusive-read");
  await alice.go("/customers/42");
  check(await state(alice.page, "held"), "Alice reads, and has it");
  const html = await (await bob.go("/customers/42")).text();
  check(!html.includes("Lindqvist") && (await state(bob.page, "refused")), "Bob can't even read");
  await clean(bob.page, "a customer that can't be read");
  await alice.go("/customers");
  check(await state(bob.page, "freed"), "until Alice leaves");
  await Promise.all([bob.page.waitForNavigation(), button(bob.page, "Open it now").click()]);
  check((await bob.said()).includes("Lindqvist & Sons"), "then Bob is shown it");
  await bob.page.getByRole("link", { name: "Edit" }).click();
  check(await state(bob.page, "held"), "and goes on to edit without letting it go");
  await Promise.all([bob.page.waitForNavigation(), button(bob.page, "Cancel").click()]);
}

async function readWrite(alice, bob) {
  await policy("read-write");
  for (const one of [alice, bob]) await one.go("/customers/42");
  check((await state(alice.page, "reading")) && (await state(bob.page, "reading")), "both read at once");
  await bob.go("/customers/42/edit");
  check(await state(bob.page, "refused"), "nobody edits what another reads");
  await clean(bob.page, "an edit that waits for a reader");
  await alice.go("/customers");
  await until(async () => (await bob.page.locator("edit-lock").getAttribute("state")) === "freed");
  await button(bob.page, "Edit it now").click();
  check(await state(bob.page, "held"), "but when the reader has left");
  await alice.go("/customers/42");
  check(await state(alice.page, "refused"), "nor does anybody read what another edits");
}

// ---- sessions ----

async function signingOut(alice, bob) {
  await policy("exclusive-write");
  await bob.go("/customers/45/edit");
  await state(bob.page, "held");
  const other = await chromium.open(bob.context, `${demo.url}/bob/customers`); // the edit page stays open
  await Promise.all([other.waitForNavigation(), button(other, "Sign out").click()]);
  await alice.go("/customers/45/edit");
  check(await state(alice.page, "held"), "signing out gives back what one's pages hold");
  check(await state(bob.page, "lost"), "and the page that is left says so");
  await alice.go("/customers");
}

// ---- without a script ----

async function plain() {
  const alice = await person("alice", { javaScriptEnabled: false });
  const bob = await person("bob", { javaScriptEnabled: false });
  await alice.go("/customers/46/edit");
  const answer = await bob.go("/customers/46/edit");
  const said = await bob.said();
  check(answer.status() === 423 && /Alice Chen has this customer/.test(said) && /Since (\S+ )?\d\d:\d\d UTC, for “editing”/.test(said) && /or at (\S+ )?\d\d:\d\d UTC/.test(said),
    "without a script a page says who has it, since when, until when", said);
  check(!(await button(bob.page, "Save").isEnabled()), "and can't be saved");
  await picture(bob.page, "customer-plain-refusal");
  await bob.page.getByLabel(/^Message to/).fill("May I?");
  await Promise.all([bob.page.waitForNavigation(), button(bob.page, "Ask to release").click()]);
  check((await bob.said()).includes("Your question is shown"), "one can ask");
  await alice.field("note").fill("first line\nsecond <b>line</b>");
  await save(alice.page);
  check((await alice.said()).includes("second <b>line</b>"), "and save");
  await bob.go("/customers/46/edit");
  check((await bob.field("note").inputValue()) === "first line\nsecond <b>line</b>", "then the other edits what was saved");
  await alice.go("/customers/46/edit");
  await alice.page.getByLabel(/^Why take it over/).fill("urgent");
  await Promise.all([alice.page.waitForNavigation(), button(alice.page, "Take over").click()]);
  check(await button(alice.page, "Save").isEnabled(), "a supervisor takes over");
  await bob.field("note").fill("late");
  await save(bob.page);
  check((await bob.said()).includes("Not saved yet") && (await bob.said()).includes("late"), "whose work was taken keeps the text", await bob.said());
  await save(alice.page);
  await Promise.all([bob.page.waitForNavigation(), button(bob.page, "Try to save again").click()]);
  check(/Only you changed this/.test(await bob.said()), "and merges it when it is free", await bob.said());
  await Promise.all([bob.page.waitForNavigation(), button(bob.page, "Save the merged customer").click()]);
  check((await bob.said()).includes("late"), "so that nothing was lost");
  await bob.go("/customers/46/edit");
  await bob.page.getByText("Delete…").click();
  await Promise.all([bob.page.waitForNavigation(), button(bob.page, "Delete this customer").click()]);
  await alice.go("/customers/46");
  check(/customer\/46 was deleted by Bob Smith at/.test(await alice.said()), "a deletion is told", await alice.said());
  for (const one of [alice, bob]) await one.leave();
}

// ---- what hostile people do ----

async function hostile(alice) {
  const eve = await person("eve");
  await eve.go("/customers/new");
  await eve.field("name").fill("   ");
  await save(eve.page);
  check((await eve.said()).includes("Please give the customer a name"), "a customer needs a name");
  for (const name of ["name", "note", "billing_street", "email"]) await eve.field(name).evaluate((it, text) => ((it.type = "text"), (it.value = text)), EVIL);
  await save(eve.page);
  const id = /customers\/(\d+)$/.exec(eve.page.url())[1];
  await eve.go(`/customers/${id}/edit`);
  await state(eve.page, "held");
  await alice.go("/customers");
  check(await until(async () => (await alice.page.locator("lock-badge[state=held]").count()) === 1), "the list shows who works on a customer");
  await clean(alice.page, "the list");
  await alice.go(`/customers/${id}/edit`);
  await state(alice.page, "refused");
  await clean(alice.page, "a refusal by a hostile name");
  check((await alice.page.locator("bdi", { hasText: "\\u202e<script>alert(1)</script>" }).count()) > 0, "a hostile name is text, and turns nothing around");
  check((await alice.field("name").inputValue()) === EVIL, "but in a form it is as it was typed");
  check((await alice.page.locator("main script").count()) === 0, "and no script");
  const cookie = (await alice.context.cookies()).map(({ name, value }) => `${name}=${value}`).join("; ");
  const post = (path, body, headers = {}) =>
    fetch(`${demo.url}/alice${path}`, { method: "POST", redirect: "manual", body: new URLSearchParams(body), headers: { cookie, ...headers } });
  const csrf = await alice.page.locator("input[name=csrf]").first().inputValue();
  check((await post("/customers", { name: "x" })).status === 403, "a form without its token is refused");
  check((await post("/customers", { name: "x", csrf }, { origin: "http://evil.example" })).status === 403, "and one of another origin");
  check((await post("/customers/42/take-over", { reason: "x", csrf: "0".repeat(32) })).status === 403, "a wrong token too");
  const bob = await person("bob");
  const denied = await bob.page.evaluate(() => fetch("/bob/holdfast/take-over", { method: "POST",
    headers: { "X-CSRF-Token": document.querySelector("input[name=csrf]").value, "Content-Type": "application/json" },
    body: JSON.stringify({ resource: "customer/42", reason: "x" }) }).then((answer) => answer.json().then(({ message }) => [answer.status, message])));
  check(denied[0] === 403 && /may not take/.test(denied[1]), "who is no supervisor takes nothing over", denied);
  for (const one of [bob, eve]) await one.leave();
}

// ---- the first page ----

async function firstPage() {
  const context = await chromium.person({ viewport: { width: 1280, height: 900 } });
  const page = await chromium.open(context, demo.url);
  const [left, right] = ["Alice Chen", "Bob Smith"].map((name) => page.frameLocator(`iframe[title="What ${name} sees"]`));
  await left.getByRole("link", { name: "Edit" }).click();
  check(await until(() => left.locator("edit-lock[state=held]").count()), "on the first page Alice edits on the left");
  await right.getByRole("link", { name: "Edit" }).click();
  check(await until(() => right.getByText("Alice Chen is editing this").count()), "and Bob is told on the right");
  await clean(page, "the first page");
  await right.getByRole("button", { name: "Ask to release" }).click();
  await right.getByRole("textbox", { name: /Message to/ }).fill("Can I have it for a minute?");
  await right.getByRole("button", { name: "Send" }).click();
  check(await until(() => left.getByText("Can I have it for a minute?").count()), "Alice sees what Bob asks");
  await picture(page, "customer-first-page-asked");
  await left.getByRole("button", { name: "Hand over" }).click();
  check(await until(() => right.locator("edit-lock[state=held]").count()), "and hands it over");
  await button(page, "optimistic").click();
  check(await until(() => right.getByText("Everyone may edit at once").count()), "the switch shows the same under another policy");
  await page.setViewportSize({ width: 375, height: 800 });
  check(await page.evaluate(() => document.documentElement.scrollWidth <= 375), "it fits a phone");
  await context.close();
}

demo = await Demo.start(["--person", "alice=Alice Chen", "--person", "bob=Bob Smith", "--person", `eve=${EVIL}`, "--idle", "120s"]);
chromium = await Chromium.start();
try {
  const alice = await person("alice"), bob = await person("bob");
  await exclusiveWrite(alice, bob);
  await takeOver(alice, bob);
  await optimistic(alice, bob);
  await exclusiveRead(alice, bob);
  await readWrite(alice, bob);
  await signingOut(alice, bob);
  await hostile(alice);
  for (const one of [alice, bob]) await one.leave();
  await plain();
  await firstPage();
  check(chromium.errors.length === 0, "no page threw", chromium.errors);
} finally {
  await chromium.stop();
  const complaints = demo.err.split("\n").filter((line) => line !== "" && !/ info: |The port was taken/.test(line));
  check((await demo.stop()) === 0, "both processes stop cleanly");
  check(complaints.length === 0, "and had nothing to complain of", complaints);
}
finish();
