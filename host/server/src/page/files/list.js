// The list of conversations.

import { button, make } from "./dom.js";
import { shown } from "./words.js";

/** Draws the list; `open(conversation)` and `remove(conversation)` are called for a row. */
export function drawList(element, conversations, current, { open, remove }) {
  element.replaceChildren(...conversations.map((conversation) => {
    const title = shown(conversation.title) || "Conversation";
    return make("li", {},
      button(title, { class: "open", "aria-current": conversation === current ? "true" : undefined, title }, () => open(conversation)),
      button("×", { class: "quiet remove", "aria-label": `Delete ${title}` }, () => remove(conversation)));
  }));
}

/** Asks whether to delete; resolves to the reply. */
export function confirmRemoval(dialog) {
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "ok"), { once: true });
  });
}
