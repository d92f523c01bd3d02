// Everything that the cursor's line says: times, tokens, calls of the parser with its answers, items.

import { make } from "./dom.js";
import { beatTitle, beatTokens } from "./trace.js";
import { answerWords, callWords, duration, eventWords, finishWords, itemWords, tokenText, visible } from "./words.js";

export class Detail {
  constructor(box, title) {
    this.box = box;
    this.title = title;
  }

  show(trace) {
    this.trace = trace;
    this.beat = null;
    this.box.replaceChildren();
    this.title.textContent = "Step";
  }

  point(cursor) {
    const beat = this.trace?.beat(cursor);
    if (!beat || this.beat === beat) return;
    this.beat = beat;
    const { line } = beat;
    this.title.textContent = line.type === "step" ? `Step ${line.step}` : beatTitle(line);
    this.box.replaceChildren(...[
      facts(this.trace, beat), tokens(beat), calls(this.trace, beat), changes(beat), words(line),
    ].filter(Boolean));
  }
}

function facts(trace, beat) {
  const { line } = beat;
  const before = trace.beat(beat.number - 1)?.line.ms;
  const gap = typeof line.ms === "number" && typeof before === "number" ? ` (+${duration(line.ms - before)})` : "";
  const rows = [
    ["turn", line.turn === undefined ? "" : String(line.turn)],
    ["at", typeof line.ms === "number" ? `${duration(line.ms)}${gap}` : ""],
    ["parse", typeof line.parse_us === "number" ? `${line.parse_us} µs` : ""],
    ["send", typeof line.send_us === "number" ? `${line.send_us} µs` : ""],
    ["events", eventWords(line.events)],
    ["cached", line.cached ? `${line.cached} tokens` : ""],
    ["finish", finishWords(line.finish)],
  ].filter(([, value]) => value !== "");
  return make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

function table(caption, heads, rows) {
  if (!rows.length) return null;
  const row = (cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, cell)));
  return make("table", {}, make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, ...rows.map(row)));
}

function tokens(beat) {
  const hasOdds = beatTokens(beat).some((token) => token.logprob !== undefined);
  const rows = beatTokens(beat).map((token) => [String(token.id ?? "–"), tokenText(token), ...(hasOdds ? [String(token.logprob ?? "")] : [])]);
  return table("Tokens", ["id", "text", ...(hasOdds ? ["logprob"] : [])], rows);
}

function calls(trace, beat) {
  const markers = trace.answer?.markers ?? [];
  const rows = (beat.line.calls ?? []).map((call) => {
    const answers = answerWords(call.answer).map(({ words, kind }) => make("div", { class: `op ${kind}` }, words));
    return [callWords(call, markers), make("div", {}, ...answers)];
  });
  return table("Parser", ["asked about", "answer"], rows);
}

function changes(beat) {
  const rows = beat.spans.map((span) => [
    itemWords(span.item.head),
    `${span.opened ? "opens, " : ""}${span.from}–${span.to}${span.closed ? `, ${span.item.status}` : ""}`,
    visible(span.text),
  ]);
  return table("Items", ["item", "bytes", "text"], rows);
}

/** What other lines say in words. */
function words(line) {
  const said = [line.fault && `The parser failed: ${line.fault.reason ?? line.fault}`, line.why, line.error, line.output]
    .filter((text) => typeof text === "string" && text !== "");
  return said.length ? make("pre", { class: "words" }, said.join("\n")) : null;
}
