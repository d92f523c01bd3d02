// The Anthropic SDK for TypeScript against Messages: scripted outputs, and the real model inside the binary.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { replay, start, stop } from "./server.mjs";
import { items, messagesTools, rules, steps } from "./transcripts.mjs";

const model = "qwen3-tiny";
const thinking = { type: "adaptive" };
const kinds = { reasoning: "thinking", message: "text", function_call: "tool_use" };
const blocks = items.map(([kind, ...rest]) => [kinds[kind], ...rest]);
const simple = (block) =>
  block.type === "tool_use" ? [block.type, block.name, block.input] : [block.type, block[block.type]];
const client = ({ address }) => new Anthropic({ baseURL: address, apiKey: "none", maxRetries: 0 });
const request = (step) => ({
  model, max_tokens: 500, thinking, tools: messagesTools, messages: [{ role: "user", content: `steps ${step}` }],
});

let scripted, embedded;
before(async () => {
  scripted = await start("--engine", replay(rules));
  embedded = await start();
});
after(() => Promise.all([stop(scripted), stop(embedded)]));

for (const step of Object.keys(steps)) {
  test(`messages.stream() accumulates every block, ${step} token(s) per step`, async () => {
    const stream = client(scripted).messages.stream(request(step));
    const seen = new Set();
    for (const event of ["text", "thinking", "signature", "inputJson", "contentBlock"]) stream.on(event, () => seen.add(event));
    const final = await stream.finalMessage();
    assert.deepEqual(final.content.map(simple), blocks);
    assert.equal(final.stop_reason, "tool_use");
    assert.equal(seen.size, 5);
    const whole = await client(scripted).messages.create(request(step));
    assert.deepEqual(whole.content.map(simple), blocks);
    assert.equal(whole.content[0].signature, final.content[0].signature);
    // The cached part of the prompt may differ between the two.
    const prompt = ({ usage }) => usage.input_tokens + usage.cache_read_input_tokens;
    assert.equal(prompt(final), prompt(whole));
  });
}

test("cut at every token the stream still ends well", async () => {
  const total = (await client(scripted).messages.create(request("one"))).usage.output_tokens;
  for (let limit = 1; limit < total; limit += 1) {
    const final = await client(scripted).messages.stream({ ...request("one"), max_tokens: limit }).finalMessage();
    assert.equal(final.stop_reason, "max_tokens", `cut after ${limit} tokens`);
  }
});

test("tokens can be counted, and errors are of the client's classes", async () => {
  const { max_tokens, ...counted } = request("one");
  const { input_tokens } = await client(scripted).messages.countTokens(counted);
  assert.ok(input_tokens > 0 && max_tokens > 0);
  await assert.rejects(client(scripted).messages.create({ ...request("one"), model: "other" }), (error) => {
    assert.ok(error instanceof Anthropic.NotFoundError);
    assert.equal(error.error.error.type, "not_found_error");
    assert.equal(error.requestID, error.error.request_id);
    return true;
  });
});

test("a tools round trip with thinking and the embedded model", async () => {
  const common = { model, max_tokens: 300, thinking, tools: messagesTools, temperature: 0 };
  const question = { role: "user", content: "What is the weather in Helsinki?" };
  const first = await client(embedded).messages.stream({ ...common, messages: [question] }).finalMessage();
  const call = first.content.find((block) => block.type === "tool_use");
  assert.deepEqual(call.input, { city: "Helsinki" });
  const content = '{"temperature": 21, "condition": "sunny"}';
  const result = { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content }] };
  const messages = [question, { role: "assistant", content: first.content }, result];
  const { data, response } = await client(embedded).messages.create({ ...common, messages }).withResponse();
  assert.equal(response.headers.get("x-sluice-warning"), null);
  assert.match(data.content.at(-1).text, /sunny/);
});

test("leaving a stream early leaves the server well", async () => {
  const messages = [{ role: "user", content: "Tell me a joke." }];
  const stream = client(embedded).messages.stream({ model, max_tokens: 200, messages });
  for await (const event of stream) if (event.type === "content_block_delta") break;
  const after = await client(embedded).messages.create({ model, max_tokens: 50, messages, temperature: 0 });
  assert.equal(after.content[0].type, "text");
});

for (const [store, expected] of [
  ["memory", [[true, 1], [true, 1]]],
  ["none", [[true, 1], [false, 1], [false, 3]]],
]) test(`the tool runner sends what the server doesn't keep (--store ${store})`, async () => {
  const called = '<tool_call>\n{"name": "weather", "arguments": {"city": "Turku"}}\n</tool_call>';
  const server = await start("--engine", replay([{ when: { last_role: "tool" }, text: "It is 21 degrees." }, { text: called }]), "--store", store);
  const sent = [];
  const recorded = (url, init) => {
    sent.push(JSON.parse(init.body));
    return fetch(url, init);
  };
  const anthropic = new Anthropic({ baseURL: server.address, apiKey: "none", maxRetries: 0, fetch: recorded });
  const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  const weather = { type: "custom", name: "weather", input_schema: schema, parse: (given) => given, run: ({ city }) => `21 degrees in ${city}` };
  const messages = [{ role: "user", content: "What is the weather in Turku?" }];
  const last = await anthropic.beta.messages.toolRunner({ model, max_tokens: 200, tools: [weather], messages });
  assert.equal(last.content.at(-1).text, "It is 21 degrees.");
  assert.deepEqual(sent.map((body) => [Boolean(body.thread), body.messages.length]), expected);
  await stop(server);
});
