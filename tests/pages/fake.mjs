// A server of traces that no model writes on demand: it serves the page's files as they are in the
// source, and the admin routes with lines that a test gives. What a real server serves is tested on
// a real one.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";

const SOURCES = new URL("../../host/server/src/", import.meta.url);
const TYPES = { js: "text/javascript", css: "text/css", svg: "image/svg+xml", html: "text/html" };
const POLICY = (await readFile(new URL("page_files/mod.rs", SOURCES), "utf8")).match(/const POLICY: &str = "((?:[^"\\]|\\\n)*)"/)[1].replace(/\\\n\s*/g, "");

/** An event of the stream. */
const frame = (line) => `data: ${JSON.stringify(line)}\n\n`;

export class Fake {
  constructor() {
    /** `{ id, lines }`, newest first; `cutAt` ends a stream before that line, once; lines before `from` are no longer kept. */
    this.answers = [];
    this.key = null;
    /** Bodies of `POST /admin/parse`, and the lines that answer them. */
    this.parsed = [];
    this.parseLines = [];
    this.models = [{ model: "qwen3-tiny", serving: { name: "qwen3" }, loadable: ["kimi-k2", "none", "qwen3"] }];
    /** Requests that were refused for want of a key. */
    this.refused = 0;
    /** Streams that wait for lines, by answer. */
    this.waiting = new Map();
    this.resumed = [];
  }

  async start() {
    this.server = createServer((request, response) => this.#answer(request, response).catch((error) => response.writeHead(500).end(String(error))));
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    this.address = `http://127.0.0.1:${this.server.address().port}`;
    return this;
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }

  /** Adds lines to a live answer. */
  grow(id, lines) {
    const answer = this.answers.find((answer) => answer.id === id);
    for (const line of lines) {
      answer.lines.push(line);
      for (const response of this.waiting.get(id) ?? []) response.write(frame(line));
    }
  }

  async #answer(request, response) {
    const path = new URL(request.url, "http://fake").pathname;
    if (path === "/inspector") return this.#file(response, "index.html");
    if (path.startsWith("/inspector/")) return this.#file(response, path.slice(11));
    if (this.key && request.headers.authorization !== `Bearer ${this.key}`) {
      this.refused += 1;
      return this.#json(response, 401, { error: { message: "Give an API key." } });
    }
    if (path === "/admin/answers") return this.#json(response, 200, { object: "list", data: this.answers.map(row) });
    if (path === "/admin/parsers") return this.#json(response, 200, { models: this.models });
    if (path === "/admin/parse") return this.#parse(request, response);
    const answer = this.answers.find(({ id }) => path === `/admin/answers/${id}/tap`);
    return answer ? this.#tap(answer, request, response) : this.#json(response, 404, { error: { message: "Not found." } });
  }

  async #file(response, name) {
    const from = (folder) => readFile(new URL(`${folder}/${name}`, SOURCES));
    const text = await from("inspector/page").catch(() => from("page_files/shared")).catch(() => null);
    if (!text) return this.#json(response, 404, { error: { message: "Not found." } });
    response.writeHead(200, { "content-type": TYPES[name.split(".").pop()], "content-security-policy": POLICY }).end(text);
  }

  #json(response, status, body) {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  }

  #tap(answer, request, response) {
    const last = new URL(request.url, "http://fake").searchParams.get("after");
    if (last !== null) this.resumed.push(Number(last));
    const from = Math.max(answer.from ?? 0, last === null ? 0 : Number(last) + 1);
    const to = answer.cutAt ?? answer.lines.length;
    delete answer.cutAt;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(": heartbeat\n\n" + answer.lines.slice(from, to).map(frame).join(""));
    if (to < answer.lines.length || answer.lines.at(-1).type === "end") return response.end();
    this.waiting.set(answer.id, [...(this.waiting.get(answer.id) ?? []), response]);
  }

  async #parse(request, response) {
    let text = "";
    for await (const chunk of request) text += chunk;
    this.parsed.push(JSON.parse(text));
    if (!this.parseLines.length) return this.#json(response, 400, { error: { message: "It can't be parsed." } });
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(this.parseLines.map(frame).join(""));
  }
}

function row({ id, lines }) {
  const [answer, last] = [lines[0], lines.at(-1)];
  const steps = lines.filter(({ type }) => type === "step");
  return {
    id, request_id: answer.request_id, model: answer.model, protocol: answer.protocol, began_at: answer.began_at,
    state: last.type === "end" ? last.state : "running", steps: steps.length,
    tokens: steps.reduce((sum, { tokens, finish }) => sum + tokens.length + (finish?.stop ? 1 : 0), 0), parser: answer.parser, record: null,
  };
}
