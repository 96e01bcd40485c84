#!/usr/bin/env node
// The pages of the server as files: their types, what browsers keep of them, and what they may do.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { check, finish, Server } from "./server.mjs";

const web = join(process.env.HF_SOURCE_ROOT, "web");
const server = await Server.start();
const pages = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/dashboard.js": ["dashboard.js", "text/javascript; charset=utf-8"],
  "/style.css": ["style.css", "text/css; charset=utf-8"],
  "/icon.svg": ["icon.svg", "image/svg+xml"],
  "/edit-lock.js": ["edit-lock.js", "text/javascript; charset=utf-8"],
};

for (const [path, [file, type]] of Object.entries(pages)) {
  const plain = await server.ask("GET", path, { headers: { "Accept-Encoding": "identity" } });
  check(plain.status === 200 && plain.text === readFileSync(join(web, file), "utf8"), `${path} is ${file}`, plain.text.slice(0, 200));
  check(plain.headers.get("content-type") === type && plain.headers.get("x-content-type-options") === "nosniff", `${path} has its type`);
  check(plain.headers.get("cache-control") === "no-cache", `${path} is asked for again each time`);
  const packed = await server.ask("GET", path, { headers: { "Accept-Encoding": "br;q=1, gzip" } });
  check(packed.headers.get("content-encoding") === "gzip" && packed.text === plain.text, `${path} is compressed for whoever takes that`);
  const tags = [plain, packed].map((answer) => answer.headers.get("etag"));
  check(/^"[0-9a-f]{32}"$/.test(tags[0]) && tags[0] !== tags[1], `${path} has a strong ETag, another when compressed`, tags.join(" "));
  const none = await server.ask("GET", path, { headers: { "Accept-Encoding": "gzip;q=0, br" } });
  check(none.headers.get("content-encoding") === null, `${path} is not compressed for whoever does not take that`);
  const known = await server.ask("GET", path, { headers: { "Accept-Encoding": "identity", "If-None-Match": `"other", W/${tags[0]}` } });
  check(known.status === 304 && known.text === "" && known.headers.get("etag") === tags[0], `${path} is not sent twice`, known);
  const head = await server.ask("HEAD", path, { headers: { "Accept-Encoding": "identity" } });
  check(head.status === 200 && head.text === "" && Number(head.headers.get("content-length")) === Buffer.byteLength(plain.text), `HEAD ${path}`);
}

const inline = /<style|<script(?![^>]*\ssrc=)|\sstyle=|\son[a-z]+=/i;
for (const path of ["/", "/api"]) {
  const { text, headers } = await server.ask("GET", path);
  const policy = headers.get("content-security-policy");
  check(/default-src 'none'/.test(policy) && !policy.includes("unsafe"), `${path} may run nothing but files of the server`, policy);
  check(!inline.test(text), `${path} has nothing inline`, inline.exec(text)?.[0]);
}

// ---- pages of other origins ----

const origin = { headers: { Origin: "https://shop.example" } };
const own = await server.ask("GET", "/dashboard.js", origin);
check(own.status === 403 && own.headers.get("access-control-allow-origin") === null, "the dashboard's script is for the dashboard");
const shared = await server.ask("GET", "/edit-lock.js", origin);
check(shared.status === 200 && shared.headers.get("access-control-allow-origin") === "*" &&
  shared.headers.get("cross-origin-resource-policy") === "cross-origin", "the elements are for pages of any origin", shared);
const host = await server.ask("GET", "/v1/locks", origin);
check(host.status === 403, "and nothing else is");
for (const path of ["/", "/api", "/dashboard.js", "/style.css", "/icon.svg", "/openapi.json", "/healthz", "/v1/locks", "/nowhere"]) {
  const { headers } = await server.ask("GET", path);
  const page = path === "/" || path === "/api";
  check(headers.get("cross-origin-resource-policy") === "same-origin" && headers.get("cross-origin-opener-policy") === (page ? "same-origin" : null),
    `no page of another origin embeds ${path}${page ? ", or shares its window" : ""}`, [...headers]);
}
check(shared.headers.get("cross-origin-opener-policy") === null && (await server.ask("GET", "/edit-lock.js")).headers.get("cross-origin-resource-policy") === "cross-origin", "but the elements");

// ---- TLS alone from now on ----

const strict = await Server.start(["--hsts", "365d", "--trust-proxy", "127.0.0.1"]);
const hsts = async (at, path, proto) => (await at.ask("GET", path, { headers: proto && { "X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": proto } })).headers.get("strict-transport-security");
check((await hsts(strict, "/", "https")) === "max-age=31536000" && (await hsts(strict, "/v1/locks", "https")) === "max-age=31536000", "where it is set, whoever comes by TLS is told to come by TLS");
check((await hsts(strict, "/", "http")) === null && (await hsts(strict, "/")) === null, "not who comes in the clear");
check((await hsts(server, "/")) === null, "nor where it is not set");
await strict.stop();

await server.stop();
finish();
