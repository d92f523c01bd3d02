// The dialogs: the text to parse, the help.

import { byId } from "./dom.js";
import { helpRows } from "./keys.js";

/** The dialog of texts, records and parsers to parse with. */
export class ParseDialog {
  /** `send(body, title)` is called with the body of the request. */
  constructor(send) {
    this.dialog = byId("parse-dialog");
    this.parser = null;
    this.record = null;
    byId("parse-form").addEventListener("submit", (event) => {
      if (event.submitter?.value !== "ok") return;
      event.preventDefault();
      this.#send(send);
    });
    byId("parse-forget").addEventListener("click", () => {
      this.parser = null;
      this.record = null;
      this.#draw();
    });
  }

  /** Opens the dialog with what a dropped file holds. */
  open(file = {}) {
    if (file.kind === "parser") this.parser = file;
    if (file.kind === "record") this.record = file;
    if (file.raw !== undefined) {
      this.record = null;
      byId("parse-raw").value = file.raw;
      byId("parse-tools").value = file.tools?.length ? JSON.stringify(file.tools) : "";
      byId("parse-prompt").value = file.generationPrompt ?? "";
      byId("parse-finish").value = ["stop", "length"].includes(file.finish) ? file.finish : "stop";
    }
    byId("parse-wrong").textContent = "";
    this.#draw();
    if (!this.dialog.open) this.dialog.showModal();
  }

  #draw() {
    const files = [this.parser, this.record].filter(Boolean).map(({ name }) => name);
    byId("parse-files").hidden = !files.length;
    byId("parse-file-names").textContent = files.join(" and ");
    byId("parse-parser").disabled = this.parser !== null;
    byId("parse-text").hidden = this.record !== null;
  }

  /** The request's body; a field that is empty is left out. */
  #body() {
    const value = (id) => byId(id).value;
    const given = (name, text) => (text === "" ? {} : { [name]: text });
    const parser = this.parser ? { component: this.parser.data } : given("parser", value("parse-parser").trim());
    const model = given("model", value("parse-model").trim());
    if (this.record) return { record_data: this.record.data, ...parser, ...model };
    const tools = value("parse-tools").trim();
    return {
      raw: value("parse-raw"), step: Number(value("parse-step")), finish: value("parse-finish"),
      ...given("generation_prompt", value("parse-prompt").replaceAll("\\n", "\n")),
      ...(tools === "" ? {} : { tools: JSON.parse(tools) }), ...parser, ...model,
    };
  }

  async #send(send) {
    const wrong = byId("parse-wrong");
    let body;
    try {
      body = this.#body();
    } catch {
      wrong.textContent = "The tools aren't JSON: write a list, such as [\"get_weather\"].";
      return;
    }
    wrong.textContent = "";
    try {
      await send(body, this.record?.name ?? "parsed text");
      this.dialog.close();
    } catch (error) {
      const tooLarge = error.status === 413;
      const hint = " A file is sent in base64, a third larger than it is: raise --max-body, or parse it with host replay.";
      wrong.textContent = tooLarge ? error.message + hint : error.message;
    }
  }
}

/** Opens the help. */
export function help() {
  const rows = byId("help-keys");
  if (!rows.childElementCount) rows.append(...helpRows());
  byId("help-dialog").showModal();
}
