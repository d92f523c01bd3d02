// The trace of one answer as the page keeps it: a beat for each line, in order, and the items that
// the lines build up. A beat is one place on the time line.
//
// Invariant: memory is bounded. The newest beats are kept, the older ones dropped and counted; items
// keep their text up to a bound of its own, and say so where it is reached.

import { Checks } from "./checks.js";
import { answerWords, byteLength, cells, eventWords, tokenText, visible } from "./words.js";

/** Beats that are kept, and characters of their lines. */
const MOST_BEATS = 20_000;
const MOST_CHARACTERS = 16 << 20;
/** Prompts that are kept. */
const MOST_PROMPTS = 64;
/** Characters of all items' texts that are kept. */
const MOST_TEXT = 8 << 20;
/** Cells of the narrowest and the widest beat. */
const NARROW = 6;
const WIDE = 26;
/** Cells that the frame of a piece takes. */
const PADDING = 3;

export class Trace {
  constructor() {
    /** The line `answer`. */
    this.answer = null;
    /** The line `end`, once it has come. */
    this.end = null;
    /** Beats, oldest first; the first has the number `first`. */
    this.beats = [];
    this.first = 0;
    /** Cells to the left of each beat, and of what comes next. */
    this.left = [0];
    /** Items by turn and number, in the order in which they opened. */
    this.items = new Map();
    this.checks = new Checks();
    this.tokens = 0;
    /** Lines of the prompts by turn, the newest ones. */
    this.prompts = new Map();
    /** Texts of the lines, and the number that the next line has if none is missing. */
    this.lines = [];
    this.expected = 0;
    this.characters = 0;
    this.textLength = 0;
    this.streams = new Map();
  }

  /** Number behind the last beat. */
  get next() { return this.first + this.beats.length; }

  /** The beat with this number, if it is kept. */
  beat(number) { return this.beats[number - this.first]; }

  /** Takes the next line, of which `source` is the text. */
  add(line, source) {
    const gap = line.line - this.expected;
    if (gap > 0) this.#addBeat({ type: "dropped", lines: gap });
    if (Number.isInteger(line.line)) this.expected = line.line + 1;
    this.lines.push(source);
    this.characters += source.length;
    if (line.type === "answer") this.answer = line;
    else this.#addBeat(line);
    if (this.beats.length > MOST_BEATS || this.characters > MOST_CHARACTERS) this.#dropOldest();
  }

