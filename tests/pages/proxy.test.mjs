// The inspector behind a TLS proxy, which browsers call by another name than the server's.
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { inspector, items, launch, missing, open, press } from "./browser.mjs";
import { NAME, proxy } from "./proxy.mjs";
import { respond, serve } from "./server.mjs";

const RULES = [{ text: "Hello!" }];

describe("the inspector behind a TLS proxy", { skip: missing() }, () => {
  let browser, server, front, page;

  before(async () => { browser = await launch(`--host-resolver-rules=MAP ${NAME} 127.0.0.1`); });
  after(() => browser?.close());
  afterEach(async () => {
    await page?.close();
    front?.stop();
    server?.child.kill();
    page = front = server = undefined;
  });

  async function start(forwardsHost, ...args) {
    server = await serve(RULES, ...args);
    await respond(server, { input: "Hi" }, { authorization: "Bearer sk-0123456789abcdef" });
    front = await proxy(server.admin, { forwardsHost });
    page = await inspector(browser, front.address, { ignoreHTTPSErrors: true });
  }

  /** What came of a text that the page has parsed. */
  async function parsed() {
    await press(page, "p");
    await page.fill("#parse-raw", "Hi.");
    await page.click("#parse-dialog >> text=Parse >> nth=-1");
    await page.waitForFunction(() => document.querySelector("#parse-wrong").textContent !== "" || document.querySelector("#title").textContent === "parsed text");
    return page.textContent("#parse-wrong");
  }

  for (const forwardsHost of [true, false]) {
    it(`works where its name is allowed, ${forwardsHost ? "with" : "without"} its Host`, async () => {
      await start(forwardsHost, "--allow-host", NAME);
      await open(page, "1");
      assert.deepEqual((await items(page)).map(([, , text]) => text), ["Hello!"]);
      assert.equal(await parsed(), "");
      assert.deepEqual(page.faults, []);
    });
  }

  for (const key of [[], ["--api-key", "sk-0123456789abcdef"]]) {
    it(`says what to do where its name isn't allowed (${key.length ? "a key" : "no key"})`, async () => {
      await start(false, ...key);
      if (key.length) {
        await page.waitForSelector("#key-dialog[open]");
        await page.fill("#key-field", key[1]);
        await page.keyboard.press("Enter");
      }
      await page.waitForSelector("#answers li");
      assert.match(await parsed(), new RegExp(`start the server with --allow-host ${NAME}\\.$`));
      assert.equal(await page.$("#unscripted"), null);
    });
  }

  it("refuses the page where its Host isn't allowed, and says what to do", async () => {
    await start(true);
    const { error } = JSON.parse(await page.textContent("body"));
    assert.equal(error.code, "host_not_allowed");
    assert.match(error.message, /--allow-host/);
  });
});
