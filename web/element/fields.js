// SPDX-License-Identifier: MIT
// The form inside <edit-lock>: makes it read-only, reads its fields by name, and puts fields in so that frameworks notice.
import { attempt, h, textOf } from "./helpers.js";
import { change, plain } from "./merge.js";

const TEXT_TYPES = "text search url tel email password date month week time datetime-local number textarea".split(" ");
const NO_FIELD = /^(file|submit|button|reset|image|fieldset|output|object)$/;
// Hidden inputs that belong to the page and not to the record: tokens against forged requests, what frameworks count with, our own.
const PER_PAGE =
  /^(holdfast_|_?csrf|_token$|_method$|utf8$|authenticity_token$|__(RequestVerificationToken|VIEWSTATE|EVENT)|_wpnonce|.*-(TOTAL|INITIAL|MIN_NUM|MAX_NUM)_FORMS$)/i;

// Markup that is shown as it stands; all other may run a script, or would lose something.
const TAGS =
  /^(a|b|blockquote|br|caption|code|col|colgroup|dd|del|div|dl|dt|em|figcaption|figure|h[1-6]|hr|i|img|ins|li|mark|ol|p|pre|s|small|span|strong|su[bp]|table|tbody|td|tfoot|th|thead|tr|u|ul)$/;
const ATTRIBUTES = /^(alt|class|colspan|data-.*|dir|height|href|lang|rel|rowspan|src|start|style|target|title|width)$/;
const harmless = ({ name, value }) => ATTRIBUTES.test(name) && (!/^(href|src)$/.test(name) || /^\s*(https?:|mailto:|tel:|[^:]*$)/i.test(value));

function markup(html) {
  const body = attempt(() => new DOMParser().parseFromString(html, "text/html").body);
  const known = ({ localName, attributes }) => TAGS.test(localName) && [...attributes].every(harmless);
  return body?.innerHTML === html && [...body.querySelectorAll("*")].every(known) ? [...body.childNodes] : undefined;
}

// An element with contenteditable, as a control. text: it holds no markup
class Rich {
  type = "rich";
  constructor(node, text) {
    Object.assign(this, { node, text, name: node.getAttribute("name") || node.dataset.name || node.id });
  }

  get value() {
    return this.text ? this.node.textContent : this.node.innerHTML;
  }

  // What shows a text: all of it, or undefined. Trix takes it itself.
  nodes = (value) => (this.text || !/[<&]/.test(value) ? [value] : markup(value));
  canShow = (value) => Boolean(this.node.editor?.loadHTML || this.nodes(value));

  show(value) {
    const { node } = this;
    const nodes = this.nodes(value);
    if (node.editor?.loadHTML) node.editor.loadHTML(value);
    else if (nodes) node.replaceChildren(...nodes);
    return this.canShow(value);
  }

  shows = (value) => [this.node.innerHTML, this.node.textContent].some((now) => now.trim() === value.trim());
  closest = (selector) => this.node.closest(selector);
  dispatchEvent = (event) => this.node.dispatchEvent(event);
  focus = () => this.node.focus();
}

