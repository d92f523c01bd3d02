// openai-node, with its stream helpers, against scripted outputs and against the real model inside the binary.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { replay, start, stop } from "./server.mjs";
import { chatTools, items, patch, patchTool, responsesTools, rules, simple, steps } from "./transcripts.mjs";

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

test("chat.completions.stream() keeps several choices and their log-probabilities apart", async () => {
  const messages = [{ role: "user", content: "steps two" }];
  const request = { model, messages, tools: chatTools, n: 3, logprobs: true, top_logprobs: 1 };
  const whole = await scripted.client.chat.completions.create(request);
  const final = await scripted.client.chat.completions.stream(request).finalChatCompletion();
  for (const completion of [whole, final]) {
    assert.deepEqual(completion.choices.map((choice) => choice.index).sort(), [0, 1, 2]);
    for (const { message, logprobs } of completion.choices) {
      const spelt = logprobs.content.map((token) => token.token).join("");
      assert.equal(spelt.replaceAll("\n", ""), message.content.replaceAll("\n", ""));
      assert.ok(logprobs.content.every((token) => token.top_logprobs.length === 1));
    }
  }
});

for (const step of Object.keys(steps)) {
  test(`a custom tool is called with text, ${step} token(s) per step`, async () => {
    const request = { model, messages: [{ role: "user", content: `patch ${step}` }], tools: [patchTool] };
    const whole = await scripted.client.chat.completions.create(request);
    const [{ type, custom }] = whole.choices[0].message.tool_calls;
    assert.deepEqual({ type, ...custom }, { type: "custom", name: "apply_patch", input: patch });
    let input = "";
    for await (const chunk of await scripted.client.chat.completions.create({ ...request, stream: true })) {
      for (const call of chunk.choices[0].delta.tool_calls ?? []) input += call.custom.input;
    }
    assert.equal(input, patch);
  });
}

test("completions of text and of tokens, streamed and whole", async () => {
  const prompt = "<|im_start|>user\nWho are you?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";
  const request = { model, prompt, temperature: 0, max_tokens: 20, logprobs: 1 };
  const whole = await embedded.client.completions.create(request);
  const [{ text, logprobs }] = whole.choices;
  assert.equal(logprobs.tokens.join(""), text);
  let streamed = "";
  for await (const chunk of await embedded.client.completions.create({ ...request, stream: true })) {
    streamed += chunk.choices[0].text;
  }
  assert.equal(streamed, text);
});

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

for (const step of Object.keys(steps)) {
  test(`a custom tool's text comes whole and its result goes back, ${step} token(s) per step`, async () => {
    const { client } = scripted;
    const tools = [{ type: "custom", name: "apply_patch", description: "Edits files." }];
    const question = { role: "user", content: `patch ${step}` };
    const stream = client.responses.stream({ model, input: [question], tools });
    let deltas = "";
    for await (const event of stream) if (event.type === "response.custom_tool_call_input.delta") deltas += event.delta;
    const [call] = (await stream.finalResponse()).output;
    assert.deepEqual([call.type, call.name, call.input, deltas], ["custom_tool_call", "apply_patch", patch, patch]);
    const result = { type: "custom_tool_call_output", call_id: call.call_id, output: "ok" };
    const second = await client.responses.create({ model, input: [question, call, result], tools });
    assert.equal(second.output_text, "All done.");
  });
}

test("encrypted reasoning makes the round trip, and tampering is refused", async () => {
  const { client } = scripted;
  const request = { model, include: ["reasoning.encrypted_content"], store: false };
  const question = { role: "user", content: "think" };
  const first = await client.responses.stream({ ...request, input: [question] }).finalResponse();
  const [{ encrypted_content }, message] = first.output;
  const input = (sealed) => [question, { type: "reasoning", summary: [], encrypted_content: sealed }, message, question];
  assert.equal((await client.responses.create({ ...request, input: input(encrypted_content) })).status, "completed");
  const tampered = client.responses.create({ ...request, input: input(`${encrypted_content.slice(0, -6)}AAAAAA`) });
  await assert.rejects(tampered, { status: 400, code: "invalid_encrypted_content" });
});

test("log-probabilities come with deltas and item", async () => {
  const request = { model, input: "Tell me a joke.", temperature: 0, top_logprobs: 2, include: ["message.output_text.logprobs"] };
  const stream = embedded.client.responses.stream(request);
  const told = [];
  for await (const event of stream) if (event.type === "response.output_text.delta") told.push(...event.logprobs);
  const { output } = await stream.finalResponse();
  const [part] = output.find((item) => item.type === "message").content;
  assert.deepEqual(told, part.logprobs);
  const text = Buffer.from(part.logprobs.flatMap((token) => token.bytes)).toString();
  assert.equal(text.trim(), part.text.trim());
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
