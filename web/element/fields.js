// SPDX-License-Identifier: MIT
// The form inside <edit-lock>: makes it read-only, reads its fields by name, and puts fields in so that frameworks notice.
import { h, textOf } from "./helpers.js";
import { change, plain } from "./merge.js";

const TEXT_TYPES = "text search url tel email password date month week time datetime-local number textarea".split(" ");
const NO_FIELD = /^(hidden|file|submit|button|reset|image|fieldset|output|object)$/;

export class Fields {
  form;
  filling = false;
  #host; // the element
  #frozen = new Map(); // control → [property, what it was]

  constructor(host) {
    this.#host = host;
  }

  // It may come, and grow, after the element.
  adopt() {
    this.form = this.#host.querySelector("form");
    this.freeze();
  }

  // Opens it, or makes it read-only: text can still be read and copied; what can't be read-only is disabled.
  freeze(open = this.#host.editable) {
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
    return [...(this.form?.elements ?? [])].filter((control) => control.name && !NO_FIELD.test(control.type) && (!name || control.name === name));
  }

  // What is in the form, by name.
  values(wanted = () => true) {
    const values = {};
    for (const control of this.controls().filter(wanted)) {
      const { name, type, checked, value } = control;
      if (type === "checkbox" && this.controls(name).length === 1) values[name] = checked;
      else if (type === "checkbox") values[name] = [...(values[name] ?? []), ...(checked ? [value] : [])];
      else if (type === "radio") values[name] = checked ? value : values[name] ?? "";
      else if (type === "select-multiple") values[name] = [...control.selectedOptions].map((option) => option.value);
      else values[name] = plain(value);
    }
    return values;
  }

  // Puts fields into the form, so that frameworks notice.
  fill(fields) {
    this.filling = true;
    this.freeze(true);
    for (const [name, value] of Object.entries(fields)) this.controls(name).forEach((control) => this.put(control, plain(value)));
    this.freeze();
    this.filling = false;
  }

  put(control, value) {
    const { type } = control;
    const has = (one) => (typeof value === "boolean" ? value : [value].flat().includes(one));
    if (type === "checkbox" || type === "radio") {
      if (control.checked !== has(control.value) && (type === "checkbox" || !control.checked)) control.click();
      return;
    }
    if (type === "select-multiple") [...control.options].forEach((option) => (option.selected = has(option.value)));
    else if (plain(control.value) === value) return;
    // React replaces the setter of the control itself, to tell its own changes from a person's.
    else Object.getOwnPropertyDescriptor(Object.getPrototypeOf(control), "value").set.call(control, value);
    ["input", "change"].forEach((event) => control.dispatchEvent(new Event(event, { bubbles: true })));
  }

  label(name) {
    const [control] = this.controls(name);
    const label = control.type === "radio" ? control.closest("fieldset")?.querySelector("legend") : control.labels[0];
    const own = [...(label?.childNodes ?? [])].filter((node) => !node.matches?.("input, select, textarea")).map((node) => node.textContent);
    return own.join("").trim() || control.ariaLabel || name;
  }

  focus() {
    this.controls().find((control) => !control.disabled)?.focus();
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
