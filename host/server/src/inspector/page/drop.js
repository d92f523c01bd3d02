// Files that are dropped onto the page, by what they hold: a parser, a record, the lines of a trace,
// a case, or the raw output of a model. Nothing is installed anywhere: a parser that is dropped here
// serves the page's own questions only.

/** Bytes of the largest file of each kind. */
const MOST = { parser: 8 << 20, record: 64 << 20, text: 256 << 10, lines: 64 << 20 };

/** What a file is: `{ kind, name, … }`, or an error with a reason that the operator can act on. */
export async function readFile(file) {
  const name = file.name;
  if (name.endsWith(".wasm")) {
    return { kind: "parser", name, data: await base64(bounded(file, MOST.parser)) };
  }
  if (name.endsWith(".slrec")) {
    return { kind: "record", name, data: await base64(bounded(file, MOST.record)) };
  }
  const text = await bounded(file, MOST.lines).text();
  const lines = traceLines(text);
  if (lines) return { kind: "lines", name, lines };
  if (file.size > MOST.text) throw new Error(`${name} has more than 256 KiB of text.`);
  const read = caseOf(text);
  return read ? { kind: "case", name, ...read } : { kind: "raw", name, raw: text };
}

function bounded(file, most) {
  if (file.size > most) throw new Error(`${file.name} is larger than ${most >> 20} MiB.`);
  return file;
}

async function base64(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

/** The lines of a trace, as the page saves them or as `curl` shows the stream; null for other texts. */
function traceLines(text) {
  const lines = text.split(/\r?\n/).map((line) => line.replace(/^data: ?/, "")).filter((line) => line.startsWith("{"));
  try {
    return JSON.parse(lines[0]).type === "answer" ? lines : null;
  } catch {
    return null;
  }
}

/** The fields of a case; null for other texts. */
function caseOf(text) {
  if (!text.startsWith("{")) return null;
  try {
    const { chunks, tools, generation_prompt: generationPrompt, finish } = JSON.parse(text);
    if (!Array.isArray(chunks)) return null;
    const raw = chunks.map((chunk) => (typeof chunk === "string" ? chunk : chunk.text ?? "")).join("");
    return { raw, tools, generationPrompt, finish };
  } catch {
    return null;
  }
}
