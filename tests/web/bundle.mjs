#!/usr/bin/env node
// The committed web/dashboard.js and web/edit-lock.js are what `make web` makes of web/dashboard/ and web/element/, and small enough.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { check, finish } from "../http/server.mjs";

const root = process.env.HF_SOURCE_ROOT;
const place = mkdtempSync(join(tmpdir(), "holdfast-bundle-"));
execFileSync(join(root, "tools/bundle-web"), [place], { stdio: "ignore" });
for (const [name, folder] of [["dashboard.js", "dashboard"], ["edit-lock.js", "element"]]) {
  const committed = readFileSync(join(root, "web", name));
  check(committed.equals(readFileSync(join(place, name))), `web/${name} is made of web/${folder}/`, "It is out of date: run `make web` and commit what it makes.");
}
const compressed = (...names) => names.reduce((all, name) => all + gzipSync(readFileSync(join(root, "web", name)), { level: 9 }).length, 0);
const [dashboard, element] = [compressed("index.html", "style.css", "icon.svg", "dashboard.js"), compressed("edit-lock.js")];
console.log(`# the dashboard is ${dashboard} bytes, compressed, edit-lock.js ${element}`);
check(dashboard < 130000, "the dashboard is under 130 kB, compressed");
// Two languages are 2.6 kB of it, the look 1.4, hidden inputs, editors and rows 1.2, the stream that all tabs share 1.2, the badge 1.0, mine,
// theirs and merged 0.8.
check(element < 18000, "edit-lock.js is under 18 kB, compressed");
rmSync(place, { recursive: true });
finish();
