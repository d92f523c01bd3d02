// One beat of the time line as elements: a column with a cell in each lane.

import { make } from "./dom.js";
import { beatTitle, beatTokens } from "./trace.js";
import { answerWords, eventWords, finishWords, itemWords, tokenText, visible } from "./words.js";

/** Ops that have room; a beat with more says how many are left. */
const MOST_OPS = 4;

/** Class that colours what belongs to an item. */
export function itemClass(head) {
  return { reasoning: "reasoning", message: "message", tool_call: "call" }[head?.type] ?? "other";
}

/** The column of a beat. Its pieces carry `data-piece`, by which they are highlighted. */
export function beatView(trace, beat) {
  const column = make("div", { class: `beat ${beat.line.type}`, role: "option", id: `beat-${beat.number}`, "aria-label": spoken(trace, beat) });
  column.dataset.beat = beat.number;
  column.append(clock(beat), tokens(beat), markers(trace, beat), ops(trace, beat), items(beat), events(beat));
  return column;
}

function piece(beat, kind, index, attributes, text) {
  const element = make("span", attributes, text);
  element.dataset.piece = `${beat.number}/${kind}${index === undefined ? "" : `/${index}`}`;
  return element;
}

function clock({ line }) {
  const number = line.type === "step" ? String(line.step) : "";
  const ms = line.ms === undefined || line.ms === null ? "" : `${Math.round(line.ms * 10) / 10}`;
  return make("div", { class: "cell clock" }, make("span", { class: "number" }, number), make("span", { class: "ms" }, ms));
}

function tokens(beat) {
  const cell = make("div", { class: "cell tokens" });
  const title = beatTitle(beat.line);
  if (title) cell.append(piece(beat, "title", undefined, { class: "title", title }, title));
  const opening = beat.line.type === "prompt";
  beatTokens(beat).forEach((token, index) => {
    const text = tokenText(token);
    const title = `${text}  id ${token.id ?? "–"}${token.logprob === undefined ? "" : `  logprob ${token.logprob}`}`;
    cell.append(piece(beat, "token", index, { class: opening ? "token opening" : "token", title }, text));
  });
  return cell;
}

function markers(trace, beat) {
  const cell = make("div", { class: "cell markers" });
  (beat.line.calls ?? []).forEach((call, index) => {
    if (call.marker === undefined) return;
    const marker = trace.answer?.markers?.[call.marker];
    const text = visible(marker?.literal ?? String(call.marker));
    const how = marker?.id === null || marker?.id === undefined ? "found in the text" : `token ${marker.id}`;
    cell.append(piece(beat, "call", index, { class: marker?.stop ? "marker stop" : "marker", title: `${text}  ${how}` }, text));
  });
  const finish = finishWords(beat.line.finish);
  if (finish) cell.append(piece(beat, "finish", undefined, { class: "marker stop", title: `the engine ended: ${finish}` }, finish));
  return cell;
}

function ops(trace, beat) {
  const cell = make("div", { class: "cell ops" });
  const all = (beat.line.calls ?? []).flatMap((call, index) =>
    answerWords(call.answer).map((answer) => ({ ...answer, index })));
  const turnFault = beat.line.fault && !all.some(({ kind }) => kind === "fault");
  if (turnFault) all.push({ words: "parser failed", kind: "fault", index: 0 });
  // A fault is always among those that are shown.
  const order = all.length > MOST_OPS ? [...all].sort((one, other) => (other.kind === "fault") - (one.kind === "fault")) : all;
  const shown = order.slice(0, all.length > MOST_OPS ? MOST_OPS - 1 : MOST_OPS);
  for (const { words, kind, index } of shown) {
    cell.append(piece(beat, "call", index, { class: `op ${kind}`, title: words }, words));
  }
  if (shown.length < all.length) cell.append(make("span", { class: "more" }, `+${all.length - shown.length} more`));
  return cell;
}

function items(beat) {
  const cell = make("div", { class: "cell items" });
  if (!beat.spans.length && beat.carried) {
    cell.append(make("span", { class: `span carried ${itemClass(beat.carried.head)}` }));
  }
  beat.spans.forEach((span, index) => {
    const kind = itemClass(span.item.head);
    const ends = `${span.opened ? " opened" : ""}${span.closed ? " closed" : ""}`;
    const title = `${itemWords(span.item.head)}  bytes ${span.from} to ${span.to}${span.opened ? ", opens" : ""}${span.closed ? `, closes (${span.item.status})` : ""}`;
    const element = piece(beat, "span", index, { class: `span ${kind}${ends}`, title }, visible(span.text));
    // An item that stays open reaches to the next beat.
    const staysOpen = index === beat.spans.length - 1 && !span.closed;
    element.style.flexGrow = String(Math.min(60, Math.max(span.text.length, staysOpen ? 1 : 0)));
    cell.append(element);
  });
  return cell;
}

function events(beat) {
  const cell = make("div", { class: "cell events" });
  const words = eventWords(beat.line.events);
  if (words) cell.append(piece(beat, "events", undefined, { class: "event", title: `events ${words}` }, words));
  return cell;
}

/** What a screen reader says of the beat. */
function spoken(trace, beat) {
  const { line } = beat;
  const parts = [line.type === "step" ? `step ${line.step}` : beatTitle(line)];
  const said = beatTokens(beat).map(tokenText).join(" ");
  if (said) parts.push(`tokens ${said}`);
  for (const call of line.calls ?? []) {
    if (call.marker !== undefined) parts.push(`marker ${trace.answer?.markers?.[call.marker]?.literal ?? call.marker}`);
    parts.push(...answerWords(call.answer).map(({ words }) => words));
  }
  for (const { item, from, to } of beat.spans) parts.push(`${itemWords(item.head)}, bytes ${from} to ${to}`);
  const words = eventWords(line.events);
  if (words) parts.push(`events ${words}`);
  return parts.join("; ");
}

