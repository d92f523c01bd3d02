// What came of a token, and what an op, an item's range or an event came from.
//
// A step's bytes may be decided in a later step (held by the parser, or a marker's beginning that
// the host holds back). Such steps are linked: what came of one is looked for in all of them. Within
// linked steps, tokens, calls and ranges are matched by their bytes, one behind the other; a range
// that the server has rewritten (escaped arguments, say) matches none and so belongs to all of them.

/** Linked steps that are looked through. */
const MOST = 200;
const ENCODER = new TextEncoder();

/** A text's bytes as a string of one character each, so that they can be searched. */
const bytesOf = (text) => Array.from(ENCODER.encode(text), (byte) => String.fromCharCode(byte)).join("");

/** The bytes that a token says. */
const bytesOfToken = ({ text, bytes }) => (typeof text === "string" ? bytesOf(text)
  : (bytes ?? "").replace(/../g, (byte) => String.fromCharCode(parseInt(byte, 16))));

/** The beats that are linked with beat `number`, in order. */
function group(trace, number) {
  const numbers = [number];
  const go = (way, continues) => {
    let beat = trace.beat(number);
    while (numbers.length < MOST) {
      const other = trace.beat(beat[way]);
      if (!other || !continues(beat, other)) return;
      numbers.push(other.number);
      beat = other;
    }
  };
  go("before", (_, other) => other.linked);
  go("after", (here) => here.linked);
  return numbers.sort((one, other) => one - other).map((each) => trace.beat(each));
}

/** Gives each piece its place in `bytes`, one behind the other; one that isn't there gets `elsewhere`. */
function place(pieces, bytes, elsewhere) {
  let at = 0;
  for (const piece of pieces) {
    const found = piece.bytes ? bytes.indexOf(piece.bytes, at) : -1;
    piece.range = found >= 0 ? [found, found + piece.bytes.length] : piece.bytes ? elsewhere(at) : [at, at];
    if (found >= 0) at = piece.range[1];
  }
  return pieces;
}

/**
 * Widens the place of each call that decides to all bytes that were held till then, since its answer
 * is about them, too.
 */
function widen(calls) {
  let held = 0;
  for (const { range, bytes, answer } of calls) {
    held += bytes.length;
    if (answer === "hold" || answer?.["hold-until"]) continue;
    range.splice(0, 1, Math.max(0, range[1] - held));
    const ops = Array.isArray(answer) ? answer : [{ op: "until-marker" }];
    const routed = ops.reduce((sum, op) => sum + (op.op === "bytes" ? op.bytes : 0), 0);
    held = ops.some(({ op }) => op.startsWith("until-")) ? 0 : Math.max(0, held - routed);
  }
  return calls;
}

/** The pieces of linked beats, with their places in the bytes that the tokens say together. */
function pieces(trace, beats) {
  const tokens = [];
  const calls = [];
  const spans = [];
  let all = "";
  for (const { number, line, spans: own } of beats) {
    const said = line.type === "prompt" ? line.opening : line.type === "step" ? line.tokens : null;
    (said ?? []).forEach((token, index) => {
      const from = all.length;
      all += bytesOfToken(token);
      tokens.push({ beat: number, kind: "token", index, range: [from, all.length] });
    });
    (line.calls ?? []).forEach((call, index) => {
      const literal = trace.answer?.markers?.[call.marker]?.literal;
      calls.push({ beat: number, kind: "call", index, bytes: bytesOf(call.text ?? literal ?? ""), answer: call.answer });
    });
    own.forEach((span, index) => spans.push({ beat: number, kind: "span", index, bytes: bytesOf(span.text) }));
  }
  return [...tokens, ...widen(place(calls, all, (at) => [at, at])), ...place(spans, all, () => [0, all.length])];
}

/** Whether two places have a byte in common; an empty one belongs to none. */
const meet = ([from, to], [start, end]) => from < end && start < to;

/**
 * What belongs to a piece: a set of `BEAT/KIND/INDEX`, with `BEAT/events` of the beats whose events
 * come of it. Without a kind it is everything of the beat.
 */
export function related(trace, number, kind, index) {
  if (!trace.beat(number)) return new Set();
  const all = pieces(trace, group(trace, number));
  const isChosen = (piece) => piece.beat === number && (!kind || (piece.kind === kind && piece.index === index));
  const chosen = all.filter(isChosen);
  const found = new Set([`${number}/events`]);
  for (const piece of all) {
    if (!isChosen(piece) && !chosen.some((one) => meet(one.range, piece.range))) continue;
    found.add(`${piece.beat}/${piece.kind}/${piece.index}`);
    if (piece.kind === "span") found.add(`${piece.beat}/events`);
  }
  return found;
}
