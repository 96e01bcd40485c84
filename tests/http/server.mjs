// Starts `holdfast serve` for a test and talks to it. Whoever imports this prints lines "ok - ..." or "not ok - ...".
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const program = process.env.HOLDFAST;
let failed = 0;

export function check(condition, sentence, detail) {
  console.log(`${condition ? "ok" : "not ok"} - ${sentence}`);
  if (!condition) {
    failed++;
    if (detail !== undefined) console.log(`# ${typeof detail === "string" ? detail : JSON.stringify(detail)}`);
  }
  return condition;
}

export function finish() {
  process.exitCode = failed ? 1 : 0;
}

export class Server {
  // options: more arguments of `serve`; data: a directory that is kept; format: of its log
  static async start(options = [], { data, env = {}, format = "json" } = {}) {
    const server = new Server();
    server.own = data === undefined;
    server.data = data ?? mkdtempSync(join(tmpdir(), "holdfast-http-"));
    server.lines = [];
    const args = ["serve", "--data", server.data, "--log", format, ...options];
    if (!options.includes("--listen")) args.push("--listen", "127.0.0.1:0");
    server.process = spawn(program, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, HOLDFAST_STORE: "", ...env },
    });
    server.gone = new Promise((resolve) => server.process.on("exit", (code, signal) => resolve({ code, signal })));
    server.output = "";
    server.process.stdout.on("data", (text) => (server.output += text));
    await server.#ready();
    server.token = readFileSync(join(server.data, "admin-token"), "utf8").trim();
    return server;
  }

  async #ready() {
    const reader = createInterface({ input: this.process.stderr });
    const listening = new Promise((resolve) => {
      reader.on("line", (line) => {
        this.lines.push(line);
        const address = /(?:"address":"|\baddress=)([^" ]+)/.exec(line)?.[1];
        if (address) resolve(address);
      });
      this.gone.then(() => resolve(null));
    });
    const address = await listening;
    if (address === null) throw new Error(`the server ended at once: ${this.lines.join("\n")}`);
    this.address = address;
    this.url = `http://${address}`;
  }

  // One request; body is an object, a string or bytes. Answers {status, headers, text, json}.
  async ask(method, path, { body, token, session, headers = {}, type } = {}) {
    const sent = { ...headers };
    if (token) sent.Authorization = `Bearer ${token}`;
    if (session) sent["Holdfast-Session"] = `${session.id}.${session.key}`;
    const raw = body === undefined || typeof body === "string" || body instanceof Uint8Array;
    if (body !== undefined) sent["Content-Type"] = type ?? "application/json";
    const go = () => fetch(this.url + path, { method, headers: sent, body: raw ? body : JSON.stringify(body) });
    // A server that ends idle connections soon may end a kept one just when it is to be used again; a GET is then sent again, as any client does.
    const stale = (err) => this.endsIdleSoon && method === "GET" && err.cause?.code === "UND_ERR_SOCKET" && err.cause.socket?.bytesRead > 0;
    const response = await go().catch((err) => (stale(err) ? go() : Promise.reject(err)));
    const text = await response.text();
    let json;
    try {
      json = JSON.parse(text);
    } catch {
      json = undefined;
    }
    return { status: response.status, headers: response.headers, text, json };
  }

  async open(user, more = {}) {
    const answer = await this.ask("POST", "/v1/sessions", { token: this.token, body: { user, ...more } });
    if (answer.status !== 201) throw new Error(`no session for ${user}: ${answer.text}`);
    return answer.json;
  }

  async stop(signal = "SIGTERM") {
    this.process.kill(signal);
    const end = await this.gone;
    if (this.own) rmSync(this.data, { recursive: true, force: true });
    return end;
  }
}

// Asks so often, one after the other; the answers' statuses.
export const times = async (count, ask) => {
  const answers = [];
  for (let i = 0; i < count; i++) answers.push(await ask(i));
  return answers;
};
export const statuses = (answers) => answers.map((answer) => answer.status).join(" ");
