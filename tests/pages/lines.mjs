// Traces by the format in docs/inspector.md, for what a test wants to see: each function gives the
// lines of one answer.

const MARKERS = [
  { literal: "<think>", id: 151667, stop: false }, { literal: "</think>", id: 151668, stop: false },
  { literal: "<tool_call>", id: 151657, stop: false }, { literal: "</tool_call>", id: 151658, stop: false },
  { literal: "<|im_end|>", id: 151645, stop: true },
];
const bytes = (text) => Buffer.byteLength(text);

/** Writes lines, and keeps the counts that lines share: times, steps, events, lengths of items. */
class Writer {
  constructor(id, extra = {}) {
    this.lines = [{ type: "answer", id, request_id: `req_${id}`, model: "qwen3-tiny", protocol: "responses", began_at: 1764198000, parser: "qwen3 1.0.0", parser_sha256: "ab", record: null, markers: MARKERS, ...extra }];
    Object.assign(this, { ms: 3.1, step: 0, event: 2, lengths: new Map(), texts: new Map(), output: 0 });
    this.lines.push({ type: "prompt", ms: 3.1, turn: 0, tokens: 312, opening: [{ id: 151644, text: "<|im_start|>" }, { id: null, text: "assistant\n" }] });
    this.opening = [{ text: "<|im_start|>assistant\n", answer: [{ op: "until-marker", route: "drop" }] }];
  }

  /** A step: `tokens` as texts, `calls`, changes of items, and how many events came of it. */
  put(tokens, calls, items = [], events = items.length, finish = null) {
    this.step += 1;
    this.ms = Math.round((this.ms + 23.7 + (this.step % 7) * 1.9) * 10) / 10;
    const named = tokens.map((text) => ({ id: MARKERS.find(({ literal }) => literal === text)?.id ?? 1000 + bytes(text) * 31 + text.codePointAt(0), text }));
    this.output += tokens.length;
    this.lines.push({ type: "step", ms: this.ms, turn: 0, step: this.step, cached: 256, tokens: named, calls: [...this.opening.splice(0), ...calls], items, finish, parse_us: 20 + (this.step % 5) * 4, events: [this.event, this.event + events], send_us: 9 });
    this.event += events;
  }

  open(item, head) {
    this.lengths.set(item, 0);
    this.texts.set(item, "");
    return { item, open: head };
  }

  text(item, text) {
    const from = this.lengths.get(item);
    this.lengths.set(item, from + bytes(text));
    this.texts.set(item, this.texts.get(item) + text);
    return { item, range: [from, from + bytes(text)], text };
  }

  close(item, how = "completed") { return { item, close: how }; }

  end(state = "completed", { fault = null, why = null, items = [], calls = [{ finish: "stop", answer: [] }] } = {}) {
    this.put([], calls, items, items.length, { stop: 151645 });
    const events = 1;
    this.lines.push({ type: "turn-end", ms: this.ms + 1, turn: 0, end: state, usage: {}, fault, why, calls: [], items: [], events: [this.event, this.event + events] });
    this.event += events;
    this.lines.push({ type: "end", ms: this.ms + 2, state, events: this.event, usage: { input_tokens: 312, cached_tokens: 256, output_tokens: this.output + 1, reasoning_tokens: 9 }, phases: { prepare_ms: 3.1, queue_prefill_ms: 12.1, decode_ms: this.ms - 28.7, parse_ms: 1.4, send_ms: 0.6 } });
    this.lines.forEach((line, number) => { line.line = number; });
    return { lines: this.lines, texts: [...this.texts.values()] };
  }
}

const until = (route) => [{ op: "until-marker", route }];
const marker = (index, answer) => [{ marker: index, answer }];
const drop = (index) => ({ op: "bytes", route: "drop", bytes: bytes(MARKERS[index].literal) });

/** One call of a tool, in the format's own steps: the name is held until it is whole. */
function call(out, item, name, parameters, closes = []) {
  const head = `{"name": "${name}", "arguments": `;
  out.put(["<tool_call>"], marker(2, "hold"), closes, 2 * closes.length);
  const parts = ["\n", '{"', "name", '":', " \"", ...name.match(/.{1,5}/g)];
  for (const part of parts) out.put([part], [{ text: part, answer: "hold" }]);
  const json = JSON.stringify(parameters);
  const rest = head.slice(parts.slice(1).join("").length);
  const first = json.slice(0, 2);
  out.put([rest, first], [{ text: rest + first, answer: [{ op: "bytes", route: "drop", bytes: bytes(MARKERS[2].literal + "\n" + head) }, { op: "tool-call", name, payload: "json" }, { op: "until-json", route: "arguments", depth: 1, "in-string": "yes" }] }],
    [out.open(item, { type: "tool_call", call_id: `call_${item}a7f`, name, payload: "json" }), out.text(item, first)], 2);
  for (const part of json.slice(2, -1).match(/.{1,4}/gs)) out.put([part], [], [out.text(item, part)], 1);
  out.put(["}", "}\n"], [{ text: "}}\n", answer: [{ op: "bytes", route: "arguments", bytes: 1 }, { op: "close" }, { op: "until-marker", route: "drop" }] }], [out.text(item, "}"), out.close(item)], 3);
  out.put(["</tool_call>"], marker(3, [drop(3)]));
}

