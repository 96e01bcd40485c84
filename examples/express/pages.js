// The pages, as text. html`...` escapes what is put in.
"use strict";
const { url } = require("./holdfast");

const CODES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" };
class Html {
  constructor(text) {
    this.text = text;
  }
}
const shown = (value) =>
  Array.isArray(value) ? value.map(shown).join("")
  : value instanceof Html ? value.text
  : String(value ?? "").replace(/[&<>"']/g, (character) => CODES[character]);
const html = (texts, ...values) => new Html(String.raw({ raw: texts }, ...values.map(shown)));

function page(title, user, content) {
  return html`<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>${title}</title>
<h1>${title}</h1>
${content}
${user
    ? html`<form method="post" action="/logout">You are ${user.name}. <a href="/">All policies</a> <button>Log out</button></form>`
    : html`<p><a href="/login">Log in</a></p>`}
</html>
`.text;
}

const list = (user, policies) => page("Policies", user, html`<ul>${policies.map((policy) => html`
<li>${policy.holder}: <span id="policy-${policy.id}">${policy.text}</span> <a href="/policies/${policy.id}/edit">Edit</a>
  <a href="/policies/${policy.id}/open">Edit with edit-lock</a></li>`)}
</ul>`);

const login = () => page("Log in", null, html`
<form method="post"><input name="username"><input type="password" name="password"><button>Log in</button></form>`);

// beat, close and session: for work.js.
const edit = (user, policy, work, { beat, close, session, idle, note }) => page(`Policy of ${policy.holder}`, user, html`
<form method="post" action="/policies/${policy.id}/save"
      data-beat="${beat}" data-close="${close}" data-session="${session}" data-idle="${idle}">
<input type="hidden" name="work" value="${work.id}">
<textarea name="text">${policy.text}</textarea>
<button>Save</button>
<p>${note} <output></output></p>
</form>
<script src="/static/work.js" defer></script>`);

// With <edit-lock>: the page itself is not under a lock; what is edited is loaded when it is granted.
const open = (user, policy) => page(`Policy of ${policy.holder}`, user, html`
<script src="${url}/edit-lock.js" defer></script>
<edit-lock resource="policy/${policy.id}" purpose="editing" session-src="/holdfast/session"
           record-src="/policies/${policy.id}/record" take-over-src="/holdfast/take-over">
  <form method="post">
    <label>Covers <textarea name="text">${policy.text}</textarea></label>
    <button>Save</button>
  </form>
</edit-lock>`);

const TITLES = { 404: "There is no such page", 423: "Someone else is editing this", 503: "Editing is not possible at the moment" };
const refused = (user, status, sentence, typed) => page(TITLES[status] ?? "You no longer hold this record", user, html`
<p>${sentence}</p>
${typed === undefined ? "" : html`<p>What you had typed:</p><textarea readonly>${typed}</textarea>`}`);

module.exports = { list, login, edit, open, refused };
