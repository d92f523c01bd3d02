// Searches of the web through the Anthropic SDK for TypeScript: the tool server of the Python tests searches, the model's output is scripted.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Anthropic from "@anthropic-ai/sdk";
import { replay, start, stop } from "./server.mjs";

const python = fileURLToPath(new URL("../python/", import.meta.url));
const model = "qwen3-tiny";
const called = '<tool_call>\n{"name": "browser.search", "arguments": {"query": "oslo"}}\n</tool_call>';
const rules = [
  { when: { last_role: "user", last_user_contains: "weather" }, text: called },
  { when: { contains: "is wet in Oslo" }, text: "It is wet." },
  { when: { contains: "never wet" }, text: "It is never wet." },
  { text: "I know nothing." },
];

let server, anthropic;
before(async () => {
  const config = join(mkdtempSync(join(tmpdir(), "sluice-")), "mcp.json");
  const web = { command: `${python}.venv/bin/python`, args: [`${python}searcher.py`], require_approval: "never" };
  writeFileSync(config, JSON.stringify({ mcpServers: { web }, web_search: "web" }));
  server = await start("--engine", replay(rules), "--mcp", config);
  anthropic = new Anthropic({ baseURL: server.address, apiKey: "none", maxRetries: 0 });
});
after(() => stop(server));

const request = (messages, tool = {}) => ({
  model, max_tokens: 500, messages, tools: [{ type: "web_search_20250305", name: "web_search", ...tool }],
});
const question = { role: "user", content: "The weather?" };
const shown = ({ content }) => content.map((block) => {
  if (block.type === "web_search_tool_result") return block.content.map(({ url }) => new URL(url).host);
  return block.type === "server_tool_use" ? block.input : block.text;
});

test("a search is told whole and streamed, and read again in the next turn", async () => {
  const whole = await anthropic.messages.create(request([question]));
  const final = await anthropic.messages.stream(request([question])).finalMessage();
  for (const message of [whole, final]) {
    assert.deepEqual(message.content.map(({ type }) => type), ["server_tool_use", "web_search_tool_result", "text"]);
    const hosts = ["weather.example", "travel.example", "blog.travel.example"];
    assert.deepEqual(shown(message), [{ query: "oslo" }, hosts, "It is wet."]);
    assert.deepEqual(message.usage.server_tool_use, { web_search_requests: 1, web_fetch_requests: 0 });
    // The script sees the last message: the turn is sent without its text, as one that goes on.
    const messages = [question, { role: "assistant", content: message.content.slice(0, -1) }];
    const { data, response } = await anthropic.messages.create(request(messages)).withResponse();
    assert.equal(response.headers.get("x-sluice-warning"), null);
    assert.deepEqual(shown(data), ["It is wet."]);
  }
});

test("a search keeps to its domains", async () => {
  const kept = await anthropic.messages.create(request([question], { blocked_domains: ["weather.example"] }));
  assert.deepEqual(shown(kept).slice(1), [["travel.example", "blog.travel.example"], "It is never wet."]);
  const wrong = anthropic.messages.create(request([question], { allowed_domains: ["*.example"] }));
  await assert.rejects(wrong, Anthropic.BadRequestError);
});
