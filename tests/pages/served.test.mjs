// What the inspector shows of a real server's answers: the same as its clients got.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { drop, inspector, items, launch, missing, open, press } from "./browser.mjs";
import { GUESTS, ROOT, folder, respond, serve } from "./server.mjs";

const call = (name, city) => `<tool_call>\n${JSON.stringify({ name, arguments: { city } })}\n</tool_call>`;
const SCRIPT = `<think>\nTwo things are asked 🏔.\n</think>\n\nFirst the weather.\n${call("get_weather", "Zürich")}\n${call("get_time", "Zürich 🏔")}`;
const WORDS = Array.from({ length: 5000 }, (_, index) => `w${index}`).join(" ");
const RULES = [
  { when: { contains: "both" }, text: SCRIPT, tokens_per_step: 1 },
  { when: { contains: "three" }, text: SCRIPT, tokens_per_step: 3 },
  { when: { contains: "long" }, text: WORDS, tokens_per_step: 1 },
  { text: "Hello!" },
];
const tools = ["get_weather", "get_time"].map((name) => ({
  type: "function", name, strict: false, parameters: { type: "object", properties: { city: { type: "string" } } },
}));

/** The texts of a response's items, as the page has them. */
const texts = (events) => events.find(({ type }) => /^response\.(completed|incomplete)$/.test(type)).response.output
  .map((item) => item.arguments ?? item.content.map(({ text }) => text).join(""));

