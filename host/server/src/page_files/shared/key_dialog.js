// The dialog that asks for the key.

import { make } from "./dom.js";

const again = make("p", { id: "key-again", class: "wrong", hidden: true }, "The server refused that key.");
const field = make("input", { id: "key-field", type: "password", autocomplete: "off", spellcheck: "false" });
const dialog = make("dialog", { id: "key-dialog", "aria-labelledby": "key-title" }, make("form", { method: "dialog" },
  make("h2", { id: "key-title" }, "A key, please"),
  again,
  make("p", {}, "The server's answers are open to its keys only. The key stays in this page's memory until you close it."),
  make("label", {}, "Key ", field),
  make("footer", {}, make("button", { value: "ok", class: "strong" }, "Use it"),
    make("button", { value: "cancel", formnovalidate: true }, "Cancel"))));
document.body.append(dialog);

/** Asks for the key; resolves to it, or to null if the dialog is left. */
export function askForKey(refused) {
  again.hidden = !refused;
  field.value = "";
  dialog.showModal();
  field.focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      const given = dialog.returnValue === "ok" && field.value ? field.value : null;
      field.value = "";
      dialog.returnValue = "";
      resolve(given);
    }, { once: true });
  });
}
