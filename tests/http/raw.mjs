// Bytes to and from a server as they are, for clients that do not behave; and what such clients cost the server's process.
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { check } from "./server.mjs";

// A connection: `text` is all that came, `closed` resolves to "end" or "error" when the server has closed it.
export class Raw {
  static open(server, { bytes, connecting = connect, ...more } = {}) {
    const raw = new Raw();
    const [host, port] = server.address.split(/:(?=\d+$)/);
    raw.text = "";
    raw.socket = connecting({ host, port: Number(port), allowHalfOpen: true, noDelay: true, ...more });
    raw.ready = new Promise((resolve) => {
      raw.socket.once("connect", () => resolve(true));
      raw.socket.once("error", () => resolve(false));
    });
    raw.closed = new Promise((resolve) => {
      raw.socket.on("end", () => resolve("end"));
      raw.socket.on("error", () => resolve("error"));
      raw.socket.on("close", () => resolve("error"));
    });
    if (bytes !== undefined) raw.socket.write(bytes);
    return raw;
  }

  // From now on what comes is read. Before, it stays where it is.
  listen() {
    this.socket.on("data", (piece) => (this.text += piece.toString("latin1")));
    return this;
  }

  send(bytes) {
    if (this.socket.writable) this.socket.write(bytes);
  }

  // The statuses of the answers that came, in order.
  get statuses() {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((found) => Number(found[1])).filter((status) => status !== 100);
  }

  destroy() {
    this.socket.destroy();
  }
}

// Asks once in bytes, and waits until the server closes.
export async function exchange(server, bytes, { half = false, ...more } = {}) {
  const raw = Raw.open(server, { bytes, ...more }).listen();
  if (half) raw.socket.end();
  const how = await within(raw.closed, 20000, "open");
  const { statuses, text } = raw;
  raw.destroy();
  return { how, statuses, text };
}

export function within(promise, milliseconds, otherwise) {
  let timer;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, milliseconds, otherwise)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// Asks again and again until it is so.
export async function until(condition, milliseconds = 20000) {
  const end = Date.now() + milliseconds;
  for (;;) {
    if (await condition()) return true;
    if (Date.now() > end) return false;
    await pause(5);
  }
}

// How many files the server's process has open, and how much memory it has had, in MiB.
export const files = (server) => readdirSync(`/proc/${server.process.pid}/fd`).length;
export const peak = (server) => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.process.pid}/status`, "utf8"))[1]) / 1024;

export async function metrics(server) {
  const { text } = await server.ask("GET", "/metrics", { token: server.token });
  return (name) => Number(text.split("\n").find((line) => line.startsWith(`${name} `))?.split(" ")[1] ?? 0);
}

// Holds the write lock of the server's SQLite file while it is told to: what is asked of the store meanwhile is parked, for half a second.
export class Holder {
  #process;
  #told;
  constructor(server) {
    const script = `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=5)
for line in sys.stdin:
    db.execute("BEGIN IMMEDIATE" if line.strip() == "hold" else "ROLLBACK")
    print("done", flush=True)
`;
    this.#process = spawn("python3", ["-c", script, join(server.data, "holdfast.db")], { stdio: ["pipe", "pipe", "inherit"] });
    this.#told = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
  }
  async #tell(word) {
    this.#process.stdin.write(`${word}\n`);
    await this.#told.next();
  }
  hold() {
    return this.#tell("hold");
  }
  letGo() {
    return this.#tell("let go");
  }
  done() {
    this.#process.stdin.end();
  }
}

// After all that: it answers, has nothing left open, has not grown, says nothing bad, and ends as it should.
export async function survived(server, filesBefore, memoryMax) {
  let answer = {};
  await until(async () => (answer = await server.ask("GET", "/v1/types", { token: server.token }).catch(String)).status === 200); // on a new connection
  check(answer.status === 200, "the server still answers", answer.text);
  // Ours, and a few of the store's.
  check(await until(() => files(server) <= filesBefore + 4), "it has no more files open than before", `${files(server)}, before ${filesBefore}`);
  const sanitized = /build-asan/.test(process.env.HOLDFAST);
  if (!sanitized) check(peak(server) < memoryMax, `it had at most ${Math.round(peak(server))} MiB of memory`, `${peak(server)} of ${memoryMax}`);
  const end = await server.stop();
  check(end.code === 0, "it stops cleanly", end);
  const bad = server.lines.filter((line) => /Sanitizer|runtime error|assert/i.test(line));
  check(bad.length === 0, "nothing was found in it", bad.slice(0, 20).join("\n# "));
}
