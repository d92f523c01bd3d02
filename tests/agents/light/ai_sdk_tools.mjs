// Vercel AI SDK: a shell, a patch and a tool that is found by a search, streamed. Arguments: base URL, model, folder to work in.
import { createOpenAI } from "@ai-sdk/openai";
import { execSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { OPTIONS } from "./ai_sdk_options.mjs";

const [baseURL, model, folder] = process.argv.slice(2);
const calls = [];
const openai = createOpenAI({ baseURL, apiKey: "none" });
const added = (diff) => diff.split("\n").map((line) => line.slice(1)).join("\n");
const run = streamText({
  model: openai.responses(model),
  prompt: "Do the work.",
  tools: {
    shell: openai.tools.shell({
      environment: { type: "local" },
      execute: async ({ action }) => ({
        output: action.commands.map((command) => {
          calls.push(command);
          return { stdout: execSync(command, { cwd: folder }).toString(), stderr: "", outcome: { type: "exit", exitCode: 0 } };
        }),
      }),
    }),
    apply_patch: openai.tools.applyPatch({
      execute: async ({ operation }) => {
        calls.push(operation.path);
        writeFileSync(join(folder, operation.path), added(operation.diff));
        return { status: "completed", output: "created" };
      },
    }),
    tool_search: openai.tools.toolSearch(),
    send_mail: tool({
      description: "Sends a mail.",
      inputSchema: z.object({ to: z.string() }),
      providerOptions: { openai: { deferLoading: true } },
      execute: async ({ to }) => {
        calls.push(to);
        return "sent";
      },
    }),
  },
  stopWhen: stepCountIs(6),
  ...OPTIONS,
});
const text = await run.text;
console.log(JSON.stringify({ calls, text }));
