// The items of the answer, put together from the lines up to the cursor: reasoning, text, calls.
// What the cursor's beat has written is marked; a click on a text moves to the beat that brought it.

import { itemClass } from "./beat_view.js";
import { button, make, say } from "./dom.js";
import { beatOfCharacter, lengthAt } from "./trace.js";
import { itemWords } from "./words.js";

/** Characters of an item that are shown; a button shows the rest. */
const MOST_SHOWN = 20_000;

export class Items {
  /** `go(number)` is called with the beat that a text comes from. */
  constructor(box, go) {
    this.box = box;
    this.go = go;
    this.cards = new Map();
  }

  show(trace) {
    this.trace = trace;
    this.cards.clear();
    this.box.replaceChildren();
  }

  /** Shows the items as they were at beat `cursor`. */
  point(cursor) {
    if (!this.trace) return;
    const several = new Set([...this.trace.items.values()].map(({ turn }) => turn)).size > 1;
    for (const item of this.trace.items.values()) {
      const card = this.cards.get(item.name) ?? this.#card(item, several);
      card.section.hidden = item.openedAt > cursor;
      if (!card.section.hidden) this.#fill(card, item, cursor);
    }
  }

  #card(item, several) {
    const text = make("pre", { class: "text", tabindex: "-1" });
    const parts = { before: document.createTextNode(""), now: make("mark"), after: document.createTextNode("") };
    text.append(parts.before, parts.now);
    const name = make("button", { type: "button", class: "name", title: "Go to where the item opens" });
    const state = make("span", { class: "state" });
    const where = several ? make("span", { class: "where" }, `turn ${item.turn}`) : null;
    const rest = button("Show earlier text", { class: "quiet" }, () => {
      card.all = true;
      this.point(this.cursorNow);
    });
    const section = make("section", { class: "item", "aria-label": itemWords(item.head) }, make("header", {}, name, where, state), rest, text);
    const card = { section, name, state, text, parts, rest, all: false };
    name.addEventListener("click", () => this.go(item.openedAt));
    text.addEventListener("click", (event) => this.#onText(event, item, card));
    this.cards.set(item.name, card);
    this.box.append(section);
    return card;
  }

  #fill(card, item, cursor) {
    this.cursorNow = cursor;
    const end = lengthAt(item, cursor);
    const begin = lengthAt(item, cursor - 1);
    const from = card.all ? 0 : Math.max(0, end - MOST_SHOWN);
    card.section.classList.remove("reasoning", "message", "call", "other");
    card.section.classList.add(itemClass(item.head));
    say(card.name, itemWords(item.head));
    say(card.state, stateWords(item, cursor));
    card.state.classList.toggle("bad", item.status === "incomplete" && item.closedAt <= cursor);
    card.rest.hidden = from === 0;
    card.from = from;
    if (card.end === end && card.begin === begin && card.begun === from) return;
    extend(card.parts.before, item.text, from, Math.max(from, begin), card.begun === from);
    say(card.parts.now, item.text.slice(Math.max(from, begin), end));
    if (end > begin) card.text.scrollTop = card.text.scrollHeight;
    Object.assign(card, { end, begin, begun: from });
  }

  #onText(event, item, card) {
    if (!getSelection().isCollapsed) return;
    const place = document.caretPositionFromPoint?.(event.clientX, event.clientY)
      ?? fromRange(document.caretRangeFromPoint?.(event.clientX, event.clientY));
    if (!place) return;
    const inMark = card.parts.now.contains(place.offsetNode);
    this.go(beatOfCharacter(item, card.from + place.offset + (inMark ? card.parts.before.length : 0)));
  }
}

const fromRange = (range) => range && { offsetNode: range.startContainer, offset: range.startOffset };

/** Makes a text node hold `text[from, to)`; where it grew only what is new is added. */
function extend(node, text, from, to, sameStart) {
  const have = node.length;
  if (!sameStart || have > to - from) node.data = text.slice(from, to);
  else if (have < to - from) node.appendData(text.slice(from + have, to));
}

function stateWords(item, cursor) {
  const closed = item.closedAt >= 0 && item.closedAt <= cursor;
  const state = closed ? item.status : "open";
  const call = item.head.call_id ? ` · ${item.head.call_id}` : "";
  return `${state}${item.cut ? " · text cut" : ""}${call}`;
}
