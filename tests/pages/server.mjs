// Starts the built server as an operator does.
import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** Where the programs are. */
export const BUILT = join(ROOT, "target/release");
const HOST = process.env.SLUICE_HOST ?? join(BUILT, "host");
/** The program that writes components which do what tests need. */
export const GUESTS = process.env.SLUICE_GUESTS ?? join(BUILT, "guests");

/** Starts `host serve` with these switches, on free ports; gives the addresses that it prints. */
export async function start(...args) {
  const child = spawn(HOST, ["serve", "--listen", "127.0.0.1:0", "--check-streams", ...args], { cwd: ROOT, stdio: ["ignore", "pipe", "ignore"] });
  const found = {};
  for await (const line of createInterface({ input: child.stdout })) {
    const [, name, address] = line.match(/^(address|admin|inspect)\s+(http:\S+)/) ?? [];
    if (name) found[name] = address.replace(/\/$/, "");
    // The last line of the summary.
    if (line.startsWith("try ")) return { child, ...found };
  }
  throw new Error("the server did not start");
}

/** Switches that play `rules`. */
export function played(rules) {
  const script = join(folder(), "replay.json");
  writeFileSync(script, JSON.stringify({ rules }));
  return ["--engine", `replay:${script}`];
}

/** Switches of an operator who looks into answers. */
export const INSPECTED = ["--admin-listen", "127.0.0.1:0", "--inspect"];

/** Starts a server for the inspector, which plays `rules`. */
export const serve = (rules, ...args) => start(...INSPECTED, "--store", "none", ...played(rules), ...args);

/** A new folder for files of a test. */
export const folder = () => mkdtempSync(join(tmpdir(), "sluice-"));

/** Asks for a streamed response; returns its events. */
export async function respond(server, body, headers = {}) {
  const response = await fetch(`${server.address}/v1/responses`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "qwen3-tiny", stream: true, ...body }),
  });
  const text = await response.text();
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data));
}
