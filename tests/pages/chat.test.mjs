// The page for people, of a real server: what a reader does, and what the server gets of it.
import assert from "node:assert/strict";
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { after, afterEach, before, describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { drawn, drop, launch, missing, visit } from "./browser.mjs";
import { poorContrast } from "./contrast.mjs";
import { shot } from "./fixture.mjs";
import { BUILT, INSPECTED, folder, played, start } from "./server.mjs";

const KEPT = ["--store", "memory"];
const UNKEPT = ["--store", "none"];
const THOUGHT = "<think>\nHm, a question.\n</think>\n\n";
const call = (name, parameters) => `${THOUGHT}<tool_call>\n${JSON.stringify({ name, arguments: parameters })}\n</tool_call>`;

/** Asks in the page, and waits for the answer's end. */
async function ask(page, question) {
  await page.fill("#question", question);
  await page.keyboard.press("Enter");
  await ended(page);
}

/** Waits until no answer is under way, and that is drawn. */
async function ended(page) {
  await page.waitForFunction(() => document.querySelector("#stop").hidden);
  await drawn(page);
}

const texts = (page, selector) => page.$$eval(selector, (all) => all.filter((each) => each.checkVisibility()).map((each) => each.textContent.trim()));
const turns = (page) => page.$$eval(".turn", (all) => all.map((turn) => [".question .text", ".answer .message"].map((part) => turn.querySelector(part)?.textContent ?? null)));

/** Waits until the server has kept `expected` of the newest conversation: texts of messages, types of other items. Gives the items. */
async function kept(page, server, expected, headers = {}) {
  let items = [];
  const found = () => items.map(({ type, content }) => (type === "message" ? content[0].text : type));
  for (let tries = 0; tries < 500 && !isDeepStrictEqual(found(), expected); tries += 1) {
    await page.waitForTimeout(20);
    const [id] = await page.evaluate(() => JSON.parse(localStorage.getItem("sluice.conversations") ?? "[]"));
    if (id) items = (await (await fetch(`${server.address}/v1/conversations/${id}/items?order=asc`, { headers })).json()).data;
  }
  assert.deepEqual(found(), expected);
  return items;
}

describe("the page of a real server", { skip: missing() }, () => {
  let browser, server, page;

  before(async () => { browser = await launch(); });
  after(() => browser?.close());
  afterEach(async () => {
    const faults = page?.faults ?? [];
    await page?.context().close();
    server?.child.kill();
    page = server = undefined;
    assert.deepEqual(faults, []);
  });

  /** Starts a server with these switches, and opens the page in a new profile. */
  async function begin(switches, options = {}) {
    server = await start(...switches);
    const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
    page = await visit(context, server.address);
    return page;
  }

  /** Opens the page and waits for its models. */
  async function ready(switches, options) {
    await begin(switches, options);
    await page.waitForSelector("#model option", { state: "attached" });
  }

  it("answers by the model in the binary, with its reasoning folded", async () => {
    await ready(KEPT);
    assert.deepEqual(await texts(page, "#model, #context, #version, #list-note"), ["qwen3-tiny", "4,096 tokens of context", "The server keeps them.", await page.textContent("#version")]);
    assert.match(await page.textContent("#version"), /^Sluice \d/);
    await page.click("#open-settings");
    await page.fill("#temperature", "0");
    await page.keyboard.press("Enter");
    await ask(page, "Who are you?");
    assert.notEqual(await page.textContent(".answer .message"), "");
    assert.equal(await page.$eval(".reasoning", (folded) => folded.open), false);
    await page.click(".reasoning summary");
    assert.notEqual(await page.textContent(".reasoning .text"), "");
    assert.match(await page.textContent(".answer footer span"), /^\d+ tokens in \(\d+ cached\) · \d+ out \(\d+ of reasoning\) · first after \d+\.\d\d s( · then \d+\.\d tok\/s)? · \d+\.\d\d s in all$/);
    assert.match(await page.textContent(".answer footer code"), /^req_/);
    assert.equal(await page.isVisible(".answer footer a"), false);
    await shot(page, "chat");
  });

  it("says how fast an answer came, and links it with the inspector's view of it", async () => {
    await ready([...INSPECTED, ...UNKEPT, ...played([{ text: "Hello there!", pace_ms: 20 }])]);
    await ask(page, "Hi");
    assert.match(await page.textContent(".answer footer span"), / · then \d+\.\d tok\/s · /);
    const id = await page.textContent(".answer footer code");
    assert.equal(await page.getAttribute(".answer footer a", "href"), `${server.admin}/inspector?request=${id}`);
    const { data } = await (await fetch(`${server.admin}/admin/answers`)).json();
    assert.equal(data[0].request_id, id);
  });

  it("shows calls of a tool server with their results", async () => {
    const rules = [{ when: { last_role: "user" }, text: call("echo", { text: "salt" }) }, { text: "It said salt." }];
    await ready([...UNKEPT, ...played(rules), "--mcp", toolServer("never")]);
    assert.deepEqual(await texts(page, "#tools label"), ["tester"]);
    await ask(page, "Say salt");
    assert.deepEqual(await texts(page, ".call .name"), ["tester: echo"]);
    await page.click(".call summary");
    const [input, output] = await texts(page, ".call pre");
    assert.deepEqual(JSON.parse(input), { text: "salt" });
    assert.match(output, /salt/);
    assert.deepEqual(await texts(page, ".message"), ["It said salt."]);
    await page.uncheck("#tools input");
    await ask(page, "Say salt again");
    assert.equal(await page.locator(".call").count(), 1);
  });

  it("asks its reader before a call where the server does", async () => {
    const rules = [{ when: { last_role: "user" }, text: call("echo", { text: "salt" }) }, { text: "Done." }];
    await ready([...KEPT, ...played(rules), "--mcp", toolServer("always")]);
    await ask(page, "Say salt");
    assert.deepEqual(await texts(page, ".leave strong"), ["tester: echo"]);
    await page.click("text=Allow >> nth=0");
    await page.waitForSelector(".message");
    await ended(page);
    assert.deepEqual([await texts(page, ".leave .quiet-text"), await texts(page, ".message")], [["You allowed it."], ["Done."]]);
    await page.click(".call summary");
    assert.match((await texts(page, ".call pre"))[1], /salt/);
    await ask(page, "Say salt again");
    await page.click("text=Don't allow >> nth=-1");
    await page.waitForFunction(() => document.querySelectorAll(".message").length === 2);
    await ended(page);
    assert.deepEqual(await texts(page, ".leave .quiet-text"), ["You allowed it.", "You didn't allow it."]);
    assert.equal(await page.locator(".call").count(), 1);
    const leave = ["reasoning", "mcp_approval_request", "mcp_approval_response"];
    await kept(page, server, ["Say salt", ...leave, "mcp_call", "Done.", "Say salt again", ...leave, "Done."]);
  });

  it("leaves out a call that its reader doesn't reply to", async () => {
    await ready([...UNKEPT, ...played([{ when: { contains: "on" }, text: "Done." }, { text: call("echo", { text: "salt" }) }]), "--mcp", toolServer("always")]);
    await ask(page, "Say salt");
    await ask(page, "go on");
    assert.deepEqual([await texts(page, ".leave button"), await texts(page, ".answer > .note"), await texts(page, ".message")], [[], [], ["Done."]]);
  });

  it("stops, and keeps what came", async () => {
    const rules = [{ when: { contains: "go on" }, text: "Then this." }, { when: { contains: "ponder" }, text: "<think>\nHm", finish: "hang" }, { text: `${THOUGHT}One two three`, finish: "hang" }];
    await ready([...KEPT, ...played(rules)]);
    await page.fill("#question", "ponder");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".reasoning .text")?.textContent === "Hm");
    assert.deepEqual(await page.$eval(".reasoning", (folded) => [folded.open, folded.querySelector(".name").textContent]), [true, "Thinking"]);
    await page.click("#stop");
    await ended(page);
    await page.click("#new");
    await page.fill("#question", "Count");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".message")?.textContent === "One two three");
    await page.keyboard.press("Escape");
    await ended(page);
    assert.deepEqual(await texts(page, ".why"), ["Stopped; what had come stays."]);
    await ask(page, "go on");
    assert.deepEqual(await turns(page), [["Count", "One two three"], ["go on", "Then this."]]);
    const items = await kept(page, server, ["Count", "reasoning", "One two three", "go on", "Then this."]);
    assert.deepEqual(items.slice(1, 3).map(({ status }) => status), ["completed", "incomplete"]);
  });

  it("answers again, and takes a question back", async () => {
    await ready([...KEPT, ...played([{ when: { last_user_contains: "tea" }, text: "Tea." }, { when: { tool_declared: "echo" }, text: `${THOUGHT}Coffee.` }, { text: "Yes." }]), "--mcp", toolServer("never")]);
    await ask(page, "coffee?");
    await ask(page, "and now?");
    await page.uncheck("#tools input");
    await page.click("text=Regenerate >> visible=true");
    await ended(page);
    assert.deepEqual(await turns(page), [["coffee?", "Coffee."], ["and now?", "Yes."]]);
    assert.deepEqual([await page.locator(".answer").count(), await page.locator(".reasoning").count()], [2, 1]);
    await kept(page, server, ["coffee?", "reasoning", "Coffee.", "and now?", "Yes."]);
    await page.click(".question button >> nth=0");
    await page.fill(".editing textarea", "tea?");
    await page.keyboard.press("Enter");
    await ended(page);
    assert.deepEqual(await turns(page), [["tea?", "Tea."]]);
    await kept(page, server, ["tea?", "Tea."]);
    assert.deepEqual(await texts(page, "#conversations .open"), ["tea?"]);
  });

  it("sends files of text that are dropped, and refuses others", async () => {
    await ready([...KEPT, ...played([{ when: { last_user_contains: "pepper" }, text: "I read it." }, { text: "No file." }])]);
    await drop(page, { name: "list.txt", text: "salt\npepper\n" }, { name: "zeros.bin", bytes: [0, 0] }, { name: "picture.png", bytes: [137, 80, 78, 71, 255] });
    await page.waitForFunction(() => document.querySelector("#notice").textContent === "picture.png isn't a file of text (UTF-8).");
    assert.deepEqual(await texts(page, "#files summary"), ["list.txt"]);
    await drop(page, { name: "large.txt", text: "x".repeat((256 << 10) - 5) });
    await page.waitForFunction(() => document.querySelector("#notice").textContent.startsWith("large.txt is too large: the files beside a question may have 256 KiB"));
    await ask(page, "What is in it?");
    assert.deepEqual(await turns(page), [["What is in it?", "I read it."]]);
    await kept(page, server, ["What is in it?", "I read it."]);
    await page.reload();
    await page.click("#conversations .open");
    await page.waitForSelector(".message");
    assert.deepEqual(await texts(page, ".question .files summary"), ["list.txt"]);
    assert.deepEqual(await turns(page), [["What is in it?", "I read it."]]);
  });

  it("finds its conversations again, goes on, and deletes them", async () => {
    await ready([...KEPT, ...played([{ when: { last_user_contains: "more" }, text: "More." }, { text: `${THOUGHT}First.` }])]);
    await ask(page, "one");
    await page.click("#new");
    const other = `other ${"and longer ".repeat(9)}`;
    await ask(page, other);
    assert.ok(await page.$eval("#conversations .remove", (remove) => remove.getBoundingClientRect().right < 272));
    await kept(page, server, [other, "reasoning", "First."]);
    await page.reload();
    await page.waitForSelector("#conversations .open");
    assert.deepEqual((await texts(page, "#conversations .open")).map((title) => title.slice(0, 5)), ["other", "one"]);
    await page.click("text=one");
    await page.waitForSelector(".message");
    assert.deepEqual(await turns(page), [["one", "First."]]);
    assert.equal(await page.locator(".reasoning").count(), 1);
    await ask(page, "more");
    assert.deepEqual(await turns(page), [["one", "First."], ["more", "More."]]);
    const id = await page.evaluate(() => JSON.parse(localStorage.getItem("sluice.conversations"))[1]);
    await page.click("[aria-label='Delete one']");
    await page.click("#removal >> text=Keep it");
    await page.click("[aria-label='Delete one']");
    await page.click("#removal >> text=Delete >> nth=-1");
    await page.waitForFunction(() => document.querySelectorAll("#conversations li").length === 1);
    assert.equal((await fetch(`${server.address}/v1/conversations/${id}`)).status, 404);
    assert.deepEqual((await texts(page, "#conversations .open")).map((title) => title.slice(0, 5)), ["other"]);
  });

  it("says when a conversation is no longer kept, and goes on with it", async () => {
    await ready([...KEPT, ...played([{ text: "Hello!" }])]);
    await ask(page, "one");
    await kept(page, server, ["one", "Hello!"]);
    const [id] = await page.evaluate(() => JSON.parse(localStorage.getItem("sluice.conversations")));
    await fetch(`${server.address}/v1/conversations/${id}`, { method: "DELETE" });
    await ask(page, "two");
    await page.waitForFunction(() => document.querySelector("#notice").textContent.startsWith("The conversation is no longer kept by the server: "));
    assert.deepEqual(await turns(page), [["one", "Hello!"], ["two", "Hello!"]]);
    await page.reload();
    await page.waitForSelector("#model option", { state: "attached" });
    assert.equal(await page.locator("#conversations li").count(), 0);
  });

  it("keeps conversations in itself where the server has no store", async () => {
    await ready([...UNKEPT, ...played([{ text: "Hello!" }])]);
    assert.equal(await page.textContent("#list-note"), "This server keeps none: they are gone when the page is closed.");
    await ask(page, "one");
    await page.click("#new");
    await ask(page, "other");
    await page.click("text=one");
    await page.waitForSelector(".message");
    assert.deepEqual(await turns(page), [["one", "Hello!"]]);
    assert.equal(await page.evaluate(() => localStorage.length), 0);
    await page.reload();
    await page.waitForSelector("#model option", { state: "attached" });
    assert.equal(await page.locator("#conversations li").count(), 0);
  });

  it("asks for the key, and keeps it in memory alone", async () => {
    await begin([...KEPT, ...played([{ text: "Hello!" }]), "--api-key", "sk-0123456789abcdef"]);
    await page.waitForSelector("#key-dialog[open]");
    await page.fill("#key-field", "wrong");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#key-again:not([hidden])");
    await page.fill("#key-field", "sk-0123456789abcdef");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#model option", { state: "attached" });
    await ask(page, "Hi");
    await kept(page, server, ["Hi", "Hello!"], { authorization: "Bearer sk-0123456789abcdef" });
    const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, document.documentElement.outerHTML]));
    assert.ok(!stored.includes("0123456789abcdef"));
    await page.reload();
    await page.waitForSelector("#key-dialog[open]");
    await page.click("#key-dialog >> text=Cancel");
    await page.waitForSelector("#again:not([hidden])");
  });

  it("says what the server refuses, and what is incomplete", async () => {
    await ready([...UNKEPT, ...played([{ when: { contains: "short" }, text: "One two", finish: "length" }, { when: { contains: "break" }, text: "Half", finish: "error" }, { text: "Hello!" }])]);
    await ask(page, "short");
    assert.deepEqual(await texts(page, ".why"), ["The answer reached its limit of tokens."]);
    await page.click("#new");
    await ask(page, "break");
    assert.notEqual(await page.textContent(".why.wrong"), "");
    assert.deepEqual(await turns(page), [["break", "Half"]]);
    await page.click("#new");
    await page.click("#open-settings");
    await page.fill("#most-tokens", "100000");
    await page.click("#settings >> text=Done");
    await ask(page, "too long ".repeat(4000));
    assert.match(await page.textContent(".why.wrong"), /tokens/);
  });

  it("writes what a model wrote as text", async () => {
    const hostile = "<img src=x onerror=\"document.title='run'\"></script><b>no</b> ![p](http://127.0.0.1:9/p.png) \u202eright\u202c \u0007 [go](javascript:alert(1)) **bold** `<i>`";
    await ready([...UNKEPT, ...played([{ text: `<think>\n${hostile}\n</think>\n\n${hostile}` }])]);
    const asked = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await ask(page, hostile);
    const expected = "<img src=x onerror=\"document.title='run'\"></script><b>no</b> !p (http://127.0.0.1:9/p.png) ⟨202e⟩right⟨202c⟩ ⟨7⟩ [go](javascript:alert(1)) bold <i>";
    assert.equal(await page.textContent(".message"), expected);
    assert.equal(await page.title(), "Sluice");
    assert.equal(await page.$$eval("main img, main script, main b, main i", (all) => all.length), 0);
    assert.deepEqual(await page.$$eval("main a", (all) => all.filter((each) => each.checkVisibility()).map((each) => [each.href, each.rel])), [["http://127.0.0.1:9/p.png", "noopener noreferrer nofollow"]]);
    assert.deepEqual([...new Set(asked)], ["/v1/responses"]);
  });

  it("draws Markdown", async () => {
    const text = "# Tea\n\nBoil *fresh* water, **always**:\n\n1. Fill\n   - the pot\n   - the cup\n2. Wait `3 min`\n\n```sh\nmake tea  # <b>\n```\n\n| leaf | time |\n|---|---|\n| green | 2 |\n\n> Slowly.\n\nSee https://tea.example/a.";
    await ready([...UNKEPT, ...played([{ text, tokens_per_step: 3 }])]);
    await ask(page, "Tea?");
    assert.deepEqual(await texts(page, ".message h3, .message em, .message strong, .message > div > ol > li > ul > li, .message pre, .message td, .message blockquote, .message a"),
      ["Tea", "fresh", "always", "the pot", "the cup", "make tea  # <b>", "green", "2", "Slowly.", "https://tea.example/a"]);
    await shot(page, "chat-markdown");
  });

  it("is used by keyboard alone", async () => {
    await ready([...UNKEPT, ...played([{ text: "Hello!" }])]);
    await page.keyboard.type("one");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("two");
    await page.keyboard.press("Enter");
    await ended(page);
    assert.deepEqual(await turns(page), [["one\ntwo", "Hello!"]]);
    assert.equal(await page.textContent("#told"), "The answer: Hello!");
    const focused = () => page.evaluate(() => document.activeElement.textContent || document.activeElement.id);
    for (let tries = 0; await focused() !== "Regenerate"; tries += 1) {
      assert.ok(tries < 20, "the button can be reached");
      await page.keyboard.press("Shift+Tab");
    }
    assert.equal(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "solid");
    await page.keyboard.press("Enter");
    await ended(page);
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("/");
    assert.equal(await focused(), "question");
  });

  it("fits a dark phone", async () => {
    const text = `${THOUGHT}A table:\n\n| a | b |\n|---|---|\n| ${"w".repeat(80)} | 2 |\n\n\`\`\`\n${"x".repeat(120)}\n\`\`\`\n\n${"y".repeat(90)}`;
    await ready([...KEPT, ...played([{ text }])], { viewport: { width: 390, height: 844 }, colorScheme: "dark", deviceScaleFactor: 2 });
    await ask(page, "Show me a table");
    assert.deepEqual(await page.$$eval("body *", (all) => all.filter((each) => each.getBoundingClientRect().right > 390 && !each.closest("pre, .wide, .unseen")).map((each) => each.outerHTML.slice(0, 80))), []);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(19, 22, 27)");
    assert.equal(await page.$eval("#list", (list) => list.open), false);
    assert.ok(await page.isVisible("#question"));
    await shot(page, "chat-phone");
  });

  for (const colorScheme of ["light", "dark"]) {
    it(`has enough contrast where it is ${colorScheme}`, async () => {
      const rules = [{ when: { last_role: "user" }, text: call("echo", { text: "salt" }) }, { text: "It said `salt`.\n\n> https://a.example/", finish: "length" }];
      await ready([...KEPT, ...played(rules), "--mcp", toolServer("always")], { colorScheme });
      await ask(page, "Say salt");
      await page.click("text=Allow >> nth=0");
      await page.waitForSelector(".message");
      await ended(page);
      await page.click(".reasoning summary");
      await page.click(".call summary");
      assert.deepEqual(await page.evaluate(poorContrast), []);
      await shot(page, `chat-${colorScheme}`);
    });
  }

  it("can be turned off", async () => {
    await begin([...UNKEPT, "--no-page"]);
    assert.equal(JSON.parse(await page.textContent("body")).name, "sluice");
    assert.equal((await fetch(`${server.address}/page/main.js`)).status, 404);
  });
});

/** A file of tool servers: the tests' own, under the label `tester`. */
function toolServer(approval) {
  const file = join(folder(), "mcp.json");
  const tester = { command: join(BUILT, "hostile-mcp"), args: ["good"], allowed_tools: ["echo", "fail"], require_approval: approval };
  writeFileSync(file, JSON.stringify({ mcpServers: { tester } }));
  return file;
}
