// How what a trace holds is written on the page: white space that can be seen, ops, routes, times,
// and the width that a text takes in cells of the monospaced font.

const ENCODER = new TextEncoder();
const SIGNS = { " ": "·", "\n": "↵", "\r": "␍", "\t": "⇥" };
/** Control characters, and those that turn the direction of text around. */
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Length in bytes of UTF-8, as ranges and ops count. */
export const byteLength = (text) => ENCODER.encode(text).length;

/** A text in one line, with signs for white space and control characters. */
export function visible(text) {
  const shown = text.replace(/[ \n\r\t]/g, (space) => SIGNS[space]);
  return legible(shown);
}

/** A text with signs for control characters. */
export const legible = (text) => text.replace(CONTROL, (sign) => `⟨${sign.codePointAt(0).toString(16)}⟩`);

/** Cells that a text takes; East Asian characters and emoji take two. */
export function cells(text) {
  if (/^[\u0020-\u024f]*$/.test(text)) return text.length;
  let count = 0;
  for (const character of text) {
    const code = character.codePointAt(0);
    count += (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf)
      || (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xff60)
      || (code >= 0x1f300 && code <= 0x3fffd) ? 2 : 1;
  }
  return count;
}

/** A token as text: what its bytes say alone, or the bytes. */
export const tokenText = (token) => (token.text !== undefined && token.text !== null
  ? visible(token.text) : `0x${token.bytes ?? ""}`);

/** An op in a few words. */
export function opWords(op) {
  switch (op.op) {
    case "bytes": return `${op.route} ${op.bytes}`;
    case "until-marker": return `${op.route} → marker`;
    case "until-byte": return `${op.route} → ${visible(op.ends)}`;
    case "until-json": return `${op.route} → json ${op.depth}`;
    case "message": return op.phase ? `message ${op.phase}` : "message";
    case "tool-call": return `call ${op.name}`;
    case "derived-arguments": return `+ ${visible(op.text)}`;
    case "parameter": return `param ${path(op.path)}`;
    case "hold-until": return `hold → ${visible(op.ends)}`;
    case "note": return `note ${op.name}`;
    default: return op.op;
  }
}

const path = (steps) => (steps ?? []).map((step) => (typeof step === "object" ? JSON.stringify(step) : step)).join(".");

/** What the parser answered, as a list of `{ words, kind }`; the kind colours it. */
export function answerWords(answer) {
  if (typeof answer === "string") return [{ words: answer, kind: answer === "hold" ? "hold" : "op" }];
  if (Array.isArray(answer)) return answer.map((op) => ({ words: opWords(op), kind: opKind(op) }));
  if (answer && "fault" in answer) return [{ words: `fault: ${answer.fault}`, kind: "fault" }];
  const hold = answer?.["hold-until"];
  return [{ words: hold ? opWords({ op: "hold-until", ...hold }) : JSON.stringify(answer), kind: "hold" }];
}

function opKind(op) {
  if (op.op === "hold-until") return "hold";
  if (op.op === "broken-call") return "fault";
  return op.route === "drop" ? "drop" : "op";
}

/** What a call of the parser was about. */
export function callWords(call, markers) {
  if (call.marker !== undefined) return `marker ${visible(markers[call.marker]?.literal ?? String(call.marker))}`;
  if (call.finish !== undefined) return `finish ${call.finish}`;
  return `text ${visible(call.text ?? "")}`;
}

/** Numbers of events, `[first, behind the last]`. */
export function eventWords(events) {
  if (!Array.isArray(events) || events[1] <= events[0]) return "";
  return events[1] - events[0] === 1 ? `${events[0]}` : `${events[0]}–${events[1] - 1}`;
}

/** Milliseconds for a reader. */
export function duration(ms) {
  if (typeof ms !== "number") return "–";
  if (ms >= 1000) return `${(ms / 1000).toFixed(ms >= 10_000 ? 1 : 2)} s`;
  return `${ms >= 100 ? Math.round(ms) : ms.toFixed(1)} ms`;
}

/** A number with its thousands apart. */
export const counted = (value) => (value ?? 0).toLocaleString("en");

/** Why the engine ended. */
export function finishWords(finish) {
  if (finish === null || finish === undefined) return "";
  if (typeof finish === "string") return finish;
  if ("stop" in finish) return `stop ${finish.stop}`;
  return `error ${finish.error}`;
}

/** An item's name on the page. */
export function itemWords(head) {
  if (head?.type === "tool_call") return head.name ? `Call ${head.name}` : "Call";
  if (head?.type === "reasoning") return "Reasoning";
  if (head?.type === "message") return head.phase ? `Text · ${head.phase}` : "Text";
  return head?.type ?? "Item";
}
