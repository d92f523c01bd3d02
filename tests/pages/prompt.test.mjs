// The prompt's text on the inspector's page: parts by author, special tokens, long prompts.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { drawn, drop, missing, open, press } from "./browser.mjs";
import { fixture, shot } from "./fixture.mjs";
import * as lines from "./lines.mjs";

const parts = (page) => page.$$eval("#prompt-text > *", (all) => all.map((part) =>
  [part.querySelector(".by")?.textContent ?? "", (part.querySelector(".text") ?? part).textContent]));

describe("the prompt", { skip: missing() }, () => {
  const begin = fixture();

  it("shows who wrote what, and special tokens", async () => {
    const { page } = await begin([lines.prompted()]);
    await open(page, "22");
    const legend = await page.$$eval(".author", (all) => all.map(({ textContent }) => textContent));
    assert.deepEqual(legend.map((each) => each.replace(/ [\d,]+$/, "")), ["template", "system", "user"]);
    assert.equal((await parts(page)).length, 0);
    await press(page, "t");
    const shown = await parts(page);
    assert.deepEqual(shown.map(([by]) => by), ["template", "system", "template", "", "template", "user", "template"]);
    assert.equal(shown[0][1], "<|im_start|>system↵\n");
    assert.equal(shown[1][1], "Be brief.");
    assert.equal(shown[3][1], "1,234 tokens are left out here");
    assert.equal(shown[6][1], "<|im_end|>↵\n<|im_start|>assistant↵\n");
    assert.deepEqual(await page.$$eval(".part.by-user .special", (all) => all.length), 0);
    assert.deepEqual(await page.$$eval(".part.by-template .special", (all) => all.map(({ title }) => title)),
      ["token 151644", "token 151645", "token 151644", "token 151645", "token 151644"]);
    await shot(page, "prompt");
  });

  it("shows long texts in excerpts, and whole if asked", async () => {
    const answer = lines.prompted("22", { parts: 200 });
    const { page } = await begin([answer]);
    await open(page, "22");
    await press(page, "t");
    assert.equal((await parts(page)).length, 61);
    await page.click("#prompt-text >> text=/more parts/");
    const written = answer.lines[1].segments.filter(({ by }) => by === "user").map(({ text }) => text);
    assert.equal(await page.$$eval(".part.by-user", (all) => all.length), written.length);
    const last = page.locator(".part.by-user").last();
    assert.ok((await last.locator(".text").textContent()).length < 3000);
    await last.locator("button").click();
    await drawn(page);
    const whole = await last.locator("pre").allTextContents();
    assert.ok(whole.length > 5);
    assert.equal(whole.join("\n"), written.at(-1));
  });

  it("shows the prompt of the cursor's turn, and that of a choice's sibling", async () => {
    const { lines: all } = lines.prompted();
    all[1].segments = [{ by: "client", tokens: 2, text: "Once upon" }];
    const later = [{ ...all[1], turn: 1, segments: undefined, segments_of: 0 }, { ...all[1], turn: 2, segments: [{ by: "user", tokens: 1, text: "Now" }] }];
    const text = [...all.slice(0, -1), ...later].map((line) => JSON.stringify({ ...line, line: undefined })).join("\n");
    const { page } = await begin([]);
    await drop(page, { name: "turns.jsonl", text });
    await page.waitForFunction(() => document.querySelector("#title").textContent === "turns.jsonl");
    await press(page, "t");
    assert.deepEqual(await parts(page), [["user", "Now"]]);
    await press(page, "ArrowLeft");
    assert.deepEqual(await parts(page), [["client", "Once upon"]]);
    assert.match(await page.textContent("#prompt-facts .all"), /of turn 1$/);
  });

  it("says that lines hold no text", async () => {
    const { page } = await begin([lines.parallelCalls()]);
    await open(page, "17");
    await press(page, "t");
    assert.deepEqual(await parts(page), [["", "These lines don't hold the prompt's text."]]);
  });

  for (const colorScheme of ["light", "dark"]) {
    it(`fits a phone where it is ${colorScheme}`, async () => {
      const { page } = await begin([lines.prompted()], { viewport: { width: 390, height: 844 }, colorScheme });
      await open(page, "22");
      await press(page, "t");
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
      await shot(page, `prompt-${colorScheme}`);
    });
  }
});