// A value as the control writes it: a single text may stand for true, a list, or JSON.
function written({ type, value: now }, value) {
  if (type === "hidden" && typeof value === "boolean") return /^(true|false)$/.test(now) ? String(value) : now;
  if (!value || typeof value !== "object" || /^(select-multiple|checkbox|radio)$/.test(type)) return value;
  return Array.isArray(value) && !/^\s*\[/.test(now) ? value.join(",") : JSON.stringify(value);
}

const BUTTONS = /^(radio|checkbox)$/;

export class Fields {
  form;
  filling = false;
  #host; // the element
  #known; // the names of the record's fields; undefined: it was not read yet
  #frozen = new Map(); // control → [property, what it was]
  #mirrors = new Map(); // hidden input → what reads the editor that shows it: some pages copy its text only when the form is sent

  constructor(host) {
    this.#host = host;
  }

  // It may come, and grow, after the element.
  adopt() {
    this.form = this.#host.querySelector("form");
    this.freeze();
  }

  // Opens it, or makes it read-only: text can still be read and copied; what can't be read-only is disabled.
  freeze(open = this.#host.writable) {
    if (open) {
      for (const [control, [property, was]] of this.#frozen) control[property] = was;
      this.#frozen.clear();
      return;
    }
    for (const control of this.form?.querySelectorAll("input, textarea, select, button, [contenteditable]") ?? []) {
      if (this.#frozen.has(control) || control.type === "hidden" || control.closest("[data-holdfast=cancel]")) continue;
      const property = !control.type ? "contentEditable" : TEXT_TYPES.includes(control.type) ? "readOnly" : "disabled";
      this.#frozen.set(control, [property, control[property]]);
      control[property] = control.type ? true : "false";
    }
  }

  // What the save carries: who, and what proves that nobody came in between.
  carry() {
    for (const name of ["session", "fence", "version"]) {
      const full = `holdfast_${name}`;
      const input = this.form?.querySelector(`[name=${full}]`) ?? h("input", { type: "hidden", name: full });
      input.value = this.#host[name] ?? "";
      if (!input.isConnected) this.form?.append(input);
    }
  }

  controls(name) {
    const named = [...(this.form?.elements ?? [])].filter((control) => control.name && !NO_FIELD.test(control.type));
    const seen = new Set(named.filter(({ type }) => type !== "hidden").map((control) => control.name));
    // A hidden input beside a checkbox of its name says what is sent when that is off; it is no field.
    const fields = named.filter(({ type, name: own }) => type !== "hidden" || (!seen.has(own) && !PER_PAGE.test(own) && this.#known?.has(own) !== false));
    const taken = new Set(named.map((control) => control.name));
    const rich = this.#editors().filter(({ name: own, node }) => own && !taken.has(own) && (this.#known?.has(own) ?? own !== node.id));
    return [...fields, ...rich].filter((control) => !name || control.name === name);
  }

  // The outermost elements that can be edited as a whole, when the form is open.
  #editors() {
    const mode = (node) => this.#frozen.get(node)?.[1] ?? node.contentEditable;
    const all = [...(this.form?.querySelectorAll("[contenteditable]") ?? [])].filter((node) => mode(node) !== "false");
    return all.filter((node) => !all.some((other) => other !== node && other.contains(node))).map((node) => new Rich(node, mode(node) === "plaintext-only"));
  }

  // By name, in the order of the form.
  #named(controls = this.controls()) {
    const names = new Map();
    for (const control of controls) names.set(control.name, [...(names.get(control.name) ?? []), control]);
    return names;
  }

  // What is in the form, by name: a list where several controls that are no buttons have one name.
  values(wanted = () => true) {
    const values = {};
    for (const [name, all] of this.#named()) {
      const [control] = all;
      const { type, checked } = control;
      if (!all.every(wanted)) continue;
      if (type === "radio") values[name] = all.find((one) => one.checked)?.value ?? "";
      else if (type === "checkbox") values[name] = all.length === 1 ? checked : all.filter((one) => one.checked).map(({ value }) => value);
      else if (all.length > 1) values[name] = all.map((one) => this.#value(one));
      else if (type === "select-multiple") values[name] = [...control.selectedOptions].map((option) => option.value);
      else values[name] = this.#value(control);
    }
    return values;
  }

  #value(control) {
    return plain(this.#mirrors.get(control)?.() ?? control.value);
  }

  // A record as this form writes it. From then on hidden inputs and editors of these names are fields.
  adapt(fields) {
    this.#known = new Set(Object.keys(fields));
    const names = this.#named();
    return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, names.get(name)?.length === 1 ? written(names.get(name)[0], value) : value]));
  }

  // For each control what a field says, several of one name by position; buttons are told the whole.
  #pairs(fields) {
    const names = this.#named();
    return Object.entries(fields).flatMap(([name, value]) => {
      const all = names.get(name) ?? [];
      const each = all.length > 1 && Array.isArray(value) && !BUTTONS.test(all[0].type);
      return all.map((control, at) => [control, plain(each ? value[at] : value)]);
    });
  }

  // Whether the page must be rendered anew to show these fields: it has another number of rows, or an editor that can't be given its text.
  outdated(fields) {
    const rows = ([name, all]) => all.length > 1 && !BUTTONS.test(all[0].type) && Array.isArray(fields[name]) && fields[name].length !== all.length;
    const editors = this.#editors();
    return [...this.#named()].some(rows) || this.#pairs(fields).some(([control, value]) => {
      const { type } = control;
      if (plain(control.value) === value || editors.some((editor) => editor.shows(value))) return false;
      if (type === "rich") return !control.canShow(value);
      if (type === "textarea") return !control.getClientRects().length;
      return type === "hidden" && !(this.#mirror(control)?.canShow(value) ?? !this.#blind);
    });
  }

  // Whether something in the form may be an editor that shows a hidden input.
  get #blind() {
    return [...(this.form?.querySelectorAll("*") ?? [])].some(({ localName }) => localName === "iframe" || localName.includes("-")) || this.#editors().length > 0;
  }

  // The one editor that shows what this hidden input holds.
  #mirror(input) {
    const found = this.#editors().filter((editor) => editor.node.inputElement === input || editor.shows(this.#value(input)));
    return found.length === 1 ? found[0] : undefined;
  }

  // Puts fields into the form, so that frameworks notice. Returns the names of those that an editor may not show.
  fill(fields) {
    this.filling = true;
    this.freeze(true);
    const unseen = this.#pairs(fields).filter(([control, value]) => this.put(control, value) === false);
    for (const input of this.controls().filter(({ type }) => type === "hidden")) {
      const { node } = this.#mirror(input) ?? {};
      const read = ["innerHTML", "textContent"].find((property) => node?.[property] === input.value);
      if (read) this.#mirrors.set(input, () => node[read]);
    }
    this.freeze();
    this.filling = false;
    return unseen.map(([{ name }]) => name);
  }

  // False: an editor may not show it.
  put(control, value) {
    const { type } = control;
    const has = (one) => (typeof value === "boolean" ? value : [value].flat().includes(one));
    if (type === "checkbox" || type === "radio") {
      if (control.checked !== has(control.value) && (type === "checkbox" || !control.checked)) control.click();
      return true;
    }
    const editor = type === "rich" ? control : type === "hidden" && this.#mirror(control);
    if (type === "select-multiple") [...control.options].forEach((option) => (option.selected = has(option.value)));
    else if (this.#value(control) === value) return true;
    // React replaces the setter of the control itself, to tell its own changes from a person's.
    else if (type !== "rich") Object.getOwnPropertyDescriptor(Object.getPrototypeOf(control), "value").set.call(control, value);
    const shown = editor ? editor.show(value) : type !== "hidden" || !this.#blind;
    ["input", "change"].forEach((event) => control.dispatchEvent(new Event(event, { bubbles: true })));
    return shown;
  }

  // What browsers don't send: editors that no hidden input holds.
  send(data) {
    for (const { type, name, value } of this.controls()) if (type === "rich") data.set(name, value);
  }

  label(name) {
    const [control] = this.controls(name);
    const label = control.type === "radio" ? control.closest("fieldset")?.querySelector("legend") : control.labels?.[0];
    const own = [...(label?.childNodes ?? [])].filter((node) => !node.matches?.("input, select, textarea")).map((node) => node.textContent);
    return own.join("").trim() || (control.node ?? control).ariaLabel || name;
  }

  focus() {
    this.controls().find(({ disabled, type }) => !disabled && type !== "hidden")?.focus();
  }

  // What a person reads of a value, with what differs from the base marked.
  marked({ name, was }, value) {
    const options = [...(this.controls(name)[0].options ?? [])].filter((option) => [value].flat().includes(option.value));
    if (options.length) return [options.map(({ label }) => label).join(", ")];
    if (typeof value !== "string") return [value === true ? "✓" : value === false ? "✗" : value.join(", ")];
    if (value === "") return [textOf(this.#host, "empty")];
    const { now, from, words } = change(was, value);
    return [now.slice(0, from).join(""), h("mark", {}, words.join("")), now.slice(from + words.length).join("")];
  }
}
