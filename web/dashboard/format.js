// How things are written for people: times in the reader's zone, durations in words, names as text that can't reach beyond itself.
import { html } from "lit";
import { now } from "./api.js";

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const clockSeconds = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const dayYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const numbers = new Intl.NumberFormat();

export const count = (number) => numbers.format(number);
export const several = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

function shortDate(date, seconds) {
  const today = new Date(now());
  const time = (seconds ? clockSeconds : clock).format(date);
  if (date.toDateString() === today.toDateString()) return time;
  return `${(date.getFullYear() === today.getFullYear() ? day : dayYear).format(date)}, ${time}`;
}

export function when(at, { seconds = false } = {}) {
  if (at === null || at === undefined || Number.isNaN(at)) return "";
  const date = new Date(at);
  return html`<time datetime=${date.toISOString()} title=${whole.format(date)}>${shortDate(date, seconds)}</time>`;
}

const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

// "1 h 20 min", "4 min", "12 s": the two largest units at most, and no seconds beside hours.
export function duration(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds >= 60 && seconds < 600 && seconds % 60) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  let rest = seconds;
  const parts = [];
  for (const [unit, size] of UNITS) {
    const many = Math.floor(rest / size);
    rest -= many * size;
    if (many || (parts.length && unit !== "s")) parts.push(many ? `${many} ${unit}` : "");
    if (parts.length === 2) break;
  }
  const largest = seconds >= 60 ? parts.filter((part) => !part.endsWith(" s")) : parts;
  return largest.filter(Boolean).join(" ") || "0 s";
}

// A text of someone's choosing, in a sentence that is no HTML: isolated, so that its marks end with it.
export const isolated = (text) => `\u2068${text}\u2069`;

export const text = (value, kind = "") => html`<bdi class=${kind} title=${value}>${value}</bdi>`;

export function initials(name) {
  const words = name.replace(/[^\p{L}\p{N}\s]/gu, " ").trim().split(/\s+/).filter(Boolean);
  const letters = words.length > 1 ? [words[0], words.at(-1)] : words;
  return letters.map((word) => [...word][0].toUpperCase()).join("") || "?";
}

// One of eight quiet colours, always the same for a person.
export function hue(user) {
  let sum = 7;
  for (const letter of user) sum = (sum * 31 + letter.codePointAt(0)) >>> 0;
  return `hue-${sum % 8}`;
}

export const avatar = (name, user) => html`<span class="avatar ${hue(user)}" aria-hidden="true">${initials(name)}</span>`;

const link = (page, name) => `#/${page}/${encodeURIComponent(name)}`;
export const personLink = (user) => link("person", user);
export const resourceLink = (resource) => link("resource", resource);

export const resourceName = (resource) => {
  const slash = resource.indexOf("/");
  return html`<a class="resource" href=${resourceLink(resource)} title=${resource}><bdi class="type">${resource.slice(0, slash)}</bdi
    ><span class="slash">/</span><bdi class="id">${resource.slice(slash + 1)}</bdi></a>`;
};

export const person = (name, user) => html`<a class="person" href=${personLink(user)}>${avatar(name, user)}<span class="who">${text(name, "name")}${
  name === user ? "" : text(user, "user")}</span></a>`;

const LOCK = html`<svg viewBox="0 0 16 16" aria-hidden="true"><path d="M5 7V5a3 3 0 0 1 6 0v2" /><rect x="3.5" y="7" width="9" height="6.5" rx="1.5" /></svg>`;
const EYE = html`<svg viewBox="0 0 16 16" aria-hidden="true"><path d="M1.5 8S4 3.8 8 3.8 14.5 8 14.5 8 12 12.2 8 12.2 1.5 8 1.5 8Z" /><circle cx="8" cy="8" r="1.8" /></svg>`;
export const mode = (name) => html`<span class="mode ${name}">${name === "shared" ? EYE : LOCK}${name}</span>`;

const KINDS = {
  session_opened: "opened a session", session_closed: "closed a session", session_expired: "session expired", acquired: "took the lock",
  upgraded: "upgraded to exclusive", downgraded: "made it shared", renewed: "renewed", released: "released", expired: "lock expired",
  forced: "forced release", handed_over: "got it handed over", requested: "asked for it", declined: "was declined", saved: "saved",
  deleted: "deleted", type_set: "set the type", restored: "restored a backup", token_created: "made a token",
  token_revoked: "revoked a token", denied: "was denied", unauthenticated: "was not known",
};
const TONES = { forced: "bad", denied: "bad", unauthenticated: "bad", expired: "warn", session_expired: "warn", requested: "warn", acquired: "good", saved: "info", deleted: "bad", handed_over: "info", declined: "warn" };
export const kinds = Object.keys(KINDS);
export const kindName = (kind) => KINDS[kind] ?? kind.replaceAll("_", " ");
export const kindTag = (kind) => html`<span class="kind ${TONES[kind] ?? ""}">${kindName(kind)}</span>`;

// Time left in words, and how urgent it is.
export function left(lock) {
  if (lock.expires === null) return html`<span class="quiet">no bound</span>`;
  const ms = lock.expires - now();
  const tone = ms < 15000 ? "bad" : ms < 60000 ? "warn" : "";
  return html`<span class="left ${tone}">${ms <= 0 ? "ending" : duration(ms)}</span>`;
}

// "12 s ago", "4 min ago": the largest unit is enough.
export function ago(at) {
  const seconds = Math.round((now() - at) / 1000);
  const [unit, size] = UNITS.find(([, length]) => seconds >= length) ?? ["s", 1];
  return seconds < 2 ? "now" : `${Math.floor(seconds / size)} ${unit} ago`;
}
