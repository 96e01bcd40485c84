// SPDX-License-Identifier: MIT
// Three-way merge of fields: mine, theirs, and the base that both began with.

export const plain = (value) =>
  Array.isArray(value) ? value.map(String) : typeof value === "boolean" ? value : String(value ?? "").replace(/\r\n?/g, "\n");
export const same = (a, b) => JSON.stringify(plain(a)) === JSON.stringify(plain(b));

// Where `text` differs from `base`, in words: [from, to) of the base is replaced by `words`.
export function change(base, text) {
  const [old, now] = [base, text].map((whole) => whole.split(/(\s+)/));
  let [from, end] = [0, 0];
  while (from < old.length && from < now.length && old[from] === now[from]) from++;
  while (end < old.length - from && end < now.length - from && old.at(-1 - end) === now.at(-1 - end)) end++;
  return { old, now, from, to: old.length - end, words: now.slice(from, now.length - end) };
}

// Both changes in one text; undefined if no word stands between them.
function merge(base, mine, theirs) {
  if (typeof base !== "string" || typeof mine !== "string") return undefined;
  const [one, two] = [change(base, mine), change(base, theirs)].sort((a, b) => a.from - b.from || a.to - b.to);
  if (one.to + 1 >= two.from) return undefined;
  return [...one.old.slice(0, one.from), ...one.words, ...one.old.slice(one.to, two.from), ...two.words, ...one.old.slice(two.to)].join("");
}

// The fields that differ, with what is proposed: whoever changed it; both, where that can be merged.
export function compare(base, mine, theirs) {
  return Object.keys(theirs).filter((name) => name in mine && !same(mine[name], theirs[name])).map((name) => {
    const [was, my, their] = [base[name], mine[name], theirs[name]].map(plain);
    if (same(was, my)) return { name, was, values: { mine: my, theirs: their }, proposed: "theirs" };
    if (same(was, their)) return { name, was, values: { mine: my, theirs: their }, proposed: "mine" };
    const merged = merge(was, my, their);
    return merged === undefined ? { name, was, values: { mine: my, theirs: their } }
      : { name, was, values: { mine: my, theirs: their, merged }, proposed: "merged" };
  });
}
