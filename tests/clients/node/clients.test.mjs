// openai-node's stream helpers, against scripted outputs and against the real model inside the binary.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { replay, start, stop } from "./server.mjs";
import { chatTools, items, responsesTools, rules, simple, steps } from "./transcripts.mjs";

const model = "qwen3-tiny";
let scripted, embedded;
before(async () => {
  scripted = await start("--engine", replay(rules));
  embedded = await start();
});
after(() => Promise.all([stop(scripted), stop(embedded)]));

for (const step of Object.keys(steps)) {
  test(`responses.stream() accumulates every item, ${step} token(s) per step`, async () => {
    const request = { model, input: `steps ${step}`, tools: responsesTools };
    const stream = scripted.client.responses.stream(request);
    const seen = [];
    for await (const event of stream) seen.push(event.type);
    const final = await stream.finalResponse();
    assert.deepEqual(final.output.map(simple), items);
    assert.equal(seen.at(-1), "response.completed");
    const whole = await scripted.client.responses.create(request);
    assert.deepEqual(whole.output.map(simple), items);
  });

  test(`chat.completions.stream() accumulates the message, ${step} token(s) per step`, async () => {
    const messages = [{ role: "user", content: `steps ${step}` }];
    const stream = scripted.client.chat.completions.stream({ model, messages, tools: chatTools });
    const final = await stream.finalChatCompletion();
    const { message, finish_reason } = final.choices[0];
    assert.equal(finish_reason, "tool_calls");
    const calls = message.tool_calls.map(({ function: f }) => ["function_call", f.name, JSON.parse(f.arguments)]);
    assert.deepEqual(calls, items.filter(([type]) => type === "function_call"));
  });
}

test("cut at every token the stream still ends well", async () => {
  const request = { model, input: "steps one", tools: responsesTools };
  const total = (await scripted.client.responses.create(request)).usage.output_tokens;
  for (let limit = 1; limit < total; limit += 1) {
    const stream = await scripted.client.responses.create({ ...request, max_output_tokens: limit, stream: true });
    let last;
    for await (const event of stream) last = event;
    assert.equal(last.type, "response.incomplete", `cut after ${limit} tokens`);
  }
});

test("a tools round trip with the embedded model", async () => {
  const { client } = embedded;
  const question = { role: "user", content: "What is the weather in Helsinki?" };
  const stream = client.responses.stream({ model, input: [question], tools: responsesTools, temperature: 0 });
  const first = await stream.finalResponse();
  const call = first.output.find((item) => item.type === "function_call");
  assert.deepEqual(JSON.parse(call.arguments), { city: "Helsinki" });
  const output = '{"temperature": 21, "condition": "sunny"}';
  const input = [question, ...first.output, { type: "function_call_output", call_id: call.call_id, output }];
  const second = await client.responses.create({ model, input, tools: responsesTools, temperature: 0 });
  assert.match(second.output_text, /sunny/);
});

test("leaving a stream early leaves the server well", async () => {
  const stream = embedded.client.responses.stream({ model, input: "Tell me a joke." });
  for await (const event of stream) if (event.type.endsWith(".delta")) break;
  const after = await embedded.client.responses.create({ model, input: "Hello", temperature: 0 });
  assert.equal(after.status, "completed");
});
