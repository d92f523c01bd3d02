// A line of a trace as the page takes it. A file may hold lines that were written by hand or by
// another version: a field that isn't what docs/inspector.md says is left out, so that it can't stop
// the page.

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const isText = (value) => value === undefined || value === null || typeof value === "string";
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isListOf = (fits) => (value) => Array.isArray(value) && value.every((each) => isObject(each) && fits(each));
const isPair = (value) => Array.isArray(value) && value.length === 2 && value.every(isNumber);
const areNumbers = (value) => isObject(value) && Object.values(value).every(isNumber);

const isToken = ({ text, bytes }) => isText(text) && isText(bytes);
const isAnswer = (answer) => typeof answer === "string" || isObject(answer) || isListOf(({ op }) => typeof op === "string")(answer);
const isCall = ({ text, answer }) => isText(text) && isAnswer(answer);
const isChange = ({ open, range, text }) => (open === undefined || isObject(open))
  && (range === undefined || (isPair(range) && typeof text === "string"));
const isSegment = ({ cut, text, by }) => isNumber(cut) || (typeof text === "string" && isText(by));

/** What a field must be, where the page reads it without looking. */
const FIELDS = {
  line: Number.isInteger, ms: isNumber, parse_us: isNumber, send_us: isNumber, turn: isNumber, step: isNumber,
  cached: isNumber, calls: isListOf(isCall), items: isListOf(isChange), opening: isListOf(isToken), events: isPair,
  markers: isListOf(({ literal }) => typeof literal === "string"), phases: areNumbers, usage: areNumbers,
  finish: (value) => isText(value) || isObject(value), segments: isListOf(isSegment), segments_of: isNumber,
};

/** Reads a line; throws for what is none. */
export function readLine(source) {
  const line = JSON.parse(source);
  if (!isObject(line) || typeof line.type !== "string") throw new Error("not a line of a trace");
  const fields = { ...FIELDS, tokens: line.type === "step" ? isListOf(isToken) : isNumber };
  for (const [name, fits] of Object.entries(fields)) {
    if (name in line && !fits(line[name])) delete line[name];
  }
  return line;
}
