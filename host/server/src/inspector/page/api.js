// Requests to the server. The key is typed by the operator, kept in this module's memory until the
// page is closed, and sent in a header; so streams are read by `fetch`, since an `EventSource` sends
// no headers.

import { readLine } from "./line.js";

const BASE = new URL("../", import.meta.url);
let key = null;
let askForKey = async () => null;
let asking = null;

/** Sets the function that asks for a key: it resolves to the key, or to null. */
export function onKeyNeeded(ask) {
  askForKey = ask;
}

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** A request to a route of the admin address; asks for the key and tries again on 401. */
export async function request(path, options = {}) {
  for (;;) {
    const sent = key;
    const headers = { ...options.headers, ...(sent === null ? {} : { authorization: `Bearer ${sent}` }) };
    const response = await fetch(new URL(path, BASE), { ...options, headers, credentials: "omit", cache: "no-store" });
    if (response.ok) return response;
    const message = await reason(response);
    if (response.status !== 401) throw new Refused(response.status, message);
    // Another request may have got a key meanwhile.
    if (key !== sent) continue;
    asking ??= askForKey(sent !== null).finally(() => { asking = null; });
    const given = await asking;
    if (given === null) throw new Refused(401, message);
    key = given;
  }
}

/** The message of an error's body; where the server doesn't know this page's address, what to do. */
async function reason(response) {
  const text = await response.text();
  try {
    const { code, message } = JSON.parse(text).error;
    return ["host_not_allowed", "origin_not_allowed"].includes(code) ? unknownAddress() : message;
  } catch {
    return text.slice(0, 300) || `The server answered ${response.status}.`;
  }
}

function unknownAddress() {
  return `The server refuses this page, which comes from ${location.host}. If that is a proxy in front of it, start the server with --allow-host ${location.hostname}.`;
}

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

/** Reads server-sent events; ends with true when `take(data)` returns it, with false at the stream's end. */
async function events(response, take) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let data = [];
  for (;;) {
    const { done, value } = await reader.read().catch((error) => {
      if (error.name === "AbortError") throw error;
      return { done: true };
    });
    if (done) return false;
    const lines = (rest + value).split(/\r\n|\n/);
    rest = lines.pop();
    for (const line of lines) {
      if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
      if (line !== "" || !data.length) continue;
      if (take(data.join("\n"))) {
        await reader.cancel();
        return true;
      }
      data = [];
    }
  }
}
