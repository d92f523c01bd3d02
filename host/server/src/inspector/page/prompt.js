// The prompt of the turn at the cursor: its text in parts, each with the word of who wrote it, and
// special tokens as such. Long prompts are shown in excerpts, and what is out of sight isn't laid out.

import { button, make, say } from "./dom.js";
import { counted, legible } from "./words.js";

/** Parts that are shown at first, and characters of each. */
const MOST_PARTS = 60;
const MOST_CHARACTERS = 2000;
/** Characters behind which a text goes on in a block of its own, from the next line on. */
const BLOCK = 8000;

/** Names of the authors, in the order of the legend. */
const AUTHORS = {
  template: "template", system: "system", developer: "developer", tools: "tool list", user: "user", assistant: "assistant",
  tool: "tool result", arguments: "arguments", client: "client", value: "printed value", unknown: "unknown",
};
const authorOf = ({ by }) => (by in AUTHORS ? by : "unknown");

/** Segments of one author behind one another as parts: `{ by, tokens, segments }`, or `{ cut }`. */
function partsOf(segments) {
  const parts = [];
  for (const segment of segments) {
    const last = parts[parts.length - 1];
    const by = authorOf(segment);
    if (segment.cut !== undefined) parts.push({ cut: segment.cut });
    else if (last?.by === by) last.segments.push(segment);
    else parts.push({ by, segments: [segment] });
  }
  return parts;
}

export class PromptPane {
  /** `box` is the `details` element, `facts` its legend, `text` what holds the parts. */
  constructor(box, facts, text) {
    Object.assign(this, { box, facts, text, line: null });
    box.addEventListener("toggle", () => this.#draw());
  }

  show(trace) {
    this.trace = trace;
    this.line = null;
    this.box.hidden = true;
  }

  /** Shows the prompt of the turn at beat `cursor`. */
  point(cursor) {
    const line = this.trace?.promptAt(cursor) ?? null;
    if (line === this.line) return;
    this.line = line;
    this.box.hidden = !line;
    if (!line) return;
    this.segments = this.trace.segmentsOf(line);
    this.#legend();
    this.#draw();
  }

  #legend() {
    const counts = new Map();
    for (const segment of this.segments ?? []) {
      if (segment.cut === undefined) counts.set(authorOf(segment), (counts.get(authorOf(segment)) ?? 0) + (segment.tokens ?? 0));
    }
    const of = Object.keys(AUTHORS).filter((by) => counts.has(by));
    const several = this.trace.prompts.size > 1 ? ` of turn ${this.line.turn}` : "";
    this.facts.replaceChildren(
      make("span", { class: "all" }, `${counted(this.line.tokens)} tokens${several}`),
      ...of.map((by) => make("span", { class: `author by-${by}` }, `${AUTHORS[by]} ${counted(counts.get(by))}`)),
    );
  }

  #draw() {
    this.text.replaceChildren();
    if (!this.box.open || !this.line) return;
    if (!this.segments?.length) {
      this.text.append(make("p", { class: "note" }, "These lines don't hold the prompt's text."));
      return;
    }
    const parts = partsOf(this.segments).map(partView);
    const hidden = parts.length > MOST_PARTS ? parts.splice(MOST_PARTS / 2, parts.length - MOST_PARTS) : [];
    this.text.append(...parts);
    if (!hidden.length) return;
    const more = button(`Show ${counted(hidden.length)} more parts`, { class: "quiet" }, () => more.replaceWith(...hidden));
    parts[MOST_PARTS / 2 - 1].after(more);
  }
}

function partView({ cut, by, segments }) {
  if (cut !== undefined) return make("p", { class: "note cut" }, `${counted(cut)} tokens are left out here`);
  const body = make("div", { class: "text" });
  const length = segments.reduce((sum, { text }) => sum + text.length, 0);
  const all = () => body.replaceChildren(...blocks(segments, Infinity));
  body.append(...blocks(segments, MOST_CHARACTERS));
  if (length > MOST_CHARACTERS) body.append(button(`Show all ${counted(length)} characters`, { class: "quiet" }, all));
  const label = make("span", { class: "by" }, AUTHORS[by]);
  return make("div", { class: `part by-${by}` }, label, body);
}

/** The text of segments as blocks, up to `most` characters. */
function blocks(segments, most) {
  const made = [make("pre")];
  let left = most;
  for (const segment of segments) {
    if (left <= 0) break;
    const text = segment.text.slice(0, left);
    left -= text.length;
    if (segment.id !== undefined) {
      made[made.length - 1].append(make("span", { class: "special", title: `token ${segment.id}` }, legible(text)));
      continue;
    }
    for (const [index, piece] of pieces(text).entries()) {
      if (index > 0) made.push(make("pre"));
      made[made.length - 1].append(segment.by === "template" ? legible(piece).replaceAll("\n", "↵\n") : legible(piece));
    }
  }
  return made;
}

/** A long text in pieces that end with a line. */
function pieces(text) {
  const found = [];
  let from = 0;
  for (let at = text.indexOf("\n", BLOCK); at >= 0 && at + 1 < text.length; at = text.indexOf("\n", from + BLOCK)) {
    found.push(text.slice(from, at));
    from = at + 1;
  }
  return [...found, text.slice(from)];
}
