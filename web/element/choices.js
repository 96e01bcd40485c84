// SPDX-License-Identifier: MIT
// Mine, theirs and merged, field by field: a form of radio buttons.
import { h, textOf } from "./helpers.js";

// rows: of compare(); done: gets what was chosen, by name
export function choices(host, fields, rows, done) {
  const choice = (row, at, [which, value]) => h("label", { class: "choice", part: which },
    h("input", { type: "radio", name: at, value: which, required: "", checked: row.proposed === which && "" }),
    h("span", {}, textOf(host, which)), h("bdi", {}, ...fields.marked(row, value)));
  const submit = (event) => {
    event.preventDefault();
    const chosen = new FormData(event.target);
    done(Object.fromEntries(rows.map(({ name, values }, at) => [name, values[chosen.get(`${at}`)]])));
  };
  return h("form", { part: "merge", submit },
    ...rows.map((row, at) => h("fieldset", {}, h("legend", {}, fields.label(row.name)),
      h("div", { class: "choices" }, ...Object.entries(row.values).map((one) => choice(row, at, one))))),
    h("div", {}, h("button", { part: "button use" }, textOf(host, "use"))));
}
