// Asking the server: as the cookie's owner, with the header that shows that this page asks. What is refused is thrown with its sentence.
export class Refused extends Error {
  constructor(status, problem) {
    super(problem?.message ?? `The server answered ${status}.`);
    this.status = status;
    this.code = problem?.code;
  }
}

export class Unreachable extends Error {
  constructor() {
    super("The server can't be reached.");
  }
}

// How much the server's clock is before ours, in milliseconds. Its Date has whole seconds, so less than two are taken for none.
let skew = 0;
export const now = () => Date.now() + skew;

function noteClock(response) {
  const date = Date.parse(response.headers.get("Date") ?? "");
  const difference = date + 500 - Date.now();
  if (!Number.isNaN(date)) skew = Math.abs(difference) < 2000 ? 0 : difference;
}

async function problemOf(response) {
  try {
    return await response.json();
  } catch {
    return undefined;
  }
}

// body: an object that is sent as JSON. Answers the JSON, or null where there is none.
export async function ask(method, path, body) {
  const headers = { "Holdfast-CSRF": "1" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store" });
  } catch {
    throw new Unreachable();
  }
  noteClock(response);
  if (!response.ok) throw new Refused(response.status, await problemOf(response));
  return response.status === 204 ? null : response.json();
}

// A path with a query; what is empty or null is left out.
export function withQuery(path, query) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

export const get = (path, query = {}) => ask("GET", withQuery(path, query));

// Many are released in few requests; each answer is {status, message}. The reason and who did it are kept by the server.
export async function forceRelease(locks, reason, progress = () => {}) {
  const answers = [];
  for (let at = 0; at < locks.length; at += 500) {
    const ops = locks.slice(at, at + 500).map(({ resource, fence }) => ({ op: "force-release", resource, fence, reason }));
    answers.push(...(await ask("POST", "/v1/batch", { ops })).answers);
    progress(answers.length);
  }
  return answers;
}
