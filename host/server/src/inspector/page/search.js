// Finding places on the time line: a text in the tokens, the next marker, finding or item.

/** Number of the next beat in whose tokens `text` begins, from behind `cursor` on and round; -1: none. */
export function findNext(trace, text, cursor) {
  if (!text) return -1;
  const starts = [];
  let whole = "";
  for (const { line } of trace.beats) {
    starts.push(whole.length);
    if (line.type === "step") for (const token of line.tokens ?? []) whole += token.text ?? "";
  }
  // Lower case may change a text's length, so that it's taken only where it doesn't.
  const lower = whole.toLowerCase();
  const [text_, whole_] = lower.length === whole.length ? [text.toLowerCase(), lower] : [text, whole];
  const behind = starts[cursor + 1 - trace.first] ?? whole.length;
  let found = whole_.indexOf(text_, behind);
  if (found < 0) found = whole_.indexOf(text_);
  return found < 0 ? -1 : trace.first + lastAtMost(starts, found);
}

/** The last place in a rising list whose value is at most `value`. */
function lastAtMost(list, value) {
  let low = 0;
  let high = list.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (list[middle] <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Number of the next beat behind `cursor` that has a `marker`, a `finding`, or the opening of an `item`; -1: none. */
export function nextOf(trace, what, cursor) {
  const found = new Set(trace.checks.findings.map(({ beat }) => beat));
  const has = {
    marker: ({ line }) => line.calls?.some((call) => call.marker !== undefined),
    finding: ({ number }) => found.has(number),
    item: ({ spans }) => spans.some((span) => span.opened),
  }[what];
  const beat = trace.beats.find((beat) => beat.number > cursor && has(beat));
  return beat ? beat.number : -1;
}