describe("the inspector of a real server", { skip: missing() }, () => {
  let browser, server, page;

  before(async () => { browser = await launch(); });
  after(() => browser?.close());
  afterEach(async () => {
    const faults = page?.faults ?? [];
    await page?.close();
    server?.child.kill();
    page = server = undefined;
    assert.deepEqual(faults, []);
  });

  for (const word of ["both", "three"]) {
    it(`shows what the client got (${word})`, async () => {
      server = await serve(RULES);
      const events = await respond(server, { input: word, tools });
      page = await inspector(browser, server.admin);
      await open(page, "1");
      const seen = await items(page);
      assert.deepEqual(seen.map(([name]) => name.split(" ·")[0]), ["Reasoning", "Text", "Call get_weather", "Call get_time"]);
      assert.deepEqual(seen.map(([, , text]) => text), texts(events));
      assert.equal(await page.textContent("#verdict"), "consistent");
      assert.equal(await page.textContent("#state"), "completed");
      const output = events.at(-1).response.usage.output_tokens;
      assert.equal(await page.textContent("#answers .tokens"), `${output} tokens`);
      assert.ok((await page.textContent("#counts")).endsWith(`, ${output} out`));
      const last = await page.$$eval(".event", (all) => all.map(({ textContent }) => Number(textContent.split("–").at(-1))));
      assert.equal(Math.max(...last), events.at(-1).sequence_number);
    });
  }

  it("lights up the op that a held token led to", async () => {
    server = await serve(RULES);
    await respond(server, { input: "both", tools });
    page = await inspector(browser, server.admin);
    await open(page, "1");
    await press(page, "/");
    await page.keyboard.type("arguments");
    await page.keyboard.press("Enter");
    await press(page, "Escape");
    const here = Number(await page.$eval(".beat.cursor", (beat) => beat.dataset.beat));
    const lit = await page.$$eval(".op.lit", (all) => all.map((op) => `${op.closest(".beat").dataset.beat} ${op.textContent}`));
    assert.ok(lit.some((op) => Number(op.split(" ")[0]) > here && /drop/.test(op)), `${here}: ${lit}`);
  });

  it("shows 10,000 tokens as the client got them", async () => {
    server = await serve(RULES);
    const events = await respond(server, { input: "long" });
    page = await inspector(browser, server.admin);
    await open(page, "1");
    const tokens = Number((await page.textContent("#answers .tokens")).replace(/\D/g, ""));
    assert.ok(tokens >= 10_000, `${tokens} tokens`);
    const more = page.locator("text=Show earlier text");
    if (await more.isVisible()) await more.click();
    const [[, , text]] = await items(page);
    assert.ok(texts(events)[0].endsWith(text) && text.length > 10_000);
    assert.ok(await page.$$eval(".beat", (all) => all.length) < 100);
  });

  it("opens the answer of a request id, with who wrote its prompt", async () => {
    server = await serve(RULES);
    await respond(server, { input: "something else" });
    const body = JSON.stringify({ model: "qwen3-tiny", instructions: "Be brief.", input: "both <|im_end|>", tools });
    const response = await fetch(`${server.address}/v1/responses`, { method: "POST", headers: { "content-type": "application/json" }, body });
    const { usage } = await response.json();
    assert.equal(server.inspect, `${server.admin}/inspector`);
    page = await inspector(browser, server.admin, { search: `?request=${response.headers.get("x-request-id")}` });
    await page.waitForFunction(() => document.querySelector("#state").textContent === "completed");
    assert.equal(await page.textContent("#title"), "Answer 2");
    await press(page, "t");
    const parts = await page.$$eval(".part", (all) => all.map((part) => [".by", ".text"].map((each) => part.querySelector(each).textContent)));
    const of = (author) => parts.filter(([by]) => by === author).map(([, text]) => text.trim());
    assert.deepEqual([of("system"), of("user")], [["Be brief."], ["both <|im_end|>"]]);
    assert.ok(of("tool list").join("").includes("get_weather"));
    assert.equal(await page.$$eval(".part.by-user .special", (all) => all.length), 0);
    const counts = await page.$$eval(".author", (all) => all.map(({ textContent }) => Number(textContent.replace(/\D/g, ""))));
    assert.equal(counts.reduce((sum, each) => sum + each), usage.input_tokens);
  });

  it("parses a text by a parser of the list", async () => {
    server = await serve(RULES);
    page = await inspector(browser, server.admin);
    await press(page, "p");
    await page.waitForSelector("#parse-parser option[value=kimi-k2]", { state: "attached" });
    const offered = await page.$$eval("#parse-parser option", (all) => all.map(({ value }) => value));
    const shipped = readdirSync(join(ROOT, "plugins")).filter((name) => /\.wasm$/.test(name)).map((name) => name.slice(0, -5));
    assert.deepEqual(shipped.filter((name) => !offered.includes(name)), ["response-template"]);
    await page.selectOption("#parse-parser", "kimi-k2");
    await page.fill("#parse-raw", "Hi.<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>");
    await page.fill("#parse-tools", "[\"add\"]");
    await page.click("#parse-dialog >> text=Parse >> nth=-1");
    await page.waitForFunction(() => document.querySelector("#state").textContent === "completed");
    assert.deepEqual((await items(page)).map(([name]) => name), ["Text", "Call add"]);
    // Each parser that is offered can be loaded.
    for (const parser of offered) {
      const response = await fetch(`${server.admin}/admin/parse`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ raw: "x", ...(parser && { parser }) }) });
      assert.equal(response.status, 200, `${parser}: ${await response.text()}`);
    }
  });

  it("parses a text by a parser that is dropped", async () => {
    server = await serve(RULES);
    page = await inspector(browser, server.admin);
    const bytes = [...readFileSync(join(ROOT, "plugins/kimi-k2.wasm"))];
    const raw = "Hi.<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>{\"a\": 1}<|tool_call_end|><|tool_calls_section_end|>";
    await drop(page, { name: "kimi.wasm", bytes }, { name: "raw.txt", text: raw });
    await page.waitForFunction(() => document.querySelector("#parse-raw").value !== "");
    await page.fill("#parse-tools", "[\"add\"]");
    await page.click("#parse-dialog >> text=Parse >> nth=-1");
    await page.waitForFunction(() => document.querySelector("#state").textContent === "completed");
    assert.deepEqual((await items(page)).map(([name, , text]) => [name, text]), [["Text", "Hi."], ["Call add", "{\"a\": 1}"]]);
    assert.equal(await page.textContent("#verdict"), "consistent");
    assert.match(await page.textContent("#model"), /kimi-k2/);
    const { models } = await (await fetch(`${server.admin}/admin/parsers`)).json();
    assert.equal(models[0].serving.name, "qwen3");
  });

  it("shows where a dropped parser fails", async () => {
    server = await serve(RULES);
    page = await inspector(browser, server.admin);
    const guests = folder();
    execFileSync(GUESTS, [guests]);
    const bytes = [...readFileSync(join(guests, "fault_in_text.wasm"))];
    await drop(page, { name: "fault.wasm", bytes }, { name: "raw.txt", text: "Hello there." });
    await page.waitForFunction(() => document.querySelector("#parse-raw").value !== "");
    await page.click("#parse-dialog >> text=Parse >> nth=-1");
    await page.waitForFunction(() => document.querySelector("#verdict").className.includes("bad"));
    await press(page, "Home");
    await press(page, "f");
    assert.match(await page.textContent(".beat.cursor .op.fault"), /^fault: /);
  });

  it("refuses what is no parser and no record", async () => {
    server = await serve(RULES);
    page = await inspector(browser, server.admin);
    await drop(page, { name: "no.wasm", bytes: [0, 97, 115, 109] }, { name: "no.slrec", bytes: [1, 2, 3] });
    await page.waitForFunction(() => document.querySelector("#parse-file-names").textContent === "no.wasm and no.slrec");
    const wrong = async (pattern) => {
      await page.click("#parse-dialog >> text=Parse >> nth=-1");
      await page.waitForFunction((pattern) => new RegExp(pattern).test(document.querySelector("#parse-wrong").textContent), pattern);
    };
    await wrong("^record_data: ");
    await page.click("#parse-forget");
    await drop(page, { name: "no.wasm", bytes: [0, 97, 115, 109] }, { name: "raw.txt", text: "x" });
    await wrong("^parser component: ");
  });

  it("says what to do with a record that is too large", async () => {
    server = await serve(RULES, "--max-body", "1");
    page = await inspector(browser, server.admin);
    await drop(page, { name: "large.slrec", bytes: Array(1 << 20).fill(7) });
    await page.waitForSelector("#parse-dialog[open]");
    await page.click("#parse-dialog >> text=Parse >> nth=-1");
    await page.waitForFunction(() => /larger than 1048576 bytes.*raise --max-body/.test(document.querySelector("#parse-wrong").textContent));
  });

  it("shows a record that is dropped", async () => {
    const records = folder();
    server = await serve(RULES, "--record", records);
    const events = await respond(server, { input: "both", tools });
    page = await inspector(browser, server.admin);
    await page.waitForSelector("#answers .state.good");
    for (let name; !name; [name] = readdirSync(records).filter((each) => each.endsWith(".slrec"))) await page.waitForTimeout(20);
    server.child.kill("SIGTERM");
    await new Promise((resolve) => server.child.once("exit", resolve));
    const bytes = [...readFileSync(join(records, readdirSync(records).find((each) => each.endsWith(".slrec"))))];
    server = await serve(RULES);
    await page.goto(`${server.admin}/inspector`);
    await drop(page, { name: "answer.slrec", bytes });
    await page.waitForFunction(() => document.querySelector("#state").textContent === "completed");
    assert.deepEqual((await items(page)).map(([, , text]) => text), texts(events));
    await press(page, "t");
    assert.equal(await page.textContent(".part.by-user .text"), "both");
  });

  it("needs the server's key for data alone", async () => {
    server = await serve(RULES, "--api-key", "sk-0123456789abcdef");
    await respond(server, { input: "both", tools }, { authorization: "Bearer sk-0123456789abcdef" });
    page = await inspector(browser, server.admin);
    await page.waitForSelector("#key-dialog[open]");
    assert.equal(await page.$$eval("#answers li", (all) => all.length), 0);
    await page.fill("#key-field", "sk-0123456789abcdef");
    await page.keyboard.press("Enter");
    await open(page, "1");
    assert.equal((await items(page)).length, 4);
  });

  it("can't be used by a page of another origin", async () => {
    server = await serve(RULES, "--cors-origin", "*");
    const other = createServer((_, response) => response.writeHead(200, { "content-type": "text/html" })
      .end(`<iframe src="${server.admin}/inspector"></iframe>`));
    await new Promise((resolve) => other.listen(0, "127.0.0.1", resolve));
    const foreign = await browser.newPage();
    await foreign.goto(`http://127.0.0.1:${other.address().port}/`);
    const fetched = await foreign.evaluate(async (admin) => {
      const tried = ["/admin/answers", "/inspector", "/inspector/main.js"].map((path) => fetch(admin + path).then(() => "read", () => "blocked"));
      const posted = fetch(`${admin}/admin/parse`, { method: "POST", body: "{}" }).then(() => "read", () => "blocked");
      return Promise.all([...tried, posted]);
    }, server.admin);
    assert.deepEqual(fetched, ["blocked", "blocked", "blocked", "blocked"]);
    assert.equal(foreign.frames().filter((frame) => frame.url().includes("/inspector")).length, 0);
    await foreign.close();
    other.close();
    const head = (await fetch(`${server.admin}/inspector`)).headers;
    assert.match(head.get("content-security-policy"), /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'/);
    assert.equal(head.get("x-content-type-options"), "nosniff");
    assert.equal((await fetch(`${server.admin}/inspector/none.js`)).status, 404);
    assert.equal((await fetch(`${server.address}/inspector`)).status, 404);
  });
});
