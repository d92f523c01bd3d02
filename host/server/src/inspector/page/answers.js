// The list of the newest answers, asked for every second while the page is seen.

import { answers } from "./api.js";
import { Refused } from "./asking.js";
import { make, say } from "./dom.js";
import { counted } from "./words.js";

const PAUSE_MS = 1000;

export class Answers {
  /** `open(answer)` is called with the answer to show; `tell(text, wantsKey)` with what keeps the list from being shown. */
  constructor(box, { open, tell }) {
    this.box = box;
    this.open = open;
    this.tell = tell;
    this.rows = new Map();
    this.list = [];
    this.current = null;
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
    try {
      this.list = await answers();
      this.tell(this.list.length ? "" : "No answers yet. Send the server a request.", false);
    } catch (error) {
      if (error instanceof Refused && error.status === 404) {
        this.tell("This server keeps no traces: start it with --inspect. Files can be dropped here all the same.", false);
      } else if (error instanceof Refused && error.status === 401) {
        this.tell("This server wants a key.", true);
        this.stopped = new Promise((resolve) => { this.resume = () => { this.stopped = null; resolve(); }; });
      } else {
        this.tell(error instanceof Refused ? error.message : "The server doesn't answer.", false);
      }
    }
    this.draw();
  }

  /** The next answer in a direction, for the keyboard. */
  beside(by) {
    const at = this.list.findIndex(({ id }) => id === this.current);
    return this.list[Math.min(this.list.length - 1, Math.max(0, at + by))];
  }

  select(id) {
    this.current = id;
    this.draw();
  }

  draw() {
    const seen = new Set(this.list.map(({ id }) => id));
    for (const [id, row] of this.rows) {
      if (seen.has(id)) continue;
      row.item.remove();
      this.rows.delete(id);
    }
    this.list.forEach((answer, index) => {
      const row = this.rows.get(answer.id) ?? this.#row(answer);
      this.#fill(row, answer);
      if (this.box.children[index] !== row.item) this.box.insertBefore(row.item, this.box.children[index] ?? null);
    });
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

/** Class of an answer's state. */
export function stateClass(state) {
  if (state === "running") return "running";
  if (state === "completed") return "good";
  return ["max_output_tokens", "cancelled"].includes(state) ? "doubt" : "bad";
}
