// The lanes: tokens, markers, ops, items and events of the answer on one time line, which scrolls
// sideways. Only the beats in sight are elements, so an answer of any length scrolls smoothly.

import { beatView } from "./beat_view.js";
import { eachFrame, make } from "./dom.js";
import { related } from "./links.js";

/** Pixels beside the window in which beats are made before they are seen. */
const AHEAD = 400;

export class Lanes {
  /** `pick(number, kind, index)` is called when a piece of a beat is clicked. */
  constructor(box, { pick, moved }) {
    this.box = box;
    this.moved = moved;
    this.rail = make("div", { class: "rail" });
    box.append(this.rail);
    this.cell = measureCell(box);
    this.shown = new Map();
    this.trace = null;
    this.cursor = -1;
    this.lit = new Set();
    this.draw = eachFrame(() => this.#draw());
    box.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(box);
    box.addEventListener("click", (event) => this.#onPick(event, pick));
    box.addEventListener("pointerover", (event) => this.#light(event.target));
    box.addEventListener("pointerleave", () => this.#light(null));
  }

  /** Shows another trace. */
  show(trace) {
    this.trace = trace;
    this.clear();
    this.box.scrollLeft = 0;
    this.draw();
  }

  /** Forgets the elements, which are made anew. */
  clear() {
    for (const column of this.shown.values()) column.remove();
    this.shown.clear();
    this.first = this.trace?.first ?? 0;
  }

  /** Moves the cursor; `follow` scrolls to it if it is out of sight. */
  point(number, { follow = true, picked = null } = {}) {
    this.cursor = number;
    this.picked = picked;
    if (follow) this.#reveal(number);
    this.#relate();
    this.draw();
  }

  /** Cells at the left and right edge of the window, and in all. */
  window() {
    const { scrollLeft, clientWidth } = this.box;
    const all = this.trace ? this.trace.left[this.trace.beats.length] : 0;
    return { from: scrollLeft / this.cell, to: (scrollLeft + clientWidth) / this.cell, all };
  }

  /** Scrolls so that `cell` is in the middle. */
  centre(cell) {
    this.box.scrollLeft = cell * this.cell - this.box.clientWidth / 2;
  }

  #reveal(number) {
    const index = number - this.trace.first;
    if (index < 0 || index >= this.trace.beats.length) return;
    this.#stretch();
    const left = this.trace.left[index] * this.cell;
    const right = this.trace.left[index + 1] * this.cell;
    const { scrollLeft, clientWidth } = this.box;
    const margin = Math.min(120, clientWidth / 4);
    if (right > scrollLeft + clientWidth - margin) this.box.scrollLeft = right - clientWidth + margin;
    else if (left < scrollLeft + margin) this.box.scrollLeft = left - margin;
  }

  #stretch() {
    this.rail.style.width = `${this.trace.left[this.trace.beats.length] * this.cell}px`;
  }

  #draw() {
    if (!this.trace) return;
    if (this.first !== this.trace.first) this.clear();
    this.#stretch();
    const { scrollLeft, clientWidth } = this.box;
    const from = this.trace.at((scrollLeft - AHEAD) / this.cell);
    const to = Math.min(this.trace.next - 1, this.trace.at((scrollLeft + clientWidth + AHEAD) / this.cell));
    for (const [number, column] of this.shown) {
      if (number >= from && number <= to) continue;
      column.remove();
      this.shown.delete(number);
    }
    for (let number = from; number <= to; number += 1) this.#place(number);
    this.moved?.();
  }

  #place(number) {
    let column = this.shown.get(number);
    if (!column) {
      const beat = this.trace.beat(number);
      if (!beat) return;
      column = beatView(this.trace, beat);
      const index = number - this.trace.first;
      column.style.left = `${this.trace.left[index] * this.cell}px`;
      column.style.width = `${(this.trace.left[index + 1] - this.trace.left[index]) * this.cell}px`;
      this.shown.set(number, column);
      this.rail.append(column);
    }
    column.classList.toggle("ahead", number > this.cursor);
    column.classList.toggle("cursor", number === this.cursor);
    column.setAttribute("aria-selected", String(number === this.cursor));
    if (number === this.cursor) this.box.setAttribute("aria-activedescendant", column.id);
    for (const element of column.querySelectorAll("[data-piece]")) {
      element.classList.toggle("lit", this.lit.has(element.dataset.piece));
    }
  }

  #onPick(event, pick) {
    const column = event.target.closest(".beat");
    if (!column) return;
    const [, kind, index] = event.target.closest("[data-piece]")?.dataset.piece.split("/") ?? [];
    pick(Number(column.dataset.beat), kind, index === undefined ? undefined : Number(index));
  }

  /** Highlights what belongs to the piece under the pointer; without one, to the cursor. */
  #light(target) {
    const piece = target?.closest?.("[data-piece]")?.dataset.piece ?? null;
    if (piece === this.hovered) return;
    this.hovered = piece;
    this.#relate();
    this.draw();
  }

  #relate() {
    const chosen = this.hovered ?? this.picked;
    if (!this.trace || (!chosen && this.cursor < 0)) return;
    const [beat, kind, index] = chosen ? chosen.split("/") : [this.cursor];
    const isPiece = ["token", "call", "span"].includes(kind);
    this.lit = related(this.trace, Number(beat), isPiece ? kind : undefined, Number(index));
  }
}

/** Pixels of one cell of the lanes' font. */
function measureCell(box) {
  const probe = make("span", { class: "probe" }, "0".repeat(100));
  box.append(probe);
  const width = probe.getBoundingClientRect().width / 100;
  probe.remove();
  return width || 7;
}
