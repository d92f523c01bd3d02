// Buttons that copy a text.

import { button, say } from "./dom.js";

/** A button that copies what `text()` gives. Browsers allow it on encrypted and loopback addresses only. */
export function copyButton(text, attributes = {}) {
  const copy = button("Copy", { class: "quiet copy", ...attributes }, async () => {
    try {
      await navigator.clipboard.writeText(text());
      say(copy, "Copied");
    } catch {
      say(copy, "Not allowed");
    }
  });
  return copy;
}