  #addBeat(line) {
    if (line.type === "end") this.end = line;
    if (line.type === "turn-end") this.lastEnd = line.end;
    const beat = { number: this.next, line, spans: [], carried: null, linked: false, before: -1, after: -1 };
    if (line.turn !== undefined) this.#join(beat);
    // The token that ended the turn is in no step's list.
    if (line.type === "step") this.tokens += (line.tokens?.length ?? 0) + (line.finish?.stop === undefined ? 0 : 1);
    if (line.type === "prompt") this.#keepPrompt(line);
    this.checks.line(beat, this);
    this.beats.push(beat);
    this.left.push(this.left[this.left.length - 1] + beatCells(beat, this));
  }

  #keepPrompt(line) {
    this.prompts.set(line.turn, line);
    if (this.prompts.size > MOST_PROMPTS) this.prompts.delete(this.prompts.keys().next().value);
  }

  /** The prompt's line of the turn at beat `number`: the first turn's before any. */
  promptAt(number) {
    const { line } = this.beat(number) ?? {};
    if (line?.turn !== undefined) return this.prompts.get(line.turn);
    const all = [...this.prompts.values()];
    return line?.type === "end" ? all[all.length - 1] : all[0];
  }

  /** The segments of a prompt's text, which several choices may share. */
  segmentsOf(line) {
    return line.segments ?? this.prompts.get(line.segments_of)?.segments;
  }

  /** Joins the beat to the beats and items of its turn. */
  #join(beat) {
    const key = beat.line.turn;
    if (beat.line.type === "prompt" || !this.streams.has(key)) {
      this.streams.set(key, { last: -1, held: 0, holding: false, dropping: false, open: null });
    }
    const stream = this.streams.get(key);
    beat.before = stream.last;
    const before = this.beat(stream.last);
    if (before) before.after = beat.number;
    stream.last = beat.number;
    for (const change of beat.line.items ?? []) this.#change(key, stream, beat, change);
    if (stream.open && !beat.spans.some((span) => span.item === stream.open)) beat.carried = stream.open;
    beat.linked = this.#leavesUndecided(stream, beat);
  }

  /** Applies what became of an item. */
  #change(key, stream, beat, change) {
    const name = `${key}.${change.item}`;
    if (!this.items.has(name)) {
      this.items.set(name, {
        name, turn: beat.line.turn, head: {}, text: "", bytes: 0,
        marks: [], openedAt: beat.number, closedAt: -1, status: null, cut: false, opens: 0,
      });
    }
    const item = this.items.get(name);
    let span = beat.spans.find((span) => span.item === item);
    if (!span) beat.spans.push(span = { item, text: "", from: item.bytes, to: item.bytes, opened: false, closed: false });
    if (change.open) {
      item.head = change.open;
      item.opens += 1;
      span.opened = true;
      stream.open = item;
    }
    if (change.range) this.#append(item, span, beat, change);
    if (change.close) {
      item.status = change.close;
      item.closedAt = beat.number;
      span.closed = true;
      if (stream.open === item) stream.open = null;
    }
  }

  #append(item, span, beat, change) {
    if (!span.text) span.from = change.range[0];
    span.text += change.text;
    span.to = item.bytes = change.range[1];
    if (item.cut || this.textLength + change.text.length > MOST_TEXT) {
      item.cut = true;
      return;
    }
    item.text += change.text;
    this.textLength += change.text.length;
    item.marks.push(beat.number, item.text.length);
  }

  /** Whether bytes of the beat are decided in a later beat of its stream. */
  #leavesUndecided(stream, { line, spans }) {
    for (const call of line.calls ?? []) {
      const literal = this.answer?.markers?.[call.marker]?.literal;
      stream.held += byteLength(call.text ?? literal ?? "");
      this.#settle(stream, call.answer);
    }
    // The first step has the parser's calls about the opening, too.
    if (line.type === "prompt") return line.opening?.length > 0;
    if (line.type !== "step") return false;
    const wrote = (line.tokens ?? []).some((token) => token.text !== "");
    const isWaiting = stream.holding || (!spans.length && !stream.dropping);
    return stream.held > 0 || (wrote && !line.calls?.length && isWaiting);
  }

  #settle(stream, answer) {
    if (answer === "pass" || answer?.fault !== undefined) stream.held = 0;
    // A `hold-until` takes text that comes later, too, without a call of the parser.
    stream.holding = answer?.["hold-until"] !== undefined
      || (Array.isArray(answer) && answer[answer.length - 1]?.op === "hold-until");
    if (!Array.isArray(answer)) return;
    for (const op of answer) {
      if (op.op === "bytes") stream.held = Math.max(0, stream.held - op.bytes);
      if (op.route) stream.dropping = op.route === "drop";
      if (op.op.startsWith("until-")) stream.held = 0;
    }
  }

  #dropOldest() {
    const count = Math.ceil(this.beats.length / 4);
    const from = this.left[count];
    this.beats = this.beats.slice(count);
    this.left = this.left.slice(count).map((left) => left - from);
    this.first += count;
    // The line `answer` stays: it names the markers.
    for (const line of this.lines.splice(1, count)) this.characters -= line.length;
    this.checks.forget(this.first);
  }

  /** Number of the beat at `cell` cells from the left. */
  at(cell) {
    let low = 0;
    let high = Math.max(0, this.beats.length - 1);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.left[middle] <= cell) low = middle;
      else high = middle - 1;
    }
    return this.first + low;
  }
}

/** Characters of the item's text that had come by beat `number`. */
export function lengthAt(item, number) {
  const { marks } = item;
  let low = 0;
  let high = marks.length / 2;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (marks[2 * middle] <= number) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? 0 : marks[2 * low - 1];
}

/** The beat that brought the character at `offset` of the item's text. */
export function beatOfCharacter(item, offset) {
  const { marks } = item;
  let low = 0;
  let high = marks.length / 2 - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (marks[2 * middle + 1] > offset) high = middle;
    else low = middle + 1;
  }
  return marks[2 * low] ?? item.openedAt;
}

/** What stands in the lane of tokens where a beat has none. */
export function beatTitle({ type, ...line }) {
  switch (type) {
    case "prompt": return line.tokens ? `prompt, ${line.tokens} tokens` : "prompt";
    case "turn-end": return line.end;
    case "tool": return line.error ? "tool failed" : "tool result";
    case "listed": return `tools of server ${line.server}`;
    case "cancel": return line.code;
    case "dropped": return `${line.lines} lines lost`;
    case "end": return line.state ? `end: ${line.state}` : "end";
    default: return type === "step" ? "" : type;
  }
}

/** The tokens that a beat shows: its own, or those of the opening. */
export const beatTokens = ({ line }) => (line.type === "prompt" ? line.opening : line.type === "step" ? line.tokens : null) ?? [];

/** Cells that a beat needs so that its lanes can be read. */
function beatCells(beat, trace) {
  const { line } = beat;
  const sum = (texts) => texts.reduce((sum, text) => sum + cells(text) + PADDING, 0);
  const title = beatTitle(line);
  let need = sum([...(title ? [title] : []), ...beatTokens(beat).map(tokenText)]);
  for (const call of line.calls ?? []) {
    const literal = trace.answer?.markers?.[call.marker]?.literal;
    if (literal) need = Math.max(need, cells(visible(literal)) + PADDING);
    for (const { words } of answerWords(call.answer)) need = Math.max(need, cells(words) + PADDING);
  }
  need = Math.max(need, cells(eventWords(line.events)) + PADDING, Math.min(12, sum(beat.spans.map((span) => visible(span.text)))));
  return Math.min(WIDE, Math.max(NARROW, need));
}
