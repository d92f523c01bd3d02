// Vercel AI SDK: streamText in two steps. Arguments: base URL, model, `responses` or `chat`.
import { createOpenAI } from "@ai-sdk/openai";
import { stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { OPTIONS } from "./ai_sdk_options.mjs";

const [baseURL, model, api] = process.argv.slice(2);
const calls = [];
const openai = createOpenAI({ baseURL, apiKey: "none" });
const run = streamText({
  model: api === "responses" ? openai.responses(model) : openai.chat(model),
  prompt: "What is the weather in Zürich?",
  tools: {
    get_weather: tool({
      description: "Weather of a city.",
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ city }) => {
        calls.push({ city });
        return "sunny, 21 degrees";
      },
    }),
  },
  stopWhen: stepCountIs(3),
  ...OPTIONS,
});
const text = await run.text;
console.log(JSON.stringify({ calls, text }));
