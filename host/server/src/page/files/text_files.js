// Files of text beside a question. Each is a part of the question's message, and begins with a line
// that names it.

/** Bytes of the largest file, and of all beside one question. */
export const MOST = 256 << 10;

const HEAD = /^File "([^"\n]*)":\n\n/;

/** A file as a part. */
export const partOfFile = ({ name, text }) => `File "${name.replaceAll(/["\n]/g, "'")}":\n\n${text}`;

/** The file that a part is, or null. */
export function fileOfPart(part) {
  const head = part.match(HEAD);
  return head && { name: head[1], text: part.slice(head[0].length) };
}

/** Reads a file beside those that there are: `{ name, text }`, or an error with a reason. */
export async function readFile(file, others) {
  const room = MOST - others.reduce((sum, { text }) => sum + new Blob([text]).size, 0);
  if (file.size > room) {
    throw new Error(`${file.name} is too large: the files beside a question may have ${MOST >> 10} KiB together.`);
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    if (!text.includes("\0")) return { name: file.name, text };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  throw new Error(`${file.name} isn't a file of text (UTF-8).`);
}
