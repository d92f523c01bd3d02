// The keyboard: what each key does, in one table that the help is made of, too.

import { make } from "./dom.js";

/** `[keys, what they do, name of the action, its argument]`; keys are `KeyboardEvent.key`. */
const KEYS = [
  [["ArrowLeft"], "one step back", "step", -1],
  [["ArrowRight"], "one step forward", "step", 1],
  [["Shift+ArrowLeft", "PageUp"], "ten steps back", "step", -10],
  [["Shift+ArrowRight", "PageDown"], "ten steps forward", "step", 10],
  [["Home"], "to the beginning", "home"],
  [["End"], "to the end; follow a live answer", "end"],
  [[" "], "play or pause; stop following", "toggle"],
  [["["], "slower", "pace", -1],
  [["]"], "faster", "pace", 1],
  [["m"], "next marker", "next", "marker"],
  [["f"], "next finding or fault", "next", "finding"],
  [["i"], "next item", "next", "item"],
  [["/"], "find in the tokens", "find"],
  [["n"], "find again", "again"],
  [["j"], "next answer in the list", "answer", 1],
  [["k"], "previous answer in the list", "answer", -1],
  [["a"], "filter the answers", "filter"],
  [["t"], "the prompt's text", "prompt"],
  [["p"], "parse a text", "parse"],
  [["s"], "save the lines", "save"],
  [["?"], "this help", "help"],
];

const NAMES = { " ": "Space", ArrowLeft: "←", ArrowRight: "→", "Shift+ArrowLeft": "Shift ←", "Shift+ArrowRight": "Shift →" };

/** Calls `actions[name](argument)` for keys pressed outside of fields and dialogs. */
export function listen(actions) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.closest("input, textarea, select")) return;
    // A button keeps its own keys.
    if (event.key === " " && event.target.closest("button, summary")) return;
    const key = `${event.shiftKey && event.key.startsWith("Arrow") ? "Shift+" : ""}${event.key}`;
    const found = KEYS.find(([keys]) => keys.includes(key));
    if (!found) return;
    event.preventDefault();
    actions[found[2]](found[3]);
  });
}

/** The rows of the help. */
export function helpRows() {
  return KEYS.flatMap(([keys, does]) => [
    make("dt", {}, ...keys.map((key) => make("kbd", {}, NAMES[key] ?? key))),
    make("dd", {}, does),
  ]);
}
