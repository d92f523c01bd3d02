// The field of the question, and the files beside it.

import { button, byId } from "./dom.js";
import { watchDrops } from "./drops.js";
import { readFile } from "./text_files.js";
import { fileView } from "./turn_view.js";

export class Composer {
  /** `send(question, files)` is called with a question; `notify(message)` with what goes wrong. */
  constructor(send, notify) {
    this.files = [];
    this.ready = false;
    this.send = send;
    this.notify = notify;
    this.field = byId("question");
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#submit();
    });
    byId("file").addEventListener("change", async (event) => {
      await this.#take([...event.target.files]);
      event.target.value = "";
    });
    watchDrops((files) => this.#take(files));
  }

  /** While an answer is under way its end is offered in place of another question. */
  draw({ running, loaded }) {
    byId("send").hidden = running;
    byId("stop").hidden = !running;
    this.ready = loaded && !running;
  }

  /** Goes back to the field, unless that opens a keyboard on the screen. */
  focus() {
    if (!matchMedia("(pointer: coarse)").matches) this.field.focus();
  }

  #submit() {
    if (!this.ready || (this.field.value.trim() === "" && !this.files.length)) return;
    const [question, files] = [this.field.value, this.files];
    this.field.value = "";
    this.files = [];
    this.#drawFiles();
    this.send(question, files);
  }

  async #take(files) {
    for (const file of files) {
      try {
        this.files.push(await readFile(file, this.files));
      } catch (error) {
        this.notify(error.message);
      }
    }
    this.#drawFiles();
    this.focus();
  }

  #drawFiles() {
    byId("files").replaceChildren(...this.files.map((file) => {
      const view = fileView(file);
      view.append(button("×", { class: "quiet", "aria-label": `Leave out ${file.name}` }, () => {
        this.files = this.files.filter((each) => each !== file);
        this.#drawFiles();
      }));
      return view;
    }));
  }
}
