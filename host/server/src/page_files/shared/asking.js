// Requests to the server. The key is typed by the reader, kept in this module's memory until the
// page is closed, and sent in a header; so streams are read by `fetch`, since an `EventSource` sends
// no headers.

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

/** A request to a route of this page's address; asks for the key and tries again on 401. */
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

/** Reads server-sent events; ends with true when `take(data)` returns it, with false at the stream's end. */
export async function events(response, take) {
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
        reader.cancel().catch(() => {});
        return true;
      }
      data = [];
    }
  }
}
