// holdfast over HTTP: the few calls that an application makes. The token stays here; a page gets the key of its own work only.
"use strict";
const { readFileSync } = require("node:fs");

const url = process.env.HOLDFAST_URL ?? "http://127.0.0.1:7420";
const token = readFileSync(process.env.HOLDFAST_TOKEN_FILE, "utf8").trim();
const idleSeconds = Number(process.env.IDLE_SECONDS ?? 300);

// The sentence is for people; status is that of the page that tells it.
class Refused extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

function unavailable(why) {
  console.error(`holdfast at ${url}: ${why}`);
  return new Refused(503, "The lock service does not answer. Nothing was changed; please try again in a minute.");
}

async function ask(method, path, { body, login, headers: more } = {}) {
  const headers = login ? { "Holdfast-Session": login } : { Authorization: `Bearer ${token}` };
  Object.assign(headers, more);
  if (body !== undefined)
    headers["Content-Type"] = "application/json";
  let status, said;
  try {
    const answer = await fetch(url + path, { method, headers, body: JSON.stringify(body), signal: AbortSignal.timeout(5000) });
    status = answer.status;
    said = await answer.json();
  } catch (problem) {
    throw unavailable(problem.cause ?? problem);
  }
  if (status < 300)
    return said;
  throw [404, 409, 410, 412, 423].includes(status) ? new Refused(status, said.message) : unavailable(`${status} ${said.message}`);
}

const login = (work) => `${work.id}.${work.key}`;
const lockPath = (work) => `/v1/locks/${work.type}/${encodeURIComponent(work.record)}`;

module.exports = {
  url,
  idleSeconds,
  Refused,
  login,
  // A session for one piece of work, in the place of an older one if there is one.
  open: ({ user, name }, older) =>
    ask("POST", "/v1/sessions", { body: { user, name, idle_seconds: idleSeconds, ...(older && { replaces: login(older) }) } }),
  acquire: async (work, purpose) => (await ask("PUT", lockPath(work), { login: login(work), body: { purpose } })).locks[0].fence,
  who: async (work) => (await ask("GET", lockPath(work))).holders,
  // Counts a save, if the work still holds the record and nobody has saved since `version` was read. The new version and its fence.
  save: (work, version) => ask("PUT", `/v1/versions/${work.type}/${encodeURIComponent(work.record)}`, {
    login: login(work), body: {}, headers: { "Holdfast-Fence": work.fence, ...(version ? { "If-Match": `"${version}"` } : { "If-None-Match": "*" }) },
  }),
  // Ends the locks of others, or the one with that fence. The token needs the role manage.
  forceRelease: (work, { reason, fence, actor }) => ask("POST", `${lockPath(work)}/force-release`, { body: { reason, fence, actor } }),
  close: (work) => ask("DELETE", `/v1/sessions/${work.id}`, { login: login(work) }),
};
