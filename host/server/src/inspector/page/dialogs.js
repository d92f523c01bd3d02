// The dialogs: the text to parse, the help.

import { parsers } from "./api.js";
import { byId, make } from "./dom.js";
import { helpRows } from "./keys.js";

/** The dialog of texts, records and parsers to parse with. */
export class ParseDialog {
  /** `send(body, title)` is called with the body of the request. */
  constructor(send) {
    this.send = send;
    this.dialog = byId("parse-dialog");
    this.parser = null;
    this.record = null;
    this.models = [];
    byId("parse-model").addEventListener("change", () => this.#draw());
    byId("parse-form").addEventListener("submit", (event) => {
      if (event.submitter?.value !== "ok") return;
      event.preventDefault();
      this.#send();
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
    if (file.raw !== undefined) {
      this.record = null;
      byId("parse-raw").value = file.raw;
      byId("parse-tools").value = file.tools?.length ? JSON.stringify(file.tools) : "";
      byId("parse-prompt").value = file.generationPrompt ?? "";
      byId("parse-finish").value = ["stop", "length"].includes(file.finish) ? file.finish : "stop";
    }
    byId("parse-wrong").textContent = "";
    this.#open();
  }

  /**
   * Has a record parsed at once, by a parser that was dropped with it. Where that fails the dialog
   * says why.
   */
  async show(record) {
    if (!this.dialog.open) this.parser = null;
    this.record = record;
    byId("parse-parser").value = "";
    await this.#send();
    if (byId("parse-wrong").textContent) this.#open();
  }

  /** Forgets the record, since another answer is shown. */
  forget() {
    this.record = null;
  }

  #open() {
    this.#draw();
    if (this.dialog.open) return;
    this.dialog.showModal();
    parsers().then((models) => { this.models = models; this.#draw(); }, () => {});
  }

  #draw() {
    const files = [this.parser, this.record].filter(Boolean).map(({ name }) => name);
    byId("parse-files").hidden = !files.length;
    byId("parse-file-names").textContent = files.join(" and ");
    const model = byId("parse-model");
    if (this.models.length) choose(model, this.models.map(({ model: name }) => [name, name]));
    const of = this.models.find(({ model: name }) => name === model.value);
    const own = ["", of ? `the model's own (${of.serving.name})` : "the model's own"];
    const names = (of?.loadable ?? []).map((name) => [name, name]);
    choose(byId("parse-parser"), this.parser ? [["", this.parser.name]] : [own, ...names]);
    byId("parse-parser").disabled = this.parser !== null;
    model.disabled = this.models.length < 2;
    byId("parse-text").hidden = this.record !== null;
  }

  /** The request's body; a field that is empty is left out. */
  #body() {
    const value = (id) => byId(id).value;
    const given = (name, text) => (text === "" ? {} : { [name]: text });
    const parser = this.parser ? { component: this.parser.data } : given("parser", value("parse-parser"));
    const model = this.models.length > 1 ? given("model", value("parse-model")) : {};
    if (this.record) return { record_data: this.record.data, ...parser, ...model };
    const tools = value("parse-tools").trim();
    return {
      raw: value("parse-raw"), step: Number(value("parse-step")), finish: value("parse-finish"),
      ...given("generation_prompt", value("parse-prompt").replaceAll("\\n", "\n")),
      ...(tools === "" ? {} : { tools: JSON.parse(tools) }), ...parser, ...model,
    };
  }

  async #send() {
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
      await this.send(body, this.record?.name ?? "parsed text");
      this.dialog.close();
    } catch (error) {
      const tooLarge = error.status === 413;
      const hint = " A file is sent in base64, a third larger than it is: raise --max-body, or parse it with host replay.";
      wrong.textContent = tooLarge ? error.message + hint : error.message;
    }
  }
}

/** Makes a list offer `[value, words]`, and keeps what is chosen if it is still there. */
function choose(box, offered) {
  const chosen = box.value;
  box.replaceChildren(...offered.map(([value, words]) => make("option", { value }, words)));
  box.value = offered.some(([value]) => value === chosen) ? chosen : offered[0][0];
}

/** Opens the help. */
export function help() {
  const rows = byId("help-keys");
  if (!rows.childElementCount) rows.append(...helpRows());
  byId("help-dialog").showModal();
}
