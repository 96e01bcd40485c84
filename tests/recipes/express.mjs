#!/usr/bin/env node
// The Express example, played. Its pages speak to holdfast themselves.
import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Browser } from "./browser.mjs";
import { freePort, playElement } from "./element.mjs";
import { startExample } from "./example.mjs";
import { Play } from "./play.mjs";
import { check, finish, Server } from "../http/server.mjs";

const origin = "http://office.example.org";
const folder = mkdtempSync(join(tmpdir(), "holdfast-express-"));
const port = await freePort();
const server = await Server.start(["--allow-origin", origin, "--allow-origin", `http://127.0.0.1:${port}`]);
const { token } = (await server.ask("POST", "/v1/tokens", { token: server.token, body: { name: "office", roles: "use:policy manage:policy" } })).json;
writeFileSync(join(folder, "token"), token, { mode: 0o600 });
check(String(spawnSync("node18", ["--version"]).stdout).startsWith("v18."), "the example runs on Debian 12's Node", "There is no Node 18: run tools/install-deps test.");
const start = async (env = {}) => ({
  origin,
  ...(await startExample("node18", [join(process.env.HF_SOURCE_ROOT, "examples/express/app.js")], {
    HOLDFAST_URL: server.url, HOLDFAST_TOKEN_FILE: join(folder, "token"), PORT: "0",
    NODE_PATH: join(process.env.HF_NPM, "node_modules"), ...env,
  })),
});
const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
const locks = async (at = server) => (await at.ask("GET", "/v1/locks", { token: at.token })).json.locks.length;

// Beats go to holdfast, so the application hears nothing of someone who types.
async function longWork() {
  const brief = await start({ WEB_SESSION_SECONDS: "1", IDLE_SECONDS: "4" });
  const carol = new Browser(brief.address, origin);
  await carol.logIn("alice");
  const page = await carol.open("/policies/1/edit");
  for (const until = Date.now() + 4000; Date.now() < until; await pause(0.2)) await page.beat();
  check(!page.button.disabled && (await locks()) === 1, "who types for as long as four web sessions last keeps the lock", page.output.textContent);
  const saved = await page.submit({ text: "Typed for long." });
  check(saved.path === "/" && saved.words.includes("Typed for long."), "and can save", saved.words);
  await carol.open("/policies/1/edit");
  while ((await locks()) > 0) await pause(0.05);
  check(true, "when beats stop, the idle bound frees the record");
  let shown;
  for (let i = 0; i < 20 && !shown?.words.includes("Log in"); i++) {
    await pause(1.5); // each look is a use of the web session
    shown = await carol.open("/");
  }
  check(shown.words.includes("Log in"), "and then the web session runs out", shown.words);
  await brief.stop();
}

async function longOutage() {
  const other = await Server.start(["--allow-origin", origin]);
  writeFileSync(join(folder, "other"), other.token, { mode: 0o600 });
  const brief = await start({ WEB_SESSION_SECONDS: "1", HOLDFAST_URL: other.url, HOLDFAST_TOKEN_FILE: join(folder, "other") });
  const carol = new Browser(brief.address, origin);
  await carol.logIn("alice");
  const page = await carol.open("/policies/1/edit");
  check((await locks(other)) === 1, "someone edits", page.words);
  await other.stop("SIGKILL");
  await pause(3);
  const saved = await page.submit({ text: "Typed meanwhile." });
  check(saved.path === "/" && saved.words.includes("Typed meanwhile."), "no web session runs out while holdfast can't be asked who works", saved.words);
  await brief.stop();
}

await longWork();
await longOutage();
const app = await start({ PORT: `${port}` });
await playElement(app.address, server.url);
const play = await Play.begin(server, token, app);
await play.all();
await app.stop();
rmSync(folder, { recursive: true });
finish();
