// How the inspector's page is used: keys, files that are dropped, keyboard, phone, contrast.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { cursor, drawn, drop, items, missing, open, press } from "./browser.mjs";
import { poorContrast } from "./contrast.mjs";
import { fixture, shot } from "./fixture.mjs";
import * as lines from "./lines.mjs";

const PICTURE = fileURLToPath(new URL("../../docs/inspector.png", import.meta.url));

describe("how the inspector is used", { skip: missing() }, () => {
  const begin = fixture();

  it("asks for the key, and keeps it in memory alone", async () => {
    const { page, fake } = await begin([lines.parallelCalls()], { key: "sesame" });
    await page.waitForSelector("#key-dialog[open]");
    await page.fill("#key-field", "wrong");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#key-again:not([hidden])");
    await page.fill("#key-field", "sesame");
    await page.click("text=Use it");
    await open(page, "17");
    const kept = await page.evaluate(() => [localStorage.length, sessionStorage.length, document.cookie, location.href, document.documentElement.outerHTML]);
    assert.deepEqual(kept.slice(0, 3), [0, 0, ""]);
    assert.ok(!kept[3].includes("sesame") && !kept[4].includes("sesame"));
    await page.reload();
    await page.waitForSelector("#key-dialog[open]");
    await page.click("#key-dialog >> text=Cancel");
    await page.waitForSelector("#give-key:not([hidden])");
    const refused = fake.refused;
    await page.click("#give-key");
    await page.waitForSelector("#key-dialog[open]");
    assert.equal(fake.refused, refused + 1);
  });

  it("shows lines that are dropped onto it", async () => {
    const answer = lines.parallelCalls();
    const { page } = await begin([]);
    await drop(page, { name: "saved.jsonl", text: answer.lines.map((line) => JSON.stringify(line)).join("\n") });
    await page.waitForFunction(() => document.querySelector("#state").textContent === "completed");
    assert.equal(await page.textContent("#title"), "saved.jsonl");
    assert.deepEqual((await items(page)).map(([, , text]) => text), answer.texts);
    const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("s")]);
    const saved = (await (await download.createReadStream()).toArray()).join("");
    assert.equal(saved, answer.lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  });

  it("has a dropped text parsed by a dropped parser", async () => {
    const { page, fake } = await begin([]);
    const answer = lines.failingParser();
    fake.parseLines = answer.lines;
    await drop(page, { name: "raw.txt", text: "<think>\nHm.</think>Hi 🏔" }, { name: "mine.wasm", bytes: [0, 97, 115, 109] });
    await page.waitForSelector("#parse-dialog[open]");
    await page.waitForFunction(() => document.querySelector("#parse-raw").value !== "");
    assert.equal(await page.textContent("#parse-file-names"), "mine.wasm");
    await page.fill("#parse-tools", "[\"get_weather\"]");
    await page.click("#parse-dialog >> text=Parse >> nth=-1");
    await page.waitForFunction(() => document.querySelector("#state").textContent === "model_error");
    assert.deepEqual(fake.parsed, [{ raw: "<think>\nHm.</think>Hi 🏔", step: 1, finish: "stop", tools: ["get_weather"], component: "AGFzbQ==" }]);
    assert.equal((await items(page))[0][2], answer.texts[0]);
  });

  it("has a dropped record parsed, and says why not", async () => {
    const { page, fake } = await begin([]);
    await drop(page, { name: "17-5f0c.slrec", bytes: [40, 181, 47, 253] });
    await page.waitForSelector("#parse-dialog[open]");
    await page.fill("#parse-parser", "nobody");
    await page.click("#parse-dialog >> text=Parse >> nth=-1");
    await page.waitForFunction(() => document.querySelector("#parse-wrong").textContent === "No parser is called nobody.");
    assert.deepEqual(fake.parsed, [{ record_data: "KLUv/Q==", parser: "nobody" }]);
  });

  it("fills the dialog from a case", async () => {
    const { page } = await begin([]);
    await drop(page, { name: "case.json", text: JSON.stringify({ tools: ["add"], generation_prompt: "<|im_start|>", chunks: ["a", "b"], finish: "length" }) });
    await page.waitForSelector("#parse-dialog[open]");
    const values = await page.$$eval("#parse-raw, #parse-tools, #parse-prompt, #parse-finish", (all) => all.map(({ value }) => value));
    assert.deepEqual(values, ["ab", "[\"add\"]", "<|im_start|>", "length"]);
  });

  it("is used by keyboard alone", async () => {
    const { page } = await begin([lines.failingParser(), lines.parallelCalls()]);
    await page.waitForSelector("#answers li");
    await press(page, "j");
    await press(page, "j");
    await page.waitForFunction(() => document.querySelector("#state").textContent === "completed");
    assert.equal(await page.textContent("#title"), "Answer 17");
    await press(page, "Home");
    await press(page, "m");
    assert.deepEqual((await cursor(page)).markers, ["<think>"]);
    await press(page, "i");
    assert.deepEqual((await cursor(page)).tokens, ["Two"]);
    await press(page, "/");
    await page.keyboard.type("zürich,");
    await page.keyboard.press("Enter");
    await drawn(page);
    assert.deepEqual((await cursor(page)).tokens, ["·Zürich"]);
    await page.keyboard.press("Escape");
    await press(page, "?");
    assert.ok(await page.isVisible("#help-dialog"));
    await page.keyboard.press("Escape");
    await press(page, "Shift+ArrowRight");
    await press(page, "End");
    assert.equal((await items(page)).length, 4);
  });

  it("writes what a model wrote as text", async () => {
    const answer = lines.markup();
    const { page } = await begin([answer]);
    await open(page, "21");
    assert.equal((await items(page))[0][2], answer.texts[0]);
    assert.equal(await page.title(), "Sluice inspector");
    assert.equal(await page.$$eval("main img, main script, main b:not(.phase b)", (all) => all.length), 0);
  });

  it("fits a dark phone", async () => {
    const { page } = await begin([lines.parallelCalls("17", "")], { viewport: { width: 390, height: 844 }, colorScheme: "dark", deviceScaleFactor: 2 });
    await open(page, "17");
    await drawn(page);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(19, 22, 27)");
    assert.equal(await page.$eval("#list", (list) => list.open), false);
    await shot(page, "phone");
  });

  for (const colorScheme of ["light", "dark"]) {
    it(`has enough contrast where it is ${colorScheme}`, async () => {
      const { page } = await begin([lines.failingParser(), lines.parallelCalls()], { colorScheme });
      await open(page, "17");
      await press(page, "Home");
      await press(page, "ArrowRight", 28);
      await press(page, "End");
      const poor = await page.evaluate(poorContrast);
      assert.deepEqual(poor, []);
    });
  }

  it("has the picture of the README", async () => {
    const { page } = await begin([lines.failingParser("18"), lines.parallelCalls("17", "")], { viewport: { width: 1280, height: 800 } });
    await open(page, "17");
    await press(page, "Home");
    await press(page, "ArrowRight", 34);
    await page.hover("[data-piece='31/call/0'] >> nth=1");
    await drawn(page);
    await page.evaluate(() => document.activeElement.blur());
    if (process.env.UPDATE_PICTURE) await page.screenshot({ path: PICTURE, animations: "disabled" });
    assert.ok(statSync(PICTURE).size <= 300 * 1024);
  });
});
