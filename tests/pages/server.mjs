// Starts the built server as an operator does, with traces, and stops it.
import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BUILT = join(ROOT, "target/release");
const HOST = process.env.SLUICE_HOST ?? join(BUILT, "host");
/** The program that writes components which do what tests need. */
export const GUESTS = process.env.SLUICE_GUESTS ?? join(BUILT, "guests");

/** Starts `host serve --inspect`, which plays `rules`; gives the addresses of clients and of operators. */
export async function serve(rules, ...args) {
  const script = join(folder(), "replay.json");
  writeFileSync(script, JSON.stringify({ rules }));
  const command = ["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--inspect", "--check-streams",
    "--store", "none", "--engine", `replay:${script}`, ...args];
  const child = spawn(HOST, command, { cwd: ROOT, stdio: ["ignore", "pipe", "ignore"] });
  const found = {};
  for await (const line of createInterface({ input: child.stdout })) {
    const [, name, address] = line.match(/^(address|admin)\s+(http:\S+)/) ?? [];
    if (name) found[name] = address.replace(/\/$/, "");
    if (found.address && found.admin) return { child, ...found };
  }
  throw new Error("the server did not start");
}

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
