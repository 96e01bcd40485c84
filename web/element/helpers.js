// SPDX-License-Identifier: MIT
// Small things that the others need: making nodes, saying sentences, asking servers.
import { TEXTS } from "./texts.js";

export const script = document.currentScript;
const SVG = "http://www.w3.org/2000/svg";

// A constructed sheet is allowed by a Content-Security-Policy without inline styles.
export function sheet(css) {
  const it = new CSSStyleSheet();
  it.replaceSync(css);
  return it;
}

// A function is a listener; false and undefined are no attribute.
export function h(tag, attributes, ...children) {
  const it = tag === "svg" || tag === "path" ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (typeof value === "function") it.addEventListener(name, value);
    else if (value !== undefined && value !== false) it.setAttribute(name, value);
  it.append(...children);
  return it;
}

export const language = (element) => element.closest("[lang]")?.lang || navigator.language;

export function textOf(element, key) {
  const lang = language(element);
  return { ...TEXTS.en, ...TEXTS[lang.split("-")[0]], ...TEXTS[lang], ...element.texts }[key] ?? key;
}

// The time of day where the person is, with the day if that is not today.
function clock(element, when) {
  const time = new Date(when);
  const lang = language(element);
  const wanted = navigator.language.startsWith(lang) ? navigator.language : lang;
  const locale = attempt(() => Intl.getCanonicalLocales(wanted)) ?? "en"; // WebKit may say "C"
  const day = time.toDateString() === new Date().toDateString() ? {} : { weekday: "short", day: "numeric", month: "short" };
  return time.toLocaleString(locale, { hour: "numeric", minute: "2-digit", ...day });
}

// Characters that turn the direction of text are shown as \u202e, as the server's sentences show them: one that is left open gets out of
// a <bdi>.
const visible = (text) =>
  String(text).replace(/[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, (it) => `\\u${it.charCodeAt().toString(16).padStart(4, 0)}`);

// A text as nodes. What is filled in is isolated, so that no name turns the sentence around.
export const sentence = (element, template, values = {}) =>
  template.split(/(\{\w+\})/).map((piece) => {
    const name = piece.slice(1, -1);
    if (piece[0] !== "{" || values[name] === undefined) return piece;
    return h("bdi", {}, /^(at|since|until|from|to)$/.test(name) ? clock(element, values[name]) : visible(values[name]));
  });

// Servers take 255 bytes.
export function cut(text) {
  const letters = [...text.trim()];
  while (new Blob([letters.join("")]).size > 255) letters.pop();
  return letters.join("");
}

// Status 0: no answer, or not all of it. The data is {} where it is not JSON: a page to sign in, or of a gateway.
export async function ask(url, method, body, headers, more) {
  try {
    const answer = await fetch(url, {
      method,
      headers: body ? { "Content-Type": "application/json", ...headers } : headers,
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(10e3),
      ...more,
    });
    const text = await answer.text();
    return { status: answer.status, data: attempt(() => JSON.parse(text)) ?? {} };
  } catch {
    return { status: 0, data: {} };
  }
}

// Whether the same question may be answered otherwise soon.
export const undecided = ({ status, data }) => !status || status >= 500 || [408, 429].includes(status) || data.code === "busy";

export const pathOf = (resource) => {
  const [type, ...id] = resource.split("/");
  return `${type}/${encodeURIComponent(id.join("/"))}`;
};

// What throws is nothing: a browser that stores nothing, a text that is not JSON.
export const attempt = (call) => {
  try {
    return call();
  } catch {
    return undefined;
  }
};

// Is a page of this browser at work with that session? undefined: can't be told, or the page is being left.
export const isOpenHere = async (session) => {
  const locks = await navigator.locks?.query().catch(() => undefined);
  return locks?.held.some(({ name }) => name === `holdfast ${session}`);
};
