// A conversation: its turns, and what can be done with them. A turn is a question and what answered
// it: an answer, or several with the reader's leave for calls between them.

import { Answer } from "./answer.js";
import { respond } from "./server.js";
import { fileOfPart, partOfFile } from "./text_files.js";

/** A turn; `entries` are answers, and items of the reader behind them. */
class Turn {
  constructor(question, files = []) {
    this.question = question;
    this.files = files;
    this.entries = [];
    /** Ids of its items in the server's store. */
    this.kept = [];
  }

  /** The question as an item. */
  asked() {
    const texts = [this.question, ...this.files.map(partOfFile)].filter((text) => text !== "");
    return { type: "message", role: "user", content: texts.map((text) => ({ type: "input_text", text })) };
  }

  items() {
    return [this.asked(), ...this.entries.flatMap(itemsOf)];
  }

  get answers() { return this.entries.filter((entry) => entry instanceof Answer); }
  get last() { return this.answers.at(-1); }

  /** Requests for leave that have no reply yet. */
  open() {
    const replied = new Set(this.entries.map((entry) => entry.approval_request_id));
    return this.last?.running ? [] : this.answers.flatMap((answer) => answer.asks()).filter(({ id }) => !replied.has(id));
  }
}

const itemsOf = (entry) => (entry instanceof Answer ? entry.kept() : [entry]);

export class Conversation {
  /**
   * `keeper` keeps it, if the server does. `settings()` gives fields of a request. `changed(turn)` is called when there is
   * something to draw: of that turn, or of all of them without one.
   */
  constructor({ id = null, title = "", keeper = null, settings, changed }) {
    Object.assign(this, { id, title, keeper, settings, changed });
    this.turns = [];
    this.loaded = id === null;
    this.stopper = null;
  }

  get running() { return this.stopper !== null; }

  /** Reads what the server has kept of it. */
  async load() {
    if (this.loaded) return;
    this.turns = turnsOf(await this.keeper.read(this));
    this.loaded = true;
    this.changed();
  }

  /** Asks a question in a new turn. */
  async ask(question, files) {
    const turn = new Turn(question, files);
    this.turns.push(turn);
    if (this.turns.length === 1) {
      this.title = titleOf(turn);
      this.keeper?.rename(this);
    }
    this.changed();
    this.keeper?.add(this, turn, [turn.asked()]);
    await this.#answer(turn);
  }

  /** Takes back the turn and what follows it, and asks again, maybe something else. */
  async edit(turn, question) {
    this.#takeBack(this.turns.indexOf(turn));
    await this.ask(question, turn.files);
  }

  /** Takes the answers of the last turn back, and asks for others. */
  async regenerate() {
    const turn = this.turns.at(-1);
    this.keeper?.takeBack(this, turn, 1);
    turn.entries = [];
    await this.#answer(turn);
  }

  /** Replies to a request for leave; the answer goes on once all have a reply. */
  async reply(turn, request, approve) {
    const item = { type: "mcp_approval_response", approval_request_id: request.id, approve };
    turn.entries.push(item);
    this.keeper?.add(this, turn, [item]);
    this.changed(turn);
    if (!turn.open().length) await this.#answer(turn);
  }

  /** Ends the answer that is under way; what came of it stays. */
  stop() {
    this.stopper?.abort();
  }

  #takeBack(from) {
    for (const turn of this.turns.splice(from)) this.keeper?.takeBack(this, turn, 0);
  }

  async #answer(turn) {
    const answer = new Answer();
    const input = this.#input();
    turn.entries.push(answer);
    this.stopper = new AbortController();
    this.changed();
    const begun = (requestId, warning) => Object.assign(answer, { requestId, warning });
    const take = (event) => {
      answer.take(event);
      this.changed(turn);
    };
    try {
      await respond({ ...this.settings(), input }, this.stopper.signal, begun, take);
      answer.end("failed", answer.why ?? "The stream was cut off; what had come stays.");
    } catch (error) {
      if (error.name === "AbortError") answer.end("stopped", "Stopped; what had come stays.");
      else answer.end("failed", error.message);
    }
    this.stopper = null;
    if (turn.entries.includes(answer)) this.keeper?.add(this, turn, answer.kept());
    this.changed();
  }

  /** All items so far, without requests for leave that nobody replied to. */
  #input() {
    const items = this.turns.flatMap((turn) => turn.items());
    const replied = new Set(items.map((item) => item.approval_request_id));
    return items.filter(({ type, id }) => type !== "mcp_approval_request" || replied.has(id));
  }
}

const titleOf = ({ question, files }) => (question.trim() || files[0]?.name || "").replace(/\s+/g, " ").slice(0, 80);

/** Turns of the items that a server kept. */
function turnsOf(items) {
  const turns = [];
  for (const item of items) {
    if (item.role === "user") turns.push(turnOf(item));
    const turn = turns.at(-1) ?? turns[turns.push(new Turn("")) - 1];
    turn.kept.push(item.id);
    if (item.role === "user") continue;
    if (item.type === "mcp_approval_response") turn.entries.push(item);
    else if (turn.entries.at(-1) instanceof Answer) turn.entries.at(-1).items.push(item);
    else turn.entries.push(new Answer([item]));
  }
  return turns;
}

/** The turn of a question. */
function turnOf(item) {
  const texts = item.content.map(({ text }) => text ?? "");
  const files = texts.map(fileOfPart);
  return new Turn(texts.filter((_, index) => !files[index]).join("\n\n"), files.filter(Boolean));
}
