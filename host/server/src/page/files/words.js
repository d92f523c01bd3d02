// How texts and figures are written on the page.

/** Control characters, and those that turn the direction of the text behind them around. */
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** A text of a model, a tool or a file, with signs for characters that would hide or turn what is there. */
export const shown = (text) => text.replace(/\r\n/g, "\n").replace(CONTROL, (sign) => `⟨${sign.codePointAt(0).toString(16)}⟩`);

/** A number with its thousands apart. */
export const counted = (value) => (value ?? 0).toLocaleString("en");

/** Shortest time, in milliseconds, that tokens are counted by: what comes at once has no speed. */
const LEAST_MS = 5;

const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`;

/** Tokens and times of an answer, as `/stats` of `host chat` has them. */
export function figureWords({ usage, times }) {
  const words = [];
  if (usage) {
    const cached = usage.input_tokens_details?.cached_tokens ?? 0;
    const reasoning = usage.output_tokens_details?.reasoning_tokens ?? 0;
    words.push(`${counted(usage.input_tokens)} tokens in (${counted(cached)} cached)`, `${counted(usage.output_tokens)} out (${counted(reasoning)} of reasoning)`);
  }
  if (times.first !== null) words.push(`first after ${seconds(times.first - times.sent)}`);
  const rest = times.first === null ? 0 : times.ended - times.first;
  if (usage?.output_tokens > 1 && rest >= LEAST_MS) words.push(`then ${((usage.output_tokens - 1) / rest * 1000).toFixed(1)} tok/s`);
  words.push(`${seconds(times.ended - times.sent)} in all`);
  return words.join(" · ");
}
