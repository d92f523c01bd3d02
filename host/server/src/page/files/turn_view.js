// A turn as elements: the question with its files, and what answered it.

import { button, make, say } from "./dom.js";
import { viewOf } from "./item_view.js";
import { figureWords, shown } from "./words.js";

/** Views for `list`, which are made once each by `make(entry)` and appended to `element`. */
function grow(views, list, element, make) {
  list.forEach((entry, index) => {
    if (entry === undefined || views[index]) return;
    views[index] = make(entry);
    element.append(views[index].element);
  });
}

class AnswerView {
  /** `actions` has `reply`, `regenerate` and `inspector`, the inspector's URL or null. */
  constructor(actions) {
    this.actions = actions;
    this.items = [];
    this.list = make("div", { class: "items" });
    this.why = make("p", { class: "why", role: "status" });
    this.figures = make("span");
    this.request = make("code", { title: "Id of the request" });
    this.link = make("a", { target: "_blank", rel: "noopener" }, "Look into it");
    this.copy = button("Copy", { class: "quiet" }, () => this.#copy());
    this.again = button("Regenerate", { class: "quiet" }, actions.regenerate);
    this.foot = make("footer", {}, this.figures, this.request, this.link, make("span", { class: "grow" }), this.copy, this.again);
    this.warning = make("p", { class: "note" });
    this.element = make("article", { class: "answer", "aria-label": "Answer" }, this.list, this.why, this.warning, this.foot);
  }

  async #copy() {
    await navigator.clipboard.writeText(this.text).then(() => say(this.copy, "Copied"), () => say(this.copy, "Not allowed"));
  }

  draw(answer, turn) {
    grow(this.items, answer.items, this.list, (item) => viewOf(item, this.actions.reply));
    answer.items.forEach((item, index) => this.items[index].draw(item, answer.running, turn));
    this.text = answer.text();
    this.element.setAttribute("aria-busy", String(answer.running));
    say(this.why, answer.running && !answer.items.length ? "Waiting for the model…" : answer.why ?? "");
    this.why.classList.toggle("wrong", answer.state === "failed");
    say(this.warning, answer.warning ? `The server left out: ${answer.warning}` : "");
    say(this.figures, answer.times.ended === null ? "" : figureWords(answer));
    say(this.request, answer.requestId ?? "");
    this.#link(answer);
    this.foot.hidden = answer.running;
    this.copy.hidden = this.text === "";
    this.again.hidden = !turn.isLast || answer !== turn.last || turn.open().length > 0;
  }

  #link({ requestId }) {
    const { inspector } = this.actions;
    this.link.hidden = !(inspector && requestId);
    if (!this.link.hidden) this.link.href = `${inspector}?request=${encodeURIComponent(requestId)}`;
  }
}

export class TurnView {
  /** `actions` is that of answers, with `edit(text)`. */
  constructor(turn, actions) {
    this.turn = turn;
    this.actions = actions;
    this.answers = [];
    this.text = make("div", { class: "text" }, shown(turn.question));
    this.files = make("ul", { class: "files", "aria-label": "Files" }, ...turn.files.map(fileView));
    this.edit = button("Edit", { class: "quiet", title: "Ask something else; what follows is taken back" }, () => this.#edit());
    this.question = make("article", { class: "question", "aria-label": "Question" }, this.text, this.files, this.edit);
    this.element = make("li", { class: "turn" }, this.question);
  }

  draw(running) {
    const { turn } = this;
    this.edit.hidden = running;
    grow(this.answers, turn.answers, this.element, () => new AnswerView(this.actions));
    while (this.answers.length > turn.answers.length) this.answers.pop().element.remove();
    turn.answers.forEach((answer, index) => this.answers[index].draw(answer, turn));
  }

  /** Puts a field in the question's place. */
  #edit() {
    const field = make("textarea", { "aria-label": "The question", rows: "3" });
    field.value = this.turn.question;
    const leave = () => {
      form.replaceWith(this.question);
      this.edit.focus();
    };
    const form = make("form", { class: "question editing" }, field,
      make("p", { class: "note" }, "What follows it is taken back."),
      make("p", {}, make("button", { class: "strong" }, "Ask"), " ", button("Cancel", {}, leave)));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (field.value.trim() !== "" || this.turn.files.length) this.actions.edit(field.value);
    });
    field.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      if (event.key === "Escape") leave();
      else if (event.key !== "Enter" || event.shiftKey) return;
      else form.requestSubmit();
      event.preventDefault();
      event.stopPropagation();
    });
    this.question.replaceWith(form);
    field.focus();
  }
}

/** A file, whose text can be looked at. */
export const fileView = ({ name, text }) => make("li", {}, make("details", {}, make("summary", {}, shown(name)), make("pre", { tabindex: "0" }, shown(text))));
