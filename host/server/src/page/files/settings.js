// What the reader asks of answers beside the question: the model, settings of the dialog, tools.
// They last as long as the page.

import { byId, make } from "./dom.js";
import { counted } from "./words.js";

export class Settings {
  constructor() {
    this.models = [];
    byId("open-settings").addEventListener("click", () => byId("settings").showModal());
    byId("model").addEventListener("change", () => this.#context());
  }

  /** Shows the served models and the tools that the server runs. */
  offer(models, tools) {
    this.models = models;
    byId("model").replaceChildren(...models.map(({ id }) => make("option", {}, id)));
    byId("tools").hidden = !tools.length;
    byId("tools").replaceChildren(make("legend", {}, "Tools that the server runs"), ...tools.map(toolView));
    this.#context();
  }

  #context() {
    const model = this.models.find(({ id }) => id === byId("model").value);
    byId("context").textContent = model ? `${counted(model.context_length)} tokens of context` : "";
  }

  /** Fields of a request; what is empty is the server's own. */
  fields() {
    const number = (id) => (byId(id).value === "" ? undefined : Number(byId(id).value));
    const tools = [...byId("tools").querySelectorAll("input:checked")].map(({ value }) => JSON.parse(value));
    return {
      model: byId("model").value,
      instructions: byId("instructions").value.trim() || undefined,
      temperature: number("temperature"),
      max_output_tokens: number("most-tokens"),
      reasoning: byId("effort").value ? { effort: byId("effort").value } : undefined,
      tools: tools.length ? tools : undefined,
    };
  }
}

const toolView = (tool) => make("label", { class: "check" },
  make("input", { type: "checkbox", checked: true, value: JSON.stringify(tool) }), tool.server_label ?? tool.type.replaceAll("_", " "));
