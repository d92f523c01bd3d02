// What the inspector's page shows of a trace, in a real browser, for traces that these tests write.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cursor, drawn, items, missing, open, press } from "./browser.mjs";
import { fixture, shot } from "./fixture.mjs";
import * as lines from "./lines.mjs";

/** How the page writes white space. */
const shown = (text) => text.replaceAll(" ", "·").replaceAll("\n", "↵");
const eventWords = ([from, to]) => (to <= from ? [] : [to - from === 1 ? `${from}` : `${from}–${to - 1}`]);

describe("what the inspector shows", { skip: missing() }, () => {
  const begin = fixture();

  it("shows every step as its line says", async () => {
    const answer = lines.parallelCalls();
    const { page } = await begin([answer]);
    await open(page, "17");
    await press(page, "Home");
    for (const line of answer.lines.slice(1)) {
      if (line.type === "step") {
        const here = await cursor(page);
        assert.equal(here.step, String(line.step));
        assert.deepEqual(here.tokens, line.tokens.map(({ text }) => shown(text)));
        assert.deepEqual(here.events, eventWords(line.events));
        const texts = line.items.filter(({ text }) => text).map(({ text }) => text).join("");
        assert.equal(here.spans.join(""), shown(texts));
        const markers = line.calls.filter(({ marker }) => marker !== undefined).map(({ marker }) => answer.lines[0].markers[marker].literal);
        assert.deepEqual(here.markers.slice(0, markers.length), markers);
        const ops = line.calls.flatMap(({ answer }) => (Array.isArray(answer) ? answer : [answer]));
        assert.equal(here.ops.length, ops.length);
      }
      await press(page, "ArrowRight");
    }
    await shot(page, "steps");
  });

  it("puts reasoning, text and parallel calls together", async () => {
    const answer = lines.parallelCalls();
    const { page } = await begin([answer]);
    await open(page, "17");
    const seen = await items(page);
    assert.deepEqual(seen.map(([name]) => name), ["Reasoning", "Text · commentary", "Call get_weather", "Call get_time"]);
    assert.deepEqual(seen.map(([, , text]) => text), answer.texts);
    assert.deepEqual(JSON.parse(seen[3][2]), { city: "Zürich 🏔" });
    assert.equal(await page.textContent("#verdict"), "consistent");
    assert.equal(await page.textContent("#phases .queue b"), "12.1 ms");
  });

  it("shows the items as they were at the cursor", async () => {
    const { page } = await begin([lines.parallelCalls()]);
    await open(page, "17");
    await press(page, "Home");
    await press(page, "ArrowRight", 4);
    assert.deepEqual(await items(page), [["Reasoning", "open", "Two things are"]]);
    assert.equal(await page.textContent("#items mark"), " are");
    await press(page, "ArrowLeft");
    assert.deepEqual(await items(page), [["Reasoning", "open", "Two things"]]);
  });

  it("shows a parser's fault where it happened", async () => {
    const { page } = await begin([lines.failingParser()]);
    await open(page, "18");
    await press(page, "Home");
    await press(page, "f");
    const here = await cursor(page);
    assert.deepEqual([here.step, here.ops], ["6", ["fault: the call has no name"]]);
    assert.deepEqual(await items(page), [["Text", "open", "Let me see<tool_call>{nope"]]);
    await page.click("#verdict");
    assert.deepEqual(await page.$$eval("#findings button", (all) => all.map((each) => each.textContent)),
      ["the parser failed: the call has no name (at 6)", "The parser failed. (at turn-end)"]);
    await page.click("#findings button >> nth=0");
    assert.equal((await cursor(page)).step, "6");
    await shot(page, "fault");
  });

  it("finds a gap in a range and an item left open", async () => {
    const { page } = await begin([lines.inconsistent()]);
    await open(page, "20");
    assert.equal(await page.textContent("#verdict"), "2 findings");
    await page.click("#verdict");
    assert.deepEqual(await page.$$eval("#findings button", (all) => all.map((each) => each.textContent)),
      ["item 0: bytes 5 to 9 follow byte 3 (at 2)", "item 0 is never closed (at turn-end)"]);
  });

  it("keeps few elements for 10,000 tokens", async () => {
    const answer = lines.long();
    const { page } = await begin([answer]);
    await open(page, "19");
    const columns = () => page.$$eval(".beat", (all) => all.length);
    assert.ok(await columns() < 100);
    await press(page, "Home");
    assert.equal(await page.$eval(".beat.cursor .title", (title) => title.textContent), "prompt, 312 tokens");
    await page.$eval("#lanes", (lanes) => { lanes.scrollLeft = lanes.scrollWidth / 2; });
    await drawn(page);
    assert.ok(await columns() < 100);
    // The beats in sight are those that belong there.
    const middle = await page.$eval("#lanes", (lanes) => {
      const box = lanes.getBoundingClientRect();
      return document.elementFromPoint(box.left + box.width / 2, box.top + 10).closest(".beat").dataset.beat;
    });
    assert.ok(Math.abs(Number(middle) - 4547) < 60, middle);
    await press(page, "End");
    await page.click("text=Show earlier text");
    assert.equal((await items(page))[0][2], answer.texts[0]);
    assert.equal(await page.textContent("#verdict"), "consistent");
    await shot(page, "long");
  });

  it("lights up what belongs together, both ways", async () => {
    const { page } = await begin([lines.parallelCalls()]);
    await open(page, "17");
    await press(page, "Home");
    await press(page, "ArrowRight", 30);
    const lit = () => page.$$eval(".lit", (all) => all.map((each) => each.dataset.piece));
    // A token of the call's name, which the parser held until step 32.
    await page.hover("[data-piece='30/token/0']");
    await drawn(page);
    const found = await lit();
    for (const piece of ["30/token/0", "30/call/0", "32/call/0"]) assert.ok(found.includes(piece), `${piece} in ${found}`);
    assert.ok(!found.includes("29/token/0"));
    await page.hover("[data-piece='32/call/0'] >> nth=0");
    await drawn(page);
    const back = await lit();
    for (const piece of ["23/token/0", "30/token/0", "32/token/1", "32/span/0", "32/events"]) assert.ok(back.includes(piece), `${piece} in ${back}`);
    assert.ok(!back.includes("22/token/0"));
    await shot(page, "linked");
  });

  it("follows a live answer, pauses, and follows again", async () => {
    const whole = lines.parallelCalls().lines;
    const { page, fake } = await begin([{ lines: whole.slice(0, 10) }]);
    await page.click("#answers button");
    await page.waitForFunction(() => document.querySelector("#place").textContent === "9 of 9");
    fake.grow("17", whole.slice(10, 20));
    await page.waitForFunction(() => document.querySelector("#place").textContent === "19 of 19");
    await press(page, " ");
    fake.grow("17", whole.slice(20, 30));
    await page.waitForFunction(() => document.querySelector("#place").textContent === "19 of 29");
    assert.equal(await page.textContent("#live"), "Paused, 10 behind");
    assert.equal(await page.getAttribute("#live", "aria-pressed"), "false");
    await press(page, "End");
    assert.equal(await page.textContent("#place"), "29 of 29");
    assert.equal(await page.textContent("#live"), "Following");
    await press(page, "ArrowLeft");
    assert.equal(await page.textContent("#live"), "Paused, 1 behind");
    await page.click("#live");
    await drawn(page);
    assert.equal(await page.textContent("#live"), "Following");
    fake.grow("17", whole.slice(30));
    await page.waitForFunction(() => document.querySelector("#state").textContent === "completed");
    assert.equal(await page.textContent("#place"), `${whole.length - 1} of ${whole.length - 1}`);
    assert.equal(await page.isVisible("#live"), false);
  });

  it("plays from the cursor to the end", async () => {
    const answer = lines.parallelCalls();
    const { page } = await begin([answer]);
    await open(page, "17");
    await press(page, "Home");
    await press(page, "]", 2);
    assert.equal(await page.inputValue("#speed"), "16");
    await press(page, " ");
    await page.waitForFunction((all) => document.querySelector("#place").textContent === `${all} of ${all}`, answer.lines.length - 1);
    assert.equal(await page.textContent("#play"), "Play");
    assert.deepEqual((await items(page)).map(([, , text]) => text), answer.texts);
  });

  it("resumes a stream that was cut off", async () => {
    const answer = lines.parallelCalls();
    const { page, fake } = await begin([{ ...answer, cutAt: 20 }]);
    await open(page, "17");
    assert.deepEqual(fake.resumed, [19]);
    assert.deepEqual((await items(page)).map(([, , text]) => text), answer.texts);
    assert.equal(await page.textContent("#verdict"), "consistent");
  });

  it("counts the lines that are no longer kept", async () => {
    const { page } = await begin([{ ...lines.parallelCalls(), from: 20 }]);
    await open(page, "17");
    await press(page, "Home");
    assert.equal(await page.$eval(".beat.cursor .title", (title) => title.textContent), "20 lines lost");
    await page.click("#verdict");
    assert.deepEqual(await page.$$eval("#findings button", (all) => all.map((each) => each.textContent)),
      ["20 lines of the trace are lost (at dropped)"]);
    assert.equal(await page.textContent("#model"), "qwen3-tiny · responses · qwen3 1.0.0");
  });
});
