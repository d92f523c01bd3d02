// Starts the server under test as an operator does, and stops it.
import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import OpenAI from "openai";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const HOST = process.env.SLUICE_HOST ?? join(ROOT, "target/release/host");

/** Starts `host serve` on a free port, with every stream checked against the event grammar. */
export async function start(...args) {
  const command = ["serve", "--listen", "127.0.0.1:0", "--check-streams", ...args];
  if (!args.includes("--store")) command.push("--store", "memory");
  const child = spawn(HOST, command, { cwd: ROOT, stdio: ["ignore", "pipe", "ignore"] });
  for await (const line of createInterface({ input: child.stdout })) {
    const match = line.match(/^address\s+(http:\S+)/);
    if (match) return { child, address: match[1], client: client(match[1]) };
  }
  throw new Error("the server did not start");
}

function client(address) {
  return new OpenAI({ baseURL: `${address}/v1`, apiKey: "none", maxRetries: 0 });
}

/** Ends the server; throws if a stream broke the event grammar. */
export async function stop({ child, address }) {
  const text = await (await fetch(`${address}/metrics`)).text();
  child.kill("SIGTERM");
  const violations = text.match(/^sluice_stream_violations_total\S* (\d+)/m)?.[1] ?? "0";
  if (violations !== "0") throw new Error(`${violations} streams broke the event grammar`);
}

/** Writes a replay file and returns the engine argument for it. */
export function replay(rules) {
  const path = join(mkdtempSync(join(tmpdir(), "sluice-")), "replay.json");
  writeFileSync(path, JSON.stringify({ rules }));
  return `replay:${path}`;
}
