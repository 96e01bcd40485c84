// Real Chromium for the tests of the pages, without its own windows, by playwright-core. A person is a browser context of their own: own cookies, own storage.
// Whoever imports this prints lines "ok - ..." or "not ok - ...", by `check` of ../http/server.mjs.
import { createRequire } from "node:module";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const require = createRequire(join(process.env.HF_NPM, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

// Pictures are kept only when HF_TEST_PICTURES names a folder.
const pictures = process.env.HF_TEST_PICTURES;

const ARGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
];

export class Chromium {
  static async start() {
    const it = new Chromium();
    it.browser = await chromium.launch({ executablePath: process.env.HF_CHROMIUM ?? "/usr/bin/chromium-headless-shell", args: ARGS });
    it.errors = []; // what pages threw, or logged as an error
    return it;
  }

  // Nothing moves: what fades in would be judged half seen by axe. options: of playwright's newContext, as viewport, colorScheme, locale, timezoneId
  async person(options = {}) {
    const context = await this.browser.newContext({ locale: "en-GB", timezoneId: "UTC", reducedMotion: "reduce", ...options });
    context.setDefaultTimeout(20000);
    context.on("weberror", (web) => this.errors.push(String(web.error())));
    return context;
  }

  async open(context, url) {
    const page = await context.newPage();
    page.on("pageerror", (error) => this.errors.push(String(error)));
    await page.goto(url);
    return page;
  }

  stop() {
    return this.browser.close();
  }
}

// The accessibility rules of WCAG 2.2 AA that a page breaks: a line each, none when all is well.
export async function violations(page) {
  await page.evaluate(axe);
  const { violations: found } = await page.evaluate(() =>
    axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`);
}

export async function picture(page, name) {
  if (!pictures) return;
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`) });
}

// Waits until `look` answers something true; the last answer, true or not.
export async function until(look, seconds = 20) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const answer = await look();
    if (answer || Date.now() > end) return answer;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
