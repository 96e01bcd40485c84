// A small application for the tests of <edit-lock>: records in memory, people known by a cookie, and the routes that the element asks for. What
// its pages save goes through holdfast first: PUT /v1/versions with the session's key, its fence and the version that was read.
import { once } from "node:events";
import { createServer } from "node:http";

const html = (text) => String(text).replace(/[&<>"]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[letter]);

const STYLE = `
  :root { color-scheme: light dark; }
  body { font: 16px/1.5 system-ui, sans-serif; margin: 0; background: light-dark(#fff, #13171d); color: light-dark(#1c2330, #e8ebf0); }
  main { max-width: 44rem; margin: 0 auto; padding: 2rem 1.25rem; }
  h1 { font-size: 1.375rem; margin: 0 0 1rem; }
  label { display: block; font-size: .875rem; margin: 0 0 .875rem; }
  input:not([type=checkbox], [type=radio]), textarea, select { display: block; width: 100%; box-sizing: border-box; font: inherit; padding: .5rem .625rem;
    border: 1px solid #8792a2; border-radius: 8px; background: light-dark(#fff, #1b2027); color: inherit; }
  textarea { min-height: 6rem; }
  edit-lock form :read-only:is(input, textarea) { background: light-dark(#f3f4f6, #20252d) !important; }
  .buttons { display: flex; gap: .5rem; }
  .buttons button { font: inherit; padding: .5rem 1rem; border-radius: 8px; border: 1px solid #8792a2; background: none; color: inherit; }
  .buttons button:enabled[type=submit] { background: #1d55c4; border-color: #1d55c4; color: #fff; }
  li { margin: .375rem 0; }`;

const FORM = (fields, action) => `
<form method="post" action="${action}">
  <label>Name <input name="name" value="${html(fields.name)}"></label>
  <label>Tariff <select name="tariff"><option value="basic">Basic</option><option value="full">Full cover</option></select></label>
  <label>Notes <textarea name="notes">${html(fields.notes)}</textarea></label>
  <label><input type="checkbox" name="active" value="yes"> Active</label>
  <label>PIN <input type="password" name="pin" autocomplete="off"></label>
  <input type="hidden" name="secret" value="of the page">
  <p class="buttons"><button type="submit">Save</button> <button type="button" data-holdfast="cancel">Cancel</button></p>
</form>`;

// A letter, as rich text editors make them: an element with contenteditable (or "opaque": one that only its own script can write), mirrored in a
// hidden input; rows of one name; a token of the page.
const LETTER = ({ title, body, item }, action, { opaque, named }) => `
<form method="post" action="${action}">
  <label>Title <input name="title" value="${html(title)}"></label>
  ${opaque ? `<opaque-editor text="${html(body)}"></opaque-editor>` : `<div contenteditable ${named ? "data-name=body" : ""} aria-label="Letter" role="textbox">${body.replace(/ onerror="[^"]*"/g, "")}</div>`}
  ${named ? "" : `<input type="hidden" name="body" value="${html(body)}">`}
  ${item.map((one, at) => `<label>Item ${at + 1} <input name="item" value="${html(one)}"></label>`).join("")}
  <input type="hidden" name="csrf_token" value="${Math.random()}">
  <p class="buttons"><button type="submit">Save</button></p>
</form><script src="/editor.js"></script>`;

const EDITOR = `
customElements.define("opaque-editor", class extends HTMLElement {
  connectedCallback() {
    this.attachShadow({ mode: "open" }).append(this.area = document.createElement("textarea"));
    this.area.value = this.getAttribute("text");
    this.area.ariaLabel = "Letter";
    this.area.oninput = () => (document.querySelector("[name=body]").value = this.area.value);
  }
});
const editor = document.querySelector("[contenteditable]:not([data-name])");
const copy = () => (document.querySelector("[name=body]").value = editor.innerHTML);
if (editor) document.querySelector("edit-lock").hasAttribute("late") ? (editor.closest("form").onsubmit = copy) : (editor.oninput = copy);`;

export class Office {
  // script: the element's source; people: {user: name}
  static async start({ script, people }) {
    const it = Object.assign(new Office(), {
      script, people, records: new Map(), keys: new Map(), idles: new Map(), managers: new Set(), delays: new Map(), asked: [], saves: [],
      pages: new Map([["script /editor.js", EDITOR]]),
    });
    it.http = createServer((request, response) => it.#answer(request, response).catch((problem) => response.writeHead(500).end(String(problem))));
    await once(it.http.listen(0, "127.0.0.1"), "listening");
    it.origin = `http://127.0.0.1:${it.http.address().port}`;
    return it;
  }

  // holdfast: the server, started with this origin allowed
  use(holdfast) {
    this.holdfast = holdfast;
  }

  stop() {
    this.http.closeAllConnections();
    return new Promise((resolve) => this.http.close(resolve));
  }

  record(resource) {
    const fields = resource.startsWith("letter/") ? { title: "Dear all", body: "<p>first</p>", item: ["bolts", "nuts", "washers"] }
      : { name: "Carla Diaz", tariff: "basic", notes: "Covers fire and water.", active: true };
    if (!this.records.has(resource)) this.records.set(resource, { version: 0, fence: 0, fields });
    return this.records.get(resource);
  }

  // Someone saves without a page.
  async saveAs(user, resource, change) {
    const record = this.record(resource);
    const answer = await this.holdfast.ask("PUT", `/v1/versions/${resource}`, {
      token: this.holdfast.token, body: { user, name: this.people[user] },
      headers: record.version ? { "If-Match": `"${record.version}"` } : { "If-None-Match": "*" },
    });
    if (answer.status > 201) throw new Error(answer.text);
    Object.assign(record, { version: answer.json.version, fields: { ...record.fields, ...change } });
  }

  async #answer(request, response) {
    const url = new URL(request.url, this.origin);
    const user = /user=(\w+)/.exec(request.headers.cookie ?? "")?.[1];
    let body = "";
    for await (const piece of request) body += piece;
    const json = (status, data) =>
      response.writeHead(status, { "Content-Type": "application/json", "Cache-Control": "no-store" }).end(JSON.stringify(data));
    const page = (text, status = 200) => response.writeHead(status, {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' ${this.holdfast?.url}; form-action 'self'; frame-src 'self'`,
    }).end(text);
    const path = url.pathname;
    if (path === "/edit-lock.js" || this.pages.has(`script ${path}`))
      return response.writeHead(200, { "Content-Type": "text/javascript" }).end(this.pages.get(`script ${path}`) ?? this.script);
    if (path === "/style.css") return response.writeHead(200, { "Content-Type": "text/css" }).end(STYLE);
    if (path === "/holdfast/session") return this.#session(user, JSON.parse(body), json);
    if (path === "/holdfast/take-over") return this.#takeOver(user, JSON.parse(body), json);
    const [, what, resource] = /^\/(records|json|save|list)\/?(.*)$/.exec(decodeURIComponent(path)) ?? [];
    if (what === "json") return json(200, { version: this.record(resource).version, fields: this.record(resource).fields });
    if (what === "save") return this.#save(user, resource, new URLSearchParams(body), request, { json, page, response });
    if (what === "records") return page(this.edit(resource, url.searchParams));
    if (what === "list") return page(this.list(Number(url.searchParams.get("count") ?? 3), url.searchParams.get("type") ?? "order"));
    if (this.pages.has(path)) return page(this.pages.get(path));
    return page("<!DOCTYPE html><html lang=en><title>Home</title><main><h1>Home</h1></main>", path === "/" ? 200 : 404);
  }

  async #session(user, { resource }, json) {
    this.asked.push(resource);
    if (!user) return json(401, { message: "Sign in." });
    const { status, json: session } = await this.holdfast.ask("POST", "/v1/sessions", {
      token: this.holdfast.token, body: { user, name: this.people[user], idle_seconds: this.#idle(resource) },
    });
    if (status !== 201) return json(503, { message: "Try later." });
    this.keys.set(session.id, session.key);
    return json(200, { session: `${session.id}.${session.key}`, name: session.name, user, idle_seconds: this.#idle(resource), may_take_over: this.managers.has(user) });
  }

  #idle(resource) {
    return this.idles.get(resource) ?? 60;
  }

  async #takeOver(user, { resource, reason, fence }, json) {
    if (!this.managers.has(user)) return json(403, { message: "Only managers may." });
    const { status, json: said } = await this.holdfast.ask("POST", `/v1/locks/${resource}/force-release`, {
      token: this.holdfast.token, body: { reason, fence, actor: this.people[user] },
    });
    return json(status, said);
  }

  async #save(user, resource, fields, request, { json, page, response }) {
    const record = this.record(resource);
    const { holdfast_session: id, holdfast_fence: fence, holdfast_version: version, ...rest } = Object.fromEntries(fields);
    this.saves.push({ user, resource, id, fence, version, ...rest });
    await this.delays.get(resource);
    const fetched = request.headers.accept?.includes("json");
    if (rest.name === "") return fetched ? json(422, { message: "A name is needed." }) : page(this.edit(resource, new URLSearchParams(), rest), 422);
    const { status, json: said } = await this.holdfast.ask("PUT", `/v1/versions/${resource}`, {
      session: { id, key: this.keys.get(id) },
      headers: { ...(fence && { "Holdfast-Fence": fence }), ...(Number(version) ? { "If-Match": `"${version}"` } : { "If-None-Match": "*" }) },
      body: {},
    });
    if (status > 201) return fetched ? json(status, said) : page(`<!DOCTYPE html><html lang=en><title>Refused</title><h1>${html(said.message)}</h1>`, status);
    if (said.fence < record.fence) return json(409, { code: "not_held", message: "Someone else has saved since." });
    const saved = ([name, was]) => [name, Array.isArray(was) ? fields.getAll(name) : typeof was === "boolean" ? rest[name] === "yes" : rest[name]];
    Object.assign(record, { version: said.version, fence: said.fence, fields: Object.fromEntries(Object.entries(record.fields).map(saved)) });
    return fetched ? json(200, { version: said.version }) : response.writeHead(303, { Location: "/" }).end();
  }

  // Attributes of the element come from the address: ?mode=optimistic&drafts=off
  edit(resource, attributes, fields = this.record(resource).fields) {
    const given = [...attributes].filter(([name]) => !/^(blank|opaque|named)$/.test(name)).map(([name, value]) => ` ${name}="${html(value)}"`).join("");
    const path = encodeURI(resource);
    const shown = attributes.has("blank") ? { name: "", notes: "" } : fields;
    return `<!DOCTYPE html>
<html lang="${attributes.get("lang") ?? "en"}">
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Policy</title>
<link rel="stylesheet" href="/style.css">
<script src="/edit-lock.js" defer></script>
<main><h1>Policy of ${html(fields.name || fields.title || "somebody")}</h1>
<edit-lock resource="${html(resource)}" server="${this.holdfast.url}" session-src="/holdfast/session" record-src="/json/${path}"
           take-over-src="/holdfast/take-over"${given}>${fields.item ? LETTER(fields, `/save/${path}`, { opaque: attributes.has("opaque"), named: attributes.has("named") }) : FORM(shown, `/save/${path}`)}</edit-lock>
<p><a href="/">All policies</a></p></main></html>`;
  }

  list(count, type) {
    const rows = Array.from({ length: count }, (_, i) => `<li>Order ${i + 1} <lock-badge resource="${type}/${i + 1}" text="picked by {name} since {since}"></lock-badge></li>`);
    return `<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Orders</title>
<link rel="stylesheet" href="/style.css"><script src="/edit-lock.js" defer></script>
<main><h1>Orders</h1><ul session-src="/holdfast/session" server="${this.holdfast.url}">${rows.join("")}</ul></main></html>`;
  }
}
