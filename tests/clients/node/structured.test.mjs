// Vercel's AI SDK and zod against the real model inside the binary: objects of a schema, and forced calls.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createOpenAI } from "@ai-sdk/openai";
import { generateObject, generateText, streamObject, tool } from "ai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import { start, stop } from "./server.mjs";

const model = "qwen3-tiny";
const prompt = "What is the weather in Helsinki?";
const schema = z.object({
  city: z.string().max(16),
  sky: z.enum(["clear", "grey"]),
  degrees: z.number().int().min(-50).max(50),
});

let server, providers;
before(async () => {
  server = await start();
  const baseURL = server.client.baseURL;
  providers = [
    createOpenAICompatible({ name: "sluice", baseURL, apiKey: "none", supportsStructuredOutputs: true })(model),
    createOpenAI({ baseURL, apiKey: "none" }).responses(model),
  ];
});
after(() => stop(server));

test("generateObject() gives an object of the schema, by both APIs", async () => {
  for (const provider of providers) {
    const { object } = await generateObject({ model: provider, schema, prompt, maxRetries: 0 });
    schema.parse(object);
  }
});

test("streamObject() gives growing parts of one object", async () => {
  for (const provider of providers) {
    const stream = streamObject({ model: provider, schema, prompt, maxRetries: 0 });
    let last = {};
    for await (const part of stream.partialObjectStream) {
      assert.ok(Object.keys(part).length >= Object.keys(last).length);
      last = part;
    }
    assert.deepEqual(await stream.object, last);
  }
});

test("a tool that has to be called is called with arguments of its schema", async () => {
  const tools = { report: tool({ inputSchema: schema, execute: async () => "done" }) };
  for (const provider of providers) {
    const { toolCalls } = await generateText({ model: provider, tools, toolChoice: "required", prompt, maxRetries: 0 });
    assert.equal(toolCalls[0].toolName, "report");
    schema.parse(toolCalls[0].input);
  }
});

test("openai-node parses what zod describes", async () => {
  const response = await server.client.responses.parse({ model, input: prompt, text: { format: zodTextFormat(schema, "weather") } });
  schema.parse(response.output_parsed);
  const messages = [{ role: "user", content: prompt }];
  const chat = await server.client.chat.completions.parse({ model, messages, response_format: zodResponseFormat(schema, "weather") });
  schema.parse(chat.choices[0].message.parsed);
});
