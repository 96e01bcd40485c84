#!/usr/bin/env node
// What --format sarif writes, held against the official schema of SARIF 2.1.0.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const require = createRequire(process.env.HF_NPM + "/");
const Ajv = require("ajv").default;
const formats = require("ajv-formats").default;
const schemas = join(dirname(require.resolve("@microsoft/jest-sarif/package.json")), "lib/schemas");
const schema = JSON.parse(readFileSync(join(schemas, "sarif-2.1.0-rtm.5.json"), "utf8"));
delete schema.$schema; // draft 4, of which it uses nothing that newer drafts read otherwise
delete schema.id;
const ajv = new Ajv({ strict: false, allErrors: true, unicodeRegExp: false });
formats(ajv);
const validate = ajv.compile(schema);
let failures = 0;
const check = (good, sentence, seen) => {
  console.log(`${good ? "ok" : "not ok"} - ${sentence}`);
  if (!good) {
    failures++;
    console.log("#   saw " + JSON.stringify(seen)?.slice(0, 2000));
  }
};

const samples = join(process.env.HF_SOURCE_ROOT, "tests/audit/samples");
const text = execFileSync(process.env.HOLDFAST, ["audit", samples, "--format", "sarif", "--fail-on", "never"], { encoding: "utf8", maxBuffer: 1 << 26 });
const report = JSON.parse(text);
check(validate(report), "the schema accepts the report of all samples", validate.errors);
const results = report.runs[0].results;
check(results.length > 30, "it has results", results.length);
const ids = new Set(report.runs[0].tool.driver.rules.map((rule) => rule.id));
check(results.every((result) => ids.has(result.ruleId)), "every result names a rule that is described", [...ids]);
check(!validate({ ...report, version: "2.0.0" }), "the schema is one that can refuse", null);
process.exit(failures ? 1 : 0);
