#!/usr/bin/env node
// The Express example, played. Its pages speak to holdfast themselves.
import { rmSync, writeFileSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Browser } from "./browser.mjs";
import { startExample } from "./example.mjs";
import { Play } from "./play.mjs";
import { check, finish, Server } from "../http/server.mjs";

const origin = "http://office.example.org";
const folder = mkdtempSync(join(tmpdir(), "holdfast-express-"));
const server = await Server.start(["--allow-origin", origin]);
const { token } = (await server.ask("POST", "/v1/tokens", { token: server.token, body: { name: "office", roles: "use:policy" } })).json;
writeFileSync(join(folder, "token"), token, { mode: 0o600 });
const start = async (env = {}) => ({
  origin,
  ...(await startExample(process.execPath, [join(process.env.HF_SOURCE_ROOT, "examples/express/app.js")], {
    HOLDFAST_URL: server.url, HOLDFAST_TOKEN_FILE: join(folder, "token"), PORT: "0",
    NODE_PATH: join(process.env.HF_NPM, "node_modules"), ...env,
  })),
});

const brief = await start({ WEB_SESSION_SECONDS: "1" });
const carol = new Browser(brief.address, origin);
await carol.logIn("alice");
check((await carol.open("/policies/1/edit")).status === 200, "someone edits and goes away");
const locks = async () => (await server.ask("GET", "/v1/locks", { token: server.token })).json.locks.length;
while ((await locks()) > 0) await new Promise((resolve) => setTimeout(resolve, 50));
check(true, "when the web session runs out, the lock is given back");
await brief.stop();

const app = await start();
const play = await Play.begin(server, token, app);
await play.all();
await app.stop();
rmSync(folder, { recursive: true });
finish();
