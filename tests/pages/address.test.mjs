// The inspector's address bar: an answer is opened from a request id, and named while it is shown.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { missing, open } from "./browser.mjs";
import { fixture } from "./fixture.mjs";
import * as lines from "./lines.mjs";

const title = (page, text) => page.waitForFunction((text) => document.querySelector("#title").textContent === text, text);
const search = (page) => page.evaluate(() => location.search);

describe("the inspector's address", { skip: missing() }, () => {
  const begin = fixture();

  it("opens the answer of a request, and keeps to it when it is loaded again", async () => {
    const { page } = await begin([lines.failingParser("18"), lines.parallelCalls("17")], { search: "?request=req_17" });
    await title(page, "Answer 17");
    await page.reload();
    await title(page, "Answer 17");
    assert.equal(await search(page), "?request=req_17");
  });

  it("names each answer that is shown, back and forward", async () => {
    const { page } = await begin([lines.failingParser("18"), lines.parallelCalls("17")]);
    await open(page, "18");
    await open(page, "17");
    assert.equal(await search(page), "?request=req_17");
    await page.goBack();
    await title(page, "Answer 18");
    await page.goBack();
    await page.waitForSelector(".welcome", { state: "visible" });
    assert.equal(await search(page), "");
    await page.goForward();
    await title(page, "Answer 18");
  });

  it("names no answer where a file is shown", async () => {
    const { page, fake } = await begin([lines.parallelCalls("17")], { search: "?request=req_17" });
    await title(page, "Answer 17");
    fake.parseLines = lines.parallelCalls("1").lines;
    await page.keyboard.press("p");
    await page.click("#parse-dialog >> text=Parse >> nth=-1");
    await title(page, "parsed text");
    assert.equal(await search(page), "");
  });

  it("says that an answer isn't there, and opens it when it comes", async () => {
    const { page, fake } = await begin([lines.parallelCalls("17")], { search: "?request=req_18" });
    await page.waitForFunction(() => /^No answer of request req_18 is in the list/.test(document.querySelector("#link-note").textContent));
    assert.equal(await page.$$eval("#answers li", (all) => all.length), 1);
    const answer = lines.failingParser("18");
    fake.answers.unshift({ id: "18", lines: answer.lines.slice(0, 5) });
    await title(page, "Answer 18");
    assert.equal(await page.textContent("#live"), "Following");
  });

  it("says so when the reader goes back to one that is gone", async () => {
    const { page, fake } = await begin([lines.failingParser("18"), lines.parallelCalls("17")]);
    await open(page, "17");
    await open(page, "18");
    fake.answers.pop();
    await page.waitForFunction(() => document.querySelectorAll("#answers li").length === 1);
    await page.goBack();
    await page.waitForSelector("#link-note", { state: "visible" });
    assert.match(await page.textContent("#link-note"), /^No answer of request req_17 /);
  });

  it("lets the reader choose where a request has several answers", async () => {
    const both = ["17", "18"].map((id) => {
      const { lines: all } = lines.parallelCalls(id);
      all[0].request_id = "req_a";
      return { lines: all };
    });
    const { page } = await begin([...both, lines.failingParser("19")], { search: "?request=req_a" });
    await page.waitForFunction(() => document.querySelector("#link-note").textContent === "Request req_a has 2 answers: choose one from the list.");
    assert.equal(await page.$$eval("#answers li", (all) => all.length), 2);
    await open(page, "18");
    assert.equal(await search(page), "?request=req_a&answer=18");
    await page.reload();
    await title(page, "Answer 18");
  });

  it("opens the answer once the key is given", async () => {
    const { page } = await begin([lines.parallelCalls("17")], { key: "sesame", search: "?request=req_17" });
    await page.waitForSelector("#key-dialog[open]");
    await page.fill("#key-field", "sesame");
    await page.keyboard.press("Enter");
    await title(page, "Answer 17");
    assert.ok(!page.url().includes("sesame"));
  });
});
