// openai-node and the AI SDK's default model with state on the server: each turn needs what the server kept of those before it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, streamText, tool } from "ai";
import OpenAI from "openai";
import { z } from "zod";
import { ROOT, start, stop } from "./server.mjs";
import { responsesTools as tools } from "./transcripts.mjs";

const model = "qwen3-tiny";
const asked = "What is the weather in Zürich?";
const again = "And in Fahrenheit?";
const answers = ["It is sunny in Zürich, 21 degrees.", "70 degrees."];
let server;
before(async () => {
  server = await start("--engine", `replay:${ROOT}/tests/clients/state.json`);
});
after(() => stop(server));

async function collect(stream) {
  const all = [];
  for await (const one of stream) all.push(one);
  return all;
}

/** Returns the responses of a chain, each of which got its new items alone. */
async function weather({ responses }) {
  const first = await responses.create({ model, tools, input: asked });
  const { call_id } = first.output.at(-1);
  const result = [{ type: "function_call_output", call_id, output: "sunny, 21 degrees" }];
  const second = await responses.create({ model, tools, input: result, previous_response_id: first.id });
  const third = await responses.create({ model, tools, input: again, previous_response_id: second.id });
  return [first, second, third];
}

test("a chain gets only what is new, and counts as the same items sent whole", async () => {
  const { responses } = server.client;
  const [first, second, third] = await weather(server.client);
  assert.deepEqual([second.output_text, third.output_text], answers);
  assert.deepEqual((await responses.retrieve(second.id)).output, second.output);
  const items = await collect(responses.inputItems.list(third.id, { order: "asc" }));
  const question = { role: "user", content: "And in Kelvin?" };
  const chained = await responses.inputTokens.count({ model, tools, input: [question], previous_response_id: third.id });
  const whole = await responses.inputTokens.count({ model, tools, input: [...items, ...third.output, question] });
  assert.deepEqual(chained, whole);
  assert.ok(chained.input_tokens > third.usage.input_tokens && third.usage.input_tokens > first.usage.input_tokens);
});

test("input items come in pages", async () => {
  const [first, second, third] = await weather(server.client);
  const { inputItems } = server.client.responses;
  const ids = (items) => items.map((item) => item.id);
  const all = ids(await collect(inputItems.list(third.id, { order: "asc" })));
  assert.deepEqual([all.slice(1, 4), all.slice(5, 7), all.length], [ids(first.output), ids(second.output), 8]);
  for (const limit of [1, 3, 100]) {
    assert.deepEqual(ids(await collect(inputItems.list(third.id, { limit }))), all.toReversed());
    assert.deepEqual(ids(await collect(inputItems.list(third.id, { limit, order: "asc", after: all[4] }))), all.slice(5));
  }
});

test("a background response is followed again after any event", async () => {
  const { responses } = server.client;
  const events = [];
  const take = async (stream, count) => {
    for await (const event of stream) if (events.push(event) && (count -= 1) === 0) break;
  };
  await take(await responses.create({ model, input: "Count.", background: true, stream: true }), 8);
  const { id } = events[0].response;
  while (events.at(-1).type !== "response.completed") {
    await take(await responses.retrieve(id, { stream: true, starting_after: events.at(-1).sequence_number }), 9);
  }
  assert.deepEqual(events.map((event) => event.sequence_number), [...events.keys()]);
  const text = events.filter((event) => event.type === "response.output_text.delta").map((event) => event.delta).join("");
  assert.equal(text, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16");
  assert.deepEqual((await responses.retrieve(id)).output, events.at(-1).response.output);
  const helped = await responses.stream({ response_id: id, starting_after: 3 }).finalResponse();
  assert.equal(helped.output_text, text);
});

test("a cancelled response ends its reader and can be read", async () => {
  const { responses } = server.client;
  const seen = [];
  let cancelled;
  for await (const event of await responses.create({ model, input: "For ever.", background: true, stream: true })) {
    seen.push(event);
    if (event.type === "response.output_text.delta") cancelled ??= await responses.cancel(seen[0].response.id);
  }
  assert.deepEqual([seen.at(-1).type, seen.at(-1).response.status], ["response.incomplete", "cancelled"]);
  const read = await responses.retrieve(cancelled.id);
  assert.deepEqual([cancelled.status, read.status, read.output], ["cancelled", "cancelled", cancelled.output]);
  assert.deepEqual(await responses.cancel(cancelled.id), cancelled);
});

test("what is unknown or cannot be is an exception with its code", async () => {
  const { responses } = server.client;
  const [first, second] = await weather(server.client);
  await responses.delete(first.id);
  const unknown = (call) => assert.rejects(call, (error) => error instanceof OpenAI.NotFoundError && error.code === "not_found");
  const bad = (call, code, param) =>
    assert.rejects(call, (error) => error instanceof OpenAI.BadRequestError && error.code === code && error.param === param);
  await unknown(responses.retrieve(first.id));
  await unknown(responses.delete(first.id));
  await unknown(responses.cancel("resp_none"));
  await unknown(collect(responses.inputItems.list("resp_none")));
  const request = { model, tools, input: again };
  await bad(responses.create({ ...request, previous_response_id: first.id }), "previous_response_not_found", "previous_response_id");
  const living = await responses.create({ ...request, previous_response_id: second.id });
  assert.equal(living.output_text, answers[1]);
});

/** The AI SDK's default model, and the items of each of its requests by their types. */
function aiSdk() {
  const requests = [];
  const recorded = (url, init) => {
    requests.push(JSON.parse(init.body).input.map((item) => item.type ?? item.role));
    return fetch(url, init);
  };
  return { requests, openai: createOpenAI({ baseURL: server.client.baseURL, apiKey: "none", fetch: recorded }) };
}

const sdkTools = {
  get_weather: tool({
    description: "Weather of a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => (city === "Zürich" ? "sunny, 21 degrees" : "unknown"),
  }),
};

for (const run of [generateText, streamText]) {
  test(`the AI SDK's default model refers to stored items, ${run.name}`, async () => {
    const { openai, requests } = aiSdk();
    const settings = { model: openai(model), tools: sdkTools, stopWhen: isStepCount(3), maxRetries: 0 };
    const messages = [];
    const turn = async (content) => {
      messages.push({ role: "user", content });
      const result = run({ ...settings, messages });
      const { text, responseMessages } = run === streamText ? result : await result;
      messages.push(...(await responseMessages));
      return text;
    };
    assert.deepEqual([await turn(asked), await turn(again)], answers);
    const references = ["item_reference", "item_reference", "function_call", "function_call_output"];
    assert.deepEqual(requests, [
      ["user"],
      ["user", ...references],
      ["user", ...references, "item_reference", "item_reference", "user"],
    ]);
  });
}
