#!/usr/bin/env node
// The Django example, played: on SQLite, with the fence in the record; or with HF_TEST_POSTGRES or HF_TEST_MARIADB in a database where the
// locks are too, with holdfast's own check. Its pages speak to the application only.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, playElement } from "./element.mjs";
import { startExample } from "./example.mjs";
import { Play } from "./play.mjs";
import { check, finish, Server } from "../http/server.mjs";

const { HF_SOURCE_ROOT: root, HF_TEST_POSTGRES: postgres, HF_TEST_MARIADB: mariadb } = process.env;

// A database of this run's own on the server: its URL, and a way to be rid of it.
function ownDatabase(server) {
  const name = `office_${process.pid}`;
  const [, user, socket] = /\/\/(\w+)@.*[?&](?:socket|host)=([^&]+)/.exec(server);
  const ask = postgres ? (sql) => execFileSync("psql", ["-qX", server, "-c", sql])
    : (sql) => execFileSync("mariadb", ["-S", socket, "-u", user, "-e", sql]);
  ask(`CREATE DATABASE ${name}`);
  return { url: server.replace(/(\/\/[^/]*\/)[^?]*/, `$1${name}`), drop: () => ask(`DROP DATABASE ${name}${postgres ? " WITH (FORCE)" : ""}`) };
}

const own = (postgres ?? mariadb) && ownDatabase(postgres ?? mariadb);
const folder = mkdtempSync(join(tmpdir(), "holdfast-django-"));
const port = await freePort();
const server = await Server.start(["--allow-origin", `http://127.0.0.1:${port}`, ...(own ? ["--store", own.url] : [])]);
const { token } = (await server.ask("POST", "/v1/tokens", { token: server.token, body: { name: "office", roles: "use:policy manage:policy" } })).json;
writeFileSync(join(folder, "token"), token, { mode: 0o600 });
const app = await startExample("/usr/bin/python3", [join(root, "tests/recipes/django_app.py"), ...(own ? [own.url] : [])],
  { HOLDFAST_URL: server.url, HOLDFAST_TOKEN_FILE: join(folder, "token"), PORT: `${port}` });
if (!own) await playElement(app.address, server.url);
const play = await Play.begin(server, token, app);
await play.all({ inDatabase: Boolean(own) });
const known = new Set(play.opened);
const shown = [...play.alice.seen, ...play.bob.seen].flatMap((page) => page.match(/\b[0-9a-f]{32}\b/g) ?? []);
check(shown.length > 0 && shown.every((id) => known.has(id)), "pages show the public ids of sessions, and no key");
await app.stop();
own?.drop();
rmSync(folder, { recursive: true });
finish();
