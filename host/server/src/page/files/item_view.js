// Items of an answer as elements. All text of models and tools becomes text nodes.

import { button, make, say } from "./dom.js";
import { Markdown } from "./markdown.js";
import { messageText } from "./answer.js";
import { shown } from "./words.js";

/** A view of an item; `reply(item, approve)` is called for a request for leave. */
export function viewOf(item, reply) {
  switch (item.type) {
    case "message": return new MessageView();
    case "reasoning": return new ReasoningView();
    case "mcp_list_tools": return new ListView();
    case "mcp_approval_request": return new LeaveView(item, reply);
    default: return new CallView();
  }
}

class MessageView {
  constructor() {
    this.element = make("div", { class: "message" });
    this.markdown = new Markdown(this.element);
  }

  draw(item) { this.markdown.draw(shown(messageText(item))); }
}

/** A part that is folded; it is open while it is written, until the reader folds or opens it. */
class Folded {
  constructor(kind) {
    this.name = make("span", { class: "name" });
    this.state = make("span", { class: "quiet-text" });
    const summary = make("summary", {}, this.name, " ", this.state);
    this.element = make("details", { class: `folded ${kind}` }, summary);
    this.touched = false;
    summary.addEventListener("click", () => { this.touched = true; });
  }

  fold(open) {
    if (!this.touched && this.element.open !== open) this.element.open = open;
  }
}

class ReasoningView extends Folded {
  constructor() {
    super("reasoning");
    this.text = make("div", { class: "text" });
    this.element.append(this.text);
  }

  draw(item, running) {
    const open = running && item.status === "in_progress";
    say(this.name, open ? "Thinking" : "Reasoning");
    say(this.state, item.status === "incomplete" ? "broke off" : "");
    say(this.text, shown(messageText(item)).trim());
    this.fold(open);
  }
}

/** A list of tools is shown where it failed. */
class ListView {
  constructor() { this.element = make("p", { class: "wrong", hidden: true }); }

  draw(item) {
    this.element.hidden = !item.error;
    if (item.error) say(this.element, `The tools of ${item.server_label} can't be used: ${shown(item.error)}`);
  }
}

class CallView extends Folded {
  constructor() {
    super("call");
    this.input = make("pre", { tabindex: "0", "aria-label": "Arguments" });
    this.output = make("pre", { tabindex: "0", "aria-label": "Result" });
    this.element.append(this.input, this.output);
  }

  draw(item, running) {
    const { name, input, output, error } = callWords(item);
    const open = running && item.status === "in_progress";
    say(this.name, shown(name));
    say(this.state, open ? "runs" : error ? "failed" : item.status === "incomplete" ? "broke off" : "");
    say(this.input, shown(input));
    say(this.output, shown(error ?? output));
    this.output.classList.toggle("wrong", Boolean(error));
    this.output.hidden = !this.output.textContent;
    this.fold(open);
  }
}

/** What a call is named, was given and brought. */
function callWords(item) {
  const text = (value) => (typeof value === "string" ? value : value ? JSON.stringify(value) : "");
  switch (item.type) {
    case "mcp_call": return {
      name: `${item.server_label}: ${item.name}`, input: text(item.arguments), output: text(item.output),
      error: item.error ? item.error.content?.map((part) => part.text).join("\n") ?? text(item.error) : null,
    };
    case "code_interpreter_call": return { name: "Code", input: text(item.code), output: (item.outputs ?? []).map(({ logs }) => text(logs)).join("\n") };
    case "web_search_call": return { name: "Web search", input: text(item.action), output: "" };
    default: return { name: text(item.name) || item.type, input: text(item.arguments ?? item.input), output: text(item.output) };
  }
}

/** A call that the reader must agree to. */
class LeaveView {
  constructor(item, reply) {
    const choice = (label, approve, attributes) => button(label, attributes, () => reply(item, approve));
    this.buttons = make("p", {}, choice("Allow", true, { class: "strong" }), " ", choice("Don't allow", false, {}));
    this.said = make("p", { class: "quiet-text" });
    this.element = make("section", { class: "leave", "aria-label": "A call that needs your leave" },
      make("p", {}, "The model wants to call ", make("strong", {}, shown(`${item.server_label}: ${item.name}`)), " with"),
      make("pre", { tabindex: "0" }, shown(item.arguments)), this.buttons, this.said);
  }

  draw(item, running, turn) {
    const given = turn.entries.find((entry) => entry.approval_request_id === item.id);
    this.buttons.hidden = running || Boolean(given) || !turn.isLast;
    say(this.said, given ? (given.approve ? "You allowed it." : "You didn't allow it.") : "");
  }
}
