#!/usr/bin/env node
// A server whose store is another holdfast server: what it says of that store, and that nobody waits when the one behind hangs.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { check, finish, Server, times } from "./server.mjs";

const folder = mkdtempSync(join(tmpdir(), "holdfast-behind-"));
const behind = await Server.start();
writeFileSync(join(folder, "admin-token"), `${behind.token}\n`, { mode: 0o600 });
const server = await Server.start(["--store", `${behind.url}?timeout=20s`, "--metrics-public"],
  { data: folder, env: { HOLDFAST_TOKEN: behind.token } });

const ready = await server.ask("GET", "/readyz", { token: server.token });
const behindReady = await behind.ask("GET", "/readyz");
check(ready.status === 200 && ready.json.grade === behindReady.json.grade && ready.json.text.startsWith(`the server at ${behind.url}`),
  "the grade is that of the server behind", ready.text);

// How long the slowest of a few requests that need no store took, in ms.
async function slowest() {
  const took = await times(10, async () => {
    const began = Date.now();
    const answer = await server.ask("GET", "/healthz");
    return answer.status === 200 ? Date.now() - began : Infinity;
  });
  return Math.max(...took);
}

await server.ask("GET", "/metrics");
behind.process.kill("SIGSTOP");
const late = server.ask("GET", "/readyz");
const counted = server.ask("GET", "/metrics");
const most = await slowest();
check(most < 5000, "while the server behind hangs, others are answered", `${most} ms`);
const metrics = await counted;
const graded = metrics.text.match(/^holdfast_store_info.*/m)?.[0];
check(metrics.status === 200 && graded.includes(`grade="${ready.json.grade}"`), "and so is who asks for metrics, with the grade as it was last told", graded);
behind.process.kill("SIGCONT");
const answer = await late;
check(answer.status === 200 && answer.json.ready === true, "who asked whether it is ready waits until it is", answer.text);

check((await server.stop()).code === 0 && (await behind.stop()).code === 0, "both stop cleanly");
rmSync(folder, { recursive: true });
finish();