/** Reasoning, text, and two calls one behind the other; with an emoji, which takes a font of its own, unless `sign` is none. */
export function parallelCalls(id = "17", sign = " 🏔") {
  const out = new Writer(id);
  out.put(["<think>"], marker(0, [drop(0), ...until("reasoning")]));
  const thoughts = ["Two", " things", " are", " asked", sign, ":", " the", " weather", " in", " Zürich", ",", " and", " the", " time", "."].filter((text) => text !== "");
  thoughts.forEach((text, index) => out.put([text], [], [...(index ? [] : [out.open(0, { type: "reasoning" })]), out.text(0, text)], index ? 1 : 3));
  out.put(["</think>"], marker(1, [drop(1), { op: "close" }, ...until("content")]), [out.close(0)], 2);
  ["I'll", " look", " at", " both", "."].forEach((text, index) =>
    out.put([text], [], [...(index ? [] : [out.open(1, { type: "message", phase: "commentary" })]), out.text(1, text)], index ? 1 : 3));
  call(out, 2, "get_weather", { city: "Zürich", unit: "celsius" }, [out.close(1)]);
  call(out, 3, "get_time", { city: `Zürich${sign}` });
  return out.end("completed", { calls: [{ marker: 4, answer: [drop(4)] }, { finish: "stop", answer: [] }] });
}

/** A parser that fails at its eighth token; the rest goes out as text. */
export function failingParser(id = "18") {
  const out = new Writer(id, { model: "mine", parser: "mine 0.1.0" });
  ["Let", " me", " see"].forEach((text, index) => out.put([text], index ? [] : [{ text, answer: until("content") }], [...(index ? [] : [out.open(0, { type: "message" })]), out.text(0, text)], index ? 1 : 3));
  out.put(["<tool_call>"], marker(2, "hold"));
  out.put(["{"], [{ text: "{", answer: "hold" }]);
  out.put(["nope"], [{ text: "nope", answer: { fault: "the call has no name" } }], [out.text(0, "<tool_call>{nope")], 1);
  out.put([" more"], [], [out.text(0, " more")], 1);
  return out.end("model_error", { fault: "the call has no name", why: "The parser failed.", items: [out.close(0, "incomplete")], calls: [] });
}

/** An answer with the text of its prompt: `parts` more messages, `cut` tokens left out, `count` lines in the last message. */
export function prompted(id = "22", { parts = 0, cut = 1234, count = 3000 } = {}) {
  const { lines, texts } = parallelCalls(id, "");
  const control = (literal, number) => ({ by: "template", tokens: 1, id: number, text: literal });
  const text = (by, said) => ({ by, tokens: Math.ceil(said.length / 4), text: said });
  const message = (role, said) => [control("<|im_start|>", 151644), text("template", `${role}\n`), text(role, said), control("<|im_end|>", 151645), text("template", "\n")];
  const more = Array.from({ length: parts }, (_, index) => message("user", `Part ${index}.`)).flat();
  const segments = [...message("system", "Be brief."), ...(cut ? [{ cut }] : []), ...more,
    ...message("user", `Is <|im_end|> a token? ${"Long line of words.\n".repeat(count)}`), control("<|im_start|>", 151644), text("template", "assistant\n")];
  const tokens = segments.reduce((sum, each) => sum + (each.tokens ?? each.cut), 0);
  Object.assign(lines[1], { segments, tokens });
  lines.at(-1).usage.input_tokens = tokens;
  return { lines, texts };
}

/** `count` tokens of text, one a step, with a second token in every tenth. */
export function long(id = "19", count = 10_000) {
  const out = new Writer(id);
  const words = ["water", "gate", "lock", "stream", "weir", "canal", "level", "basin"];
  for (let index = 0; out.output < count; index += 1) {
    const tokens = [` ${words[index % words.length]}${index}`];
    if (index % 10 === 9 && out.output + 1 < count) tokens.push(".\n");
    const text = tokens.join("");
    out.put(tokens, index ? [] : [{ text, answer: until("content") }], [...(index ? [] : [out.open(0, { type: "message" })]), out.text(0, text)], index ? 1 : 3);
  }
  return out.end("max_output_tokens", { items: [out.close(0, "incomplete")], calls: [{ finish: "length", answer: [] }] });
}

/** An answer whose second range leaves out two bytes, and whose item is never closed. */
export function inconsistent(id = "20") {
  const out = new Writer(id);
  out.put(["Let"], [{ text: "Let", answer: until("content") }], [out.open(0, { type: "message" }), out.text(0, "Let")], 3);
  out.lengths.set(0, 5);
  out.put([" see"], [], [out.text(0, " see")], 1);
  return out.end("completed");
}

/** Text that would do harm as markup. */
export function markup(id = "21") {
  const out = new Writer(id, { model: "<b>m</b>" });
  const text = "<img src=x onerror=\"document.title='harmed'\"><script>document.title='harmed'</script>";
  out.put([text], [{ text, answer: until("content") }], [out.open(0, { type: "message" }), out.text(0, text)], 3);
  return out.end("completed", { items: [out.close(0)] });
}
