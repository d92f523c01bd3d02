// The list of the newest answers, asked for every second while the page is seen, and its filter.

import { answers } from "./api.js";
import { Refused } from "./asking.js";
import { byId, make, say } from "./dom.js";
import { counted } from "./words.js";

const PAUSE_MS = 1000;

export class Answers {
  /**
   * `open(answer)` is called with the answer to show; `tell(text, wantsKey)` with what keeps the list
   * from being shown; `listed(list)` with each list.
   */
  constructor(box, { open, tell, listed }) {
    Object.assign(this, { box, open, tell, listed, rows: new Map(), list: [], shown: [], current: null });
    for (const id of ["filter", "filter-state", "filter-model"]) byId(id).addEventListener("input", () => this.draw());
    byId("filter").addEventListener("keydown", (event) => this.#onKey(event));
  }

  /** Asks for the list again and again. */
  async watch() {
    for (;;) {
      if (!document.hidden) await this.refresh();
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      while (this.stopped) await this.stopped;
    }
  }

  async refresh() {
    const isListed = await this.#ask();
    this.draw();
    if (isListed) this.listed(this.list);
  }

  async #ask() {
    try {
      this.list = await answers();
      this.tell(this.list.length ? "" : "No answers yet. Send the server a request.", false);
      return true;
    } catch (error) {
      if (error instanceof Refused && error.status === 404) {
        this.tell("This server keeps no traces: start it with --inspect. Files can be dropped here all the same.", false);
      } else if (error instanceof Refused && error.status === 401) {
        this.tell("This server wants a key.", true);
        this.stopped = new Promise((resolve) => { this.resume = () => { this.stopped = null; resolve(); }; });
      } else {
        this.tell(error instanceof Refused ? error.message : "The server doesn't answer.", false);
      }
      return false;
    }
  }

  /** The next answer in a direction, for the keyboard. */
  beside(by) {
    const at = this.shown.findIndex(({ id }) => id === this.current);
    return this.shown[Math.min(this.shown.length - 1, Math.max(0, at + by))];
  }

  /** Shows only the answers that have this text. */
  filter(text) {
    byId("filter").value = text;
    this.draw();
  }

  #onKey(event) {
    if (event.key === "Escape") {
      this.filter("");
      event.target.blur();
      byId("lanes").focus();
    }
    if (event.key === "ArrowDown") this.box.querySelector("button")?.focus();
    if (event.key === "Enter" && this.shown.length) this.open(this.shown[0]);
  }

  select(id) {
    this.current = id;
    this.draw();
  }

  draw() {
    this.#offerModels();
    this.shown = this.list.filter(chosen());
    const left = this.list.length - this.shown.length;
    say(byId("filter-note"), left ? `${this.shown.length} of ${this.list.length} answers` : "");
    const seen = new Set(this.shown.map(({ id }) => id));
    for (const [id, row] of this.rows) {
      if (seen.has(id)) continue;
      row.item.remove();
      this.rows.delete(id);
    }
    this.shown.forEach((answer, index) => {
      const row = this.rows.get(answer.id) ?? this.#row(answer);
      this.#fill(row, answer);
      if (this.box.children[index] !== row.item) this.box.insertBefore(row.item, this.box.children[index] ?? null);
    });
  }

  /** Offers the models of the list, where there are several. */
  #offerModels() {
    const box = byId("filter-model");
    const names = [...new Set(this.list.map(({ model }) => model ?? ""))].sort();
    const known = [...box.options].slice(1).map(({ value }) => value);
    box.hidden = names.length < 2 && !box.value;
    if (box.value || names.join("\n") === known.join("\n")) return;
    box.replaceChildren(box.options[0], ...names.map((name) => make("option", {}, name)));
  }

  #row(answer) {
    const parts = Object.fromEntries(["id", "model", "tokens", "state", "began"].map((name) => [name, make("span", { class: name })]));
    const act = make("button", { type: "button" }, ...Object.values(parts));
    act.addEventListener("click", () => this.open(answer));
    const row = { item: make("li", {}, act), act, ...parts };
    this.rows.set(answer.id, row);
    return row;
  }

  #fill(row, answer) {
    say(row.id, `#${answer.id}`);
    say(row.model, answer.model ?? "");
    say(row.state, answer.state);
    row.state.className = `state ${stateClass(answer.state)}`;
    const began = new Date(answer.began_at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
    say(row.tokens, `${counted(answer.tokens)} tokens`);
    say(row.began, began);
    row.act.title = `${answer.protocol}, ${answer.request_id}`;
    row.act.setAttribute("aria-current", String(answer.id === this.current));
  }
}

/** A function that says whether the filter lets an answer through: each of its words is somewhere in it. */
function chosen() {
  const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const [state, model] = ["filter-state", "filter-model"].map((id) => byId(id).value);
  return (answer) => {
    const { id, request_id: request, protocol, parser, record } = answer;
    const text = [`#${id}`, request, answer.model, protocol, parser, answer.state, record].join(" ").toLowerCase();
    return words.every((word) => text.includes(word)) && (!model || answer.model === model)
      && (!state || answer.state === state || (state === "failed" && stateClass(answer.state) === "bad"));
  };
}

/** Class of an answer's state. */
export function stateClass(state) {
  if (state === "running") return "running";
  if (state === "completed") return "good";
  return ["max_output_tokens", "cancelled"].includes(state) ? "doubt" : "bad";
}
