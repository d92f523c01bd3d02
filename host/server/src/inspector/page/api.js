// Requests to the routes of the admin address.

import { events, request } from "./asking.js";
import { readLine } from "./line.js";

/** The models with the parsers that the server can load for each. */
export async function parsers() {
  return (await (await request("admin/parsers")).json()).models;
}

/** The list of the newest answers. */
export async function answers(signal) {
  return (await (await request("admin/answers", { signal })).json()).data;
}

/**
 * Calls `take(line, source)` for every line of an answer's trace until its last. A stream that breaks
 * off is asked for again, from the line behind the last one.
 */
export async function tap(id, take, signal) {
  let last = null;
  for (let tries = 0; tries < 6; tries += 1) {
    const after = last === null ? "" : `?after=${last}`;
    const response = await request(`admin/answers/${encodeURIComponent(id)}/tap${after}`, { signal });
    const ended = await events(response, (data) => takeLine(data, (line, source) => {
      last = line.line;
      tries = 0;
      take(line, source);
    }));
    if (ended) return true;
    await new Promise((resolve) => setTimeout(resolve, 250 * 2 ** tries));
  }
  return false;
}

/** Parses raw text or a record; the lines go to `take`. */
export async function parse(body, take, signal) {
  const options = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), signal };
  return events(await request("admin/parse", options), (data) => takeLine(data, take));
}

/** Takes a line; true for the last one. */
export function takeLine(source, take) {
  const line = readLine(source);
  take(line, source);
  return line.type === "end";
}
