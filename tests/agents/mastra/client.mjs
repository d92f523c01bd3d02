// Mastra: an agent with memory and its provider's default model, whose second turn has references to stored items. Arguments: base URL, model.
import { createOpenAI } from "@ai-sdk/openai";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { LibSQLStore } from "@mastra/libsql";
import { Memory } from "@mastra/memory";
import { z } from "zod";

const [baseURL, model] = process.argv.slice(2);
const calls = [];
const get_weather = createTool({
  id: "get_weather",
  description: "Weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => {
    calls.push({ city });
    return "sunny, 21 degrees";
  },
});
const agent = new Agent({
  id: "guide",
  name: "guide",
  instructions: "Use the tools.",
  model: createOpenAI({ baseURL, apiKey: "none" })(model),
  tools: { get_weather },
  memory: new Memory({ storage: new LibSQLStore({ id: "memory", url: ":memory:" }) }),
});
const texts = [];
for (const question of ["What is the weather in Zürich?", "And in Fahrenheit?"]) {
  const { text } = await agent.generate(question, { memory: { thread: "trip", resource: "ada" } });
  texts.push(text);
}
console.log(JSON.stringify({ calls, texts }));
