// SPDX-License-Identifier: MIT
// What <edit-lock> shows: a card for its state, and below it one for each thing there is to know. Names and messages of people become text
// nodes in <bdi>, never markup.
import { h, language, sentence, textOf } from "./helpers.js";

// By tone: a pencil, a lock, a tick, a sign of warning, an i.
const ICONS = {
  quiet: "M4 20h4L19 9a2.8 2.8 0 0 0-4-4L4 16zM13 7l4 4",
  wait: "M6 11h12v9H6zM9 11V8a3 3 0 0 1 6 0v3",
  good: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M8 12l3 3 5-6",
  bad: "M12 4 2.5 20h19zM12 10v4M12 17v.01",
  info: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 11v5M12 8v.01",
};

export class Cards {
  #host; // the element
  #all = new Map();
  #polite = h("div", { class: "sr", role: "status" });
  #urgent = h("div", { class: "sr", role: "alert" });
  #list = h("div", { class: "cards tones", part: "cards" });

  constructor(host) {
    this.#host = host;
    host.shadowRoot.append(this.#polite, this.#urgent, this.#list);
  }

  has(name) {
    return this.#all.has(name);
  }

  // Says the card again, for those who hear the page.
  announce(name) {
    const { nodes, tone } = this.#all.get(name);
    this.#polite.replaceChildren();
    this.#urgent.replaceChildren();
    (tone === "quiet" ? this.#polite : this.#urgent).append(...nodes.map((node) => node.cloneNode(true)));
  }

  // On what the state is.
  focus() {
    this.#all.get("state").text.querySelector(".title").focus();
  }

  // All but the state's, which is the first.
  clearAll() {
    this.clear(...[...this.#all.keys()].slice(1));
  }

  clear(...names) {
    for (const name of names) {
      const card = this.#all.get(name);
      const focused = card?.box.contains(this.#host.shadowRoot.activeElement);
      card?.box.remove();
      this.#all.delete(name);
      if (focused) this.focus();
    }
  }

  // Shows a card, or something else on it. lines: texts, or [text, values]; actions: [text, call], with a line to type where the text has a
  // label; without a call it puts the card away. The parts are made anew only when they change, so that nobody loses focus or a message.
  note(name, tone, key, { title = key, values = {}, lines = [], actions = [], body, slot } = {}) {
    const card = this.#all.get(name) ?? this.#make(name);
    const said = JSON.stringify([slot, title, lines, values, language(this.#host)]);
    const offered = JSON.stringify([actions.map(([text]) => text), language(this.#host)]);
    card.calls = Object.fromEntries(actions);
    card.values = values;
    if (tone !== card.tone) {
      card.tone = tone;
      card.box.className = `card tinted ${tone}`;
      card.box.setAttribute("part", `card ${tone}`);
      card.box.querySelector("svg")?.remove();
      card.box.prepend(h("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, h("path", { d: ICONS[tone] })));
    }
    if (said !== card.said) {
      card.said = said;
      const line = (kind, text, own, more) => h("p", { class: kind, part: kind, ...more }, ...sentence(this.#host, textOf(this.#host, text), { ...values, ...own }));
      card.nodes = [line("title", title, {}, { id: name, tabindex: "-1" }), ...lines.map((one) => line("detail", ...[one].flat()))];
      card.text.replaceChildren(...(slot ? [h("slot", { name: slot }, ...card.nodes)] : card.nodes));
      if (card.told !== title + values.name) this.announce(name);
      card.told = title + values.name;
    }
    if (offered !== card.offered) this.#offer(card, name, actions, offered);
    if (body) card.body.replaceChildren(body);
  }

  #make(name) {
    const card = { text: h("div", { class: "text" }), actions: h("div", { class: "actions", part: "actions" }), body: h("div", { class: "body" }) };
    card.box = h("div", { role: "group", "aria-labelledby": name }, card.text, card.actions, card.body);
    this.#all.set(name, card);
    this.#list[name === "state" ? "prepend" : "append"](card.box);
    return card;
  }

  #offer(card, name, actions, offered) {
    const focused = card.box.contains(this.#host.shadowRoot.activeElement);
    card.offered = offered;
    card.body.replaceChildren();
    card.actions.replaceChildren(...actions.map(([text]) => {
      const call = (typed) => (card.calls[text] ?? (() => this.clear(name)))(typed);
      const label = textOf(this.#host, `${text}Label`);
      const click = ({ target }) => (label === `${text}Label` ? call() : this.#prompt(card, text, label, call, target));
      return h("button", { type: "button", part: `button ${text}`, click }, textOf(this.#host, text));
    }), ...(name === "state" ? [h("slot", { name: "actions" })] : []));
    if (focused) (card.actions.querySelector("button") ?? card.text.querySelector(".title")).focus();
  }

  // Asks for a line of text below the buttons; why someone takes over must be said.
  #prompt(card, text, label, call, button) {
    const needed = text === "takeOver";
    const input = h("input", { maxlength: "255", required: needed && "", part: "input" });
    const close = () => {
      card.body.replaceChildren();
      button.focus();
    };
    const submit = (event) => {
      event.preventDefault();
      close();
      call(input.value);
    };
    card.body.replaceChildren(h("form", { class: "prompt", submit, keydown: ({ key }) => key === "Escape" && close() },
      h("label", {}, ...sentence(this.#host, label, card.values), input),
      h("div", { class: "actions" }, h("button", { part: "button send" }, textOf(this.#host, needed ? text : "send")),
        h("button", { type: "button", part: "button cancel", click: close }, textOf(this.#host, "cancel")))));
    input.focus();
  }
}
