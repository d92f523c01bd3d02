// A turn as elements: the question with its files, and what answered it.

import { copyButton } from "./copy.js";
import { button, make, say } from "./dom.js";
import { viewOf } from "./item_view.js";
import { figureWords, shown } from "./words.js";

class AnswerView {
  /** `actions` has `reply`, `regenerate` and `inspector`, the inspector's URL or null. */
  constructor(actions) {
    this.actions = actions;
    this.items = [];
    this.list = make("div", { class: "items" });
    this.why = make("p", { class: "why" });
    this.figures = make("span");
    this.request = make("code", { title: "Id of the request" });
    this.link = make("a", { target: "_blank", rel: "noopener" }, "Look into it");
    this.copy = copyButton(() => this.text);
    this.again = button("Regenerate", { class: "quiet" }, actions.regenerate);
    this.foot = make("footer", {}, this.figures, this.request, this.link, make("span", { class: "buttons" }, this.copy, this.again));
    this.warning = make("p", { class: "note" });
    this.element = make("article", { class: "answer", "aria-label": "Answer" }, this.list, this.why, this.warning, this.foot);
  }

  draw(answer, turn) {
    answer.items.forEach((item, index) => {
      if (!this.items[index]) this.list.append((this.items[index] = viewOf(item, this.actions.reply)).element);
      this.items[index].draw(item, answer.running, turn);
    });
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
    /** Views by answer. */
    this.answers = new Map();
    this.text = make("div", { class: "text" }, shown(turn.question));
    this.files = make("ul", { class: "files", "aria-label": "Files" }, ...turn.files.map(fileView));
    this.edit = button("Edit", { class: "quiet", title: "Ask something else; what follows is taken back" }, () => this.#edit());
    this.question = make("article", { class: "question", "aria-label": "Question" }, this.text, this.files, this.edit);
    this.element = make("li", { class: "turn" }, this.question);
  }

  draw(running) {
    const { turn, answers } = this;
    this.edit.disabled = running;
    for (const [answer, view] of answers) {
      if (!turn.answers.includes(answer)) {
        view.element.remove();
        answers.delete(answer);
      }
    }
    for (const answer of turn.answers) {
      if (!answers.has(answer)) this.#add(answer);
      answers.get(answer).draw(answer, turn);
    }
  }

  #add(answer) {
    const view = new AnswerView(this.actions);
    this.answers.set(answer, view);
    this.element.append(view.element);
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
