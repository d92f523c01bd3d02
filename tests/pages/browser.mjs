// The browser of these tests, and what they read off the page.
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const PROGRAM = process.env.SLUICE_CHROMIUM ?? "/usr/bin/chromium";

/** Why the tests are skipped, or false. `SLUICE_BROWSER=1` makes a missing browser an error. */
export function missing() {
  if (existsSync(PROGRAM)) return false;
  if (process.env.SLUICE_BROWSER) throw new Error(`there is no ${PROGRAM}: install chromium, or name it in SLUICE_CHROMIUM`);
  return `there is no ${PROGRAM} (Debian: apt-get install chromium)`;
}

export const launch = (...args) => chromium.launch({
  executablePath: PROGRAM,
  args: ["--no-sandbox", "--disable-background-networking", "--disable-component-update", ...args],
});

/** Opens a page; what goes wrong in it is in `page.faults`. */
export async function visit(browser, address, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, ...options });
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(String(error)));
  page.on("console", (message) => {
    // A refused request is what some tests are about.
    if (message.type() === "error" && !message.text().includes("Failed to load resource")) page.faults.push(message.text());
  });
  await page.goto(address);
  return page;
}

/** Opens the inspector at an address. */
export const inspector = (browser, address, { search = "", ...options } = {}) => visit(browser, `${address}/inspector${search}`, options);

/** Opens an answer from the list, and waits for its end. */
export async function open(page, id) {
  await page.locator("#answers button", { has: page.getByText(`#${id}`, { exact: true }) }).click();
  await page.waitForFunction((id) => document.querySelector("#title").textContent === `Answer ${id}`
    && !["", "running"].includes(document.querySelector("#state").textContent), id);
}

/** The items that are shown: `[name, state, text]`. */
export const items = (page) => page.$$eval("#items .item:not([hidden])", (all) => all.map((item) =>
  [".name", ".state", ".text"].map((part) => item.querySelector(part).textContent)));

/** The column at the cursor, lane by lane. */
export const cursor = (page) => page.$eval(".beat.cursor", (beat) => {
  const texts = (lane, piece) => [...beat.querySelectorAll(`.${lane} ${piece}`)].map((element) => element.textContent);
  return {
    step: texts("clock", ".number")[0], tokens: texts("tokens", ".token"), markers: texts("markers", ".marker"),
    ops: texts("ops", ".op"), spans: texts("items", ".span:not(.carried)"), events: texts("events", ".event"),
  };
});

/** Two frames later, when the page has drawn what it was told. */
export const drawn = (page) => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));

/** Presses a key, and waits until it is drawn. */
export async function press(page, key, times = 1) {
  for (let count = 0; count < times; count += 1) await page.keyboard.press(key);
  await drawn(page);
}

/** Drops files onto the page: `{ name, text }` or `{ name, bytes }`. */
export async function drop(page, ...files) {
  const transfer = await page.evaluateHandle((files) => {
    const transfer = new DataTransfer();
    for (const { name, text, bytes } of files) transfer.items.add(new File([bytes ? new Uint8Array(bytes) : text], name));
    return transfer;
  }, files);
  for (const type of ["dragenter", "dragover", "drop"]) await page.dispatchEvent("body", type, { dataTransfer: transfer });
}
