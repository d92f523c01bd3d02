// @openai/agents: the library's own agent loop, streamed. Arguments: base URL, model, `responses` or `chat`.
import { Agent, OpenAIProvider, Runner, tool } from "@openai/agents";
import { z } from "zod";

const [baseURL, model, api] = process.argv.slice(2);
const calls = [];
const getWeather = tool({
  name: "get_weather",
  description: "Weather of a city.",
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => {
    calls.push({ city });
    return "sunny, 21 degrees";
  },
});
const modelProvider = new OpenAIProvider({ apiKey: "none", baseURL, useResponses: api === "responses" });
const agent = new Agent({ name: "guide", instructions: "Use the tools.", model, tools: [getWeather] });
const run = await new Runner({ modelProvider, tracingDisabled: true }).run(agent, "What is the weather in Zürich?", { stream: true });
for await (const _ of run);
await run.completed;
console.log(JSON.stringify({ calls, text: run.finalOutput }));
