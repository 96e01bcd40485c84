#!/usr/bin/env node
// The committed web/dashboard.js is what `make web` makes of web/dashboard/, and small enough.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { check, finish } from "../http/server.mjs";

const root = process.env.HF_SOURCE_ROOT;
const place = mkdtempSync(join(tmpdir(), "holdfast-bundle-"));
execFileSync(join(root, "tools/bundle-web"), [join(place, "dashboard.js")], { stdio: "ignore" });
const committed = readFileSync(join(root, "web/dashboard.js"));
check(committed.equals(readFileSync(join(place, "dashboard.js"))), "web/dashboard.js is made of web/dashboard/",
  "It is out of date: run `make web` and commit what it makes.");
const size = ["index.html", "style.css", "icon.svg", "dashboard.js"].reduce((all, name) => all + gzipSync(readFileSync(join(root, "web", name)), { level: 9 }).length, 0);
console.log(`# the dashboard is ${size} bytes, compressed`);
check(size < 130000, "the dashboard is under 130 kB, compressed");
rmSync(place, { recursive: true });
finish();
