// Alice and Bob on the examples' pages with <edit-lock>, in a real browser. Bob may take over.
import { createServer } from "node:http";
import { once } from "node:events";
import { Chromium, until } from "../web/browser.mjs";
import { check } from "../http/server.mjs";

// A port that is free: the server must be told the application's origin before that starts.
export async function freePort() {
  const taken = createServer();
  await once(taken.listen(0, "127.0.0.1"), "listening");
  const { port } = taken.address();
  taken.close();
  await once(taken, "close");
  return port;
}

export async function playElement(address, holdfast) {
  const chrome = await Chromium.start();
  const logIn = async (user) => {
    const page = await chrome.open(await chrome.person(), `${address}/login`);
    await page.fill("[name=username]", user);
    await page.fill("[name=password]", "demo");
    await page.press("[name=password]", "Enter");
    await page.waitForURL(`${address}/`);
    await page.goto(`${address}/policies/2/open`);
    return page;
  };
  const sees = async (page, state, sentence = "") => {
    const shown = () => page.evaluate(() => {
      const lock = document.querySelector("edit-lock");
      return `${lock?.getAttribute("state")}: ${lock?.shadowRoot?.textContent}`;
    });
    return (await until(async () => (await shown()).startsWith(`${state}:`) && (await shown()).includes(sentence))) || (console.log(`# ${await shown()}`), false);
  };
  const press = (page, name) => page.getByRole("button", { name, exact: true }).click();
  const alice = await logIn("alice");
  check(await sees(alice, "held"), "edit-lock: Alice opens the policy and holds it");
  const bob = await logIn("bob");
  check(await sees(bob, "refused", "Alice Chen is editing this"), "Bob reads who has it");
  await alice.fill("[name=text]", "By Alice, in the browser.");
  await press(alice, "Save");
  await alice.waitForURL(`${address}/`);
  check((await alice.textContent("#policy-2")) === "By Alice, in the browser.", "Alice saves");
  check(await sees(bob, "freed"), "Bob is told that it is free");
  await press(bob, "Edit it now");
  check(await sees(bob, "held") && (await bob.inputValue("[name=text]")) === "By Alice, in the browser.", "and begins with what she saved");
  await bob.goto(`${address}/`);
  await alice.goto(`${address}/policies/2/open`);
  await sees(alice, "held");
  await alice.fill("[name=text]", "Late.");
  await bob.goto(`${address}/policies/2/open`);
  await sees(bob, "refused");
  await press(bob, "Take over");
  await bob.keyboard.type("Alice is ill");
  // Her page can't ask holdfast any more: what refuses her save is the application.
  await alice.route(`${holdfast}/**`, (route) => route.abort());
  await bob.keyboard.press("Enter");
  check(await sees(bob, "held"), "Bob takes it over");
  await press(alice, "Save");
  await alice.waitForLoadState();
  const told = await alice.textContent("body");
  check(told.includes("policy/2 is being edited by Bob Smith") && told.includes("Late."), "Alice's late save is refused, and she has her text", told);
  await bob.fill("[name=text]", "Covers fire.");
  await press(bob, "Save");
  await bob.waitForURL(`${address}/`);
  check((await bob.textContent("#policy-2")) === "Covers fire.", "Bob's is not");
  check(chrome.errors.length === 0, "no page has thrown", chrome.errors);
  await chrome.stop();
}
