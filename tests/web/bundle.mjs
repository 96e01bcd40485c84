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
for (const [name, source] of Object.entries({ "dashboard.js": "web/dashboard/", "edit-lock.js": "web/element/" }))
  check(readFileSync(join(root, "web", name)).equals(readFileSync(join(place, name))), `web/${name} is made of ${source}`,
    "It is out of date: run `make web` and commit what it makes.");
const compressed = (name) => gzipSync(readFileSync(join(root, "web", name)), { level: 9 }).length;
const element = compressed("edit-lock.js");
console.log(`# the element is ${element} bytes, compressed`);
check(element < 16000, "the element is under 16 kB, compressed");
const size = ["index.html", "style.css", "icon.svg", "dashboard.js"].reduce((all, name) => all + compressed(name), 0);
console.log(`# the dashboard is ${size} bytes, compressed`);
check(size < 130000, "the dashboard is under 130 kB, compressed");
rmSync(place, { recursive: true });
finish();
