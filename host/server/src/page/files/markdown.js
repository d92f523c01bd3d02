// A small part of Markdown, as elements: paragraphs, headings, lists, quotes, tables, rules, code,
// bold and italic text, links. What isn't read stays the text that it is. Nothing that is made here
// loads anything: pictures stay text, and a link waits for its reader and shows where it goes.

import { copyButton } from "./copy.js";
import { make } from "./dom.js";

/** Longest run of text that is searched for marks, which bounds the time that a hostile one takes. */
const SEARCHED = 20_000;
const DEEPEST = 8;

const FENCE = /^(\s*)(`{3,}|~{3,})\s*([\w+#.-]*)[^`]*$/;
const HEADING = /^(#{1,6})\s+(.*)$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const RULE = /^\s*([-*_])(\s*\1){2,}\s*$/;
const MARKS = /(`{1,2})(?!`)(.{1,2000}?)(?<!`)\1(?!`)|\*\*(?=\S)([^]{1,2000}?\S)\*\*|(?<![\w*])\*(?=[^\s*])([^*\n]{1,500}?)(?<=\S)\*(?![\w*])|\[([^\]\n]{1,500})\]\((https?:\/\/[^\s)]{1,2000})\)|(https?:\/\/[^\s<>"'`)\]]{1,2000}(?<![.,;:!?]))/g;

/** Draws `text` in `element`, and leaves the blocks alone that it has drawn before. */
export class Markdown {
  constructor(element) {
    this.element = element;
    this.sources = [];
  }

  draw(text) {
    const all = blocks(text);
    all.forEach((block, index) => {
      const source = JSON.stringify(block);
      if (this.sources[index] === source) return;
      this.sources[index] = source;
      const old = this.element.children[index];
      if (old) old.replaceWith(render(block));
      else this.element.append(render(block));
    });
    while (this.element.children.length > all.length) this.element.lastElementChild.remove();
    this.sources.length = all.length;
  }
}

/** What a line begins; paragraphs are all else. */
function kindOf(line) {
  if (RULE.test(line)) return "rule";
  if (HEADING.test(line)) return "heading";
  if (ITEM.test(line)) return "list";
  if (line.startsWith(">")) return "quote";
  return line.startsWith("|") ? "table" : "text";
}

/** Splits a text into blocks `{ kind, lines }`. */
function blocks(text) {
  const found = [];
  let open = null;
  let fence = null;
  for (const line of text.split("\n")) {
    if (fence) {
      if (line.trim().startsWith(fence) && line.trim().replaceAll(fence[0], "") === "") [fence, open] = [null, null];
      else open.lines.push(line);
      continue;
    }
    const [, indent, mark, language] = line.match(FENCE) ?? [];
    if (mark) {
      fence = mark;
      found.push(open = { kind: "code", lines: [], language, indent: indent.length });
    } else if (line.trim() === "") {
      open = null;
    } else {
      const kind = kindOf(line);
      const continues = open && (open.kind === kind || (open.kind === "list" && kind === "text")) && !["heading", "rule"].includes(kind);
      if (continues) open.lines.push(line);
      else found.push(open = { kind, lines: [line] });
    }
  }
  return found;
}

function render({ kind, lines, language, indent }) {
  switch (kind) {
    case "code": return code(lines.map((line) => line.slice(Math.min(indent, line.search(/\S|$/)))).join("\n"), language);
    case "heading": return heading(lines[0]);
    case "list": return list(lines);
    case "quote": return make("blockquote", {}, ...inline(lines.map((line) => line.replace(/^>\s?/, "")).join("\n")));
    case "rule": return make("hr");
    case "table": return table(lines) ?? make("p", {}, ...inline(lines.join("\n")));
    default: return make("p", {}, ...inline(lines.join("\n")));
  }
}

/** The page has headings of its own above those of an answer. */
function heading(line) {
  const [, marks, text] = line.match(HEADING);
  return make(`h${Math.min(6, marks.length + 2)}`, {}, ...inline(text));
}

/** A text that keeps its lines, and can be copied. */
function code(text, language = "") {
  const copy = copyButton(() => text, { title: "Copy the code" });
  return make("figure", { class: "code" }, make("figcaption", {}, make("span", {}, language), copy), make("pre", { tabindex: "0" }, make("code", {}, text)));
}

/** Nested lists, by indentation; lines between items belong to the item before. */
function list(lines) {
  const root = make("div");
  const open = [];
  for (const line of lines) {
    const [, indent, mark, text] = line.match(ITEM) ?? [];
    if (mark === undefined) {
      open.at(-1).list.lastElementChild.append("\n", ...inline(line.trim()));
      continue;
    }
    const depth = indent.replaceAll("\t", "    ").length;
    while (open.length > 1 && depth < open.at(-1).depth) open.pop();
    if (!open.length || (depth > open.at(-1).depth + 1 && open.length < DEEPEST)) {
      const ordered = /\d/.test(mark);
      const made = make(ordered ? "ol" : "ul", ordered ? { start: parseInt(mark, 10) } : {});
      (open.at(-1)?.list.lastElementChild ?? root).append(made);
      open.push({ depth, list: made });
    }
    open.at(-1).list.append(make("li", {}, ...inline(text)));
  }
  return root;
}

function table(lines) {
  const [head, rule, ...rows] = lines.map((line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim()));
  if (!rule?.every((cell) => /^:?-+:?$/.test(cell))) return null;
  const row = (tag, cells) => make("tr", {}, ...cells.map((cell) => make(tag, {}, ...inline(cell))));
  return make("div", { class: "wide", tabindex: "0" },
    make("table", {}, make("thead", {}, row("th", head)), make("tbody", {}, ...rows.map((cells) => row("td", cells)))));
}

/** Text with its marks, as nodes. */
function inline(text, depth = 0) {
  if (text.length > SEARCHED || depth > 2) return [text];
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(MARKS)) {
    const [whole, , coded, bold, italic, label, target, plain] = found;
    nodes.push(text.slice(from, found.index));
    from = found.index + whole.length;
    if (coded !== undefined) nodes.push(make("code", {}, coded));
    else if (bold !== undefined) nodes.push(make("strong", {}, ...inline(bold, depth + 1)));
    else if (italic !== undefined) nodes.push(make("em", {}, ...inline(italic, depth + 1)));
    else if (label !== undefined) nodes.push(`${label} (`, link(target), ")");
    else nodes.push(link(plain));
  }
  nodes.push(text.slice(from));
  return nodes.filter((node) => node !== "");
}

const link = (target) => make("a", { href: target, target: "_blank", rel: "noopener noreferrer nofollow" }, target);
