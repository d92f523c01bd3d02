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
    assert.equal(await page.$eval("#parse-parser", (box) => box.selectedOptions[0].textContent), "mine.wasm");
    await page.fill("#parse-tools", "[\"get_weather\"]");
    await page.click("#parse-dialog >> text=Parse >> nth=-1");
    await page.waitForFunction(() => document.querySelector("#state").textContent === "model_error");
    assert.deepEqual(fake.parsed, [{ raw: "<think>\nHm.</think>Hi 🏔", step: 1, finish: "stop", tools: ["get_weather"], component: "AGFzbQ==" }]);
    assert.equal((await items(page))[0][2], answer.texts[0]);
  });

  it("shows a dropped record at once, and by another parser where it can't", async () => {
    const { page, fake } = await begin([]);
    await drop(page, { name: "17-5f0c.slrec", bytes: [40, 181, 47, 253] });
    await page.waitForFunction(() => document.querySelector("#parse-wrong").textContent === "It can't be parsed.");
    assert.deepEqual(fake.parsed, [{ record_data: "KLUv/Q==" }]);
    await page.waitForSelector("#parse-parser option[value=kimi-k2]", { state: "attached" });
    const offered = await page.$$eval("#parse-parser option", (all) => all.map(({ textContent }) => textContent));
    assert.deepEqual(offered, ["the model's own (qwen3)", "kimi-k2", "none", "qwen3"]);
    await page.selectOption("#parse-parser", "kimi-k2");
    const answer = lines.parallelCalls();
    fake.parseLines = answer.lines;
    await page.click("#parse-dialog >> text=Parse >> nth=-1");
    await page.waitForFunction(() => document.querySelector("#state").textContent === "completed");
    assert.deepEqual(fake.parsed[1], { record_data: "KLUv/Q==", parser: "kimi-k2" });
    await drop(page, { name: "18.slrec", bytes: [40, 181, 47, 253] });
    await page.waitForFunction(() => document.querySelector("#title").textContent === "18.slrec");
    assert.deepEqual(fake.parsed[2], { record_data: "KLUv/Q==" });
    assert.equal(await page.isVisible("#parse-dialog"), false);
  });

  it("names the model where there are several", async () => {
    const { page, fake } = await begin([]);
    fake.models.push({ model: "other", serving: { name: "glm" }, loadable: ["glm"] });
    await press(page, "p");
    await page.waitForSelector("#parse-model:not([disabled])");
    await page.selectOption("#parse-model", "other");
    assert.equal(await page.$eval("#parse-parser", (box) => box.selectedOptions[0].textContent), "the model's own (glm)");
    await page.fill("#parse-raw", "Hi.");
    await page.click("#parse-dialog >> text=Parse >> nth=-1");
    await page.waitForFunction(() => document.querySelector("#parse-wrong").textContent !== "");
    assert.deepEqual(fake.parsed, [{ raw: "Hi.", step: 1, finish: "stop", model: "other" }]);
  });

  it("takes lines whose fields are wrong", async () => {
    const { page } = await begin([]);
    const answer = lines.parallelCalls();
    const odd = answer.lines.map((line) => ({ ...line, ms: "soon", events: 7, send_us: {}, finish: line.finish ?? 4, phases: { decode_ms: "long" } }));
    const text = odd.map((line) => JSON.stringify(line));
    await drop(page, { name: "odd.jsonl", text: [...text, "{\"type\": 3}", "{cut"].join("\n") });
    await page.waitForFunction(() => document.querySelector("#state").textContent === "completed");
    assert.deepEqual((await items(page)).map(([, , text]) => text), answer.texts);
    assert.equal(await page.textContent("#notice"), "odd.jsonl is cut off: 2 lines are none of a trace.");
    await press(page, "Home");
    await press(page, "ArrowRight");
    assert.equal((await cursor(page)).step, "1");
    assert.equal(await page.textContent(".beat.cursor .ms"), "");
  });

  it("filters the list by text, state and model", async () => {
    const { page } = await begin([lines.failingParser("18"), lines.parallelCalls("17"), lines.long("16", 20)]);
    const shown = () => page.$$eval("#answers .id", (all) => all.map(({ textContent }) => textContent));
    await page.waitForSelector("#answers li");
    await press(page, "a");
    await page.keyboard.type("responses MINE");
    assert.deepEqual(await shown(), ["#18"]);
    assert.equal(await page.textContent("#filter-note"), "1 of 3 answers");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("#title").textContent === "Answer 18");
    await press(page, "a");
    await press(page, "Escape");
    assert.deepEqual(await shown(), ["#18", "#17", "#16"]);
    await page.selectOption("#filter-state", "failed");
    assert.deepEqual(await shown(), ["#18"]);
    await page.selectOption("#filter-state", "max_output_tokens");
    assert.deepEqual(await shown(), ["#16"]);
    await page.selectOption("#filter-state", "");
    await page.selectOption("#filter-model", "qwen3-tiny");
    assert.deepEqual(await shown(), ["#17", "#16"]);
    await press(page, "a");
    await page.keyboard.type("req_17");
    await press(page, "ArrowDown");
    await press(page, "Enter");
    await page.waitForFunction(() => document.querySelector("#title").textContent === "Answer 17");
    await press(page, "a");
    await page.keyboard.type(" nothing");
    assert.deepEqual(await shown(), []);
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
      const { page } = await begin([lines.failingParser(), lines.prompted("17")], { colorScheme });
      await open(page, "17");
      await press(page, "t");
      await press(page, "Home");
      await press(page, "ArrowRight", 28);
      await press(page, "End");
      const poor = await page.evaluate(poorContrast);
      assert.deepEqual(poor, []);
    });
  }

  it("has the picture of the README", async () => {
    const { page } = await begin([lines.failingParser("18"), lines.prompted("17", { cut: 0, count: 60 })], { viewport: { width: 1280, height: 800 } });
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
