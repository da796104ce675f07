// Firefox goes through pages of the built book. The standard input is {program, visits: [{site, name, does: [hand…]}]}, the
// standard output {"site name": {what each hand says…}}; a page that cannot be gone through says why in `error`.
import { readFileSync } from "node:fs";
import { launch } from "puppeteer-core";
import { open } from "./eyes.mjs";
import * as hands from "./hands.mjs";

const ALONE = { // no host but 127.0.0.1 can be reached
  "network.proxy.type": 1, "network.proxy.socks": "127.0.0.1", "network.proxy.socks_port": 9,
  "network.proxy.socks_remote_dns": true, "network.proxy.no_proxies_on": "127.0.0.1",
};

function watch(page, site, problems) {
  page.on("request", (request) => {
    if (!request.url().startsWith(site) && !/^(data|blob):/.test(request.url())) problems.push(`asks for ${request.url()}`);
  });
  page.on("requestfailed", (request) => problems.push(`${request.url()}: ${request.failure()?.errorText}`));
  page.on("response", (answer) => { if (answer.status() >= 400) problems.push(`${answer.url()}: ${answer.status()}`); });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (said) => { if (["error", "warn"].includes(said.type())) problems.push(said.text()); });
}

async function visit(browser, { site, name, does }) {
  const problems = [], seen = { problems };
  let context;
  try {
    context = await browser.createBrowserContext();
    const page = await context.newPage();
    await page.setViewport({ width: 1280, height: 900 });
    await page.evaluateOnNewDocument(open);
    watch(page, site, problems);
    await page.goto(site + name);
    seen.tooWide = await page.evaluate(() => self.eyes.settled());
    for (const hand of does) seen[hand] = await hands[hand](page);
    problems.push(...await page.evaluate(() => self.eyes.refused));
  } catch (error) {
    seen.error = String(error.stack);
  }
  await context?.close().catch(() => {});
  return seen;
}

const { program, visits } = JSON.parse(readFileSync(0, "utf8")), seen = {};
const browser = await launch({ browser: "firefox", executablePath: program, extraPrefsFirefox: ALONE, timeout: 180_000 });
for (const one of visits) seen[`${one.site} ${one.name}`] = await visit(browser, one);
await browser.close();
process.stdout.write(JSON.stringify(seen));
