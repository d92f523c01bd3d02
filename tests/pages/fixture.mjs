// A browser and a server of written traces for the tests of a file.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before } from "node:test";
import { inspector, launch } from "./browser.mjs";
import { Fake } from "./fake.mjs";

/** Folder of screenshots to look at, if one is wanted. */
const SHOTS = process.env.SLUICE_SHOTS;

/**
 * Gives `begin(answers, options)`, which opens the page on a server with these answers, and with
 * `options.key` if a key is to be needed. After each test nothing may have gone wrong in the page.
 */
export function fixture() {
  let browser, fake, page;
  before(async () => { browser = await launch(); });
  after(() => browser?.close());
  afterEach(async () => {
    const faults = page?.faults ?? [];
    await page?.close();
    fake?.stop();
    page = fake = undefined;
    assert.deepEqual(faults, []);
  });
  return async function begin(answers, { key = null, ...options } = {}) {
    fake = await new Fake().start();
    fake.key = key;
    fake.answers = answers.map((answer) => ({ id: answer.lines[0].id, ...answer }));
    page = await inspector(browser, fake.address, options);
    return { page, fake };
  };
}

/** Takes a screenshot, if one is wanted. */
export async function shot(page, name) {
  if (!SHOTS) return;
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: join(SHOTS, `${name}.png`) });
}
