// One answer: the items that its events make, how it ended, and its times.

/** Where a delta's text goes, by the event's type: the item's field, and of a list the entry's. */
const DELTAS = {
  "response.output_text.delta": (item, event) => part(item.content, event.content_index, "output_text"),
  "response.refusal.delta": (item, event) => part(item.content, event.content_index, "refusal"),
  "response.reasoning_text.delta": (item, event) => part((item.content ??= []), event.content_index, "reasoning_text"),
  "response.reasoning_summary_text.delta": (item, event) => part((item.summary ??= []), event.summary_index, "summary_text"),
  "response.mcp_call_arguments.delta": (item) => [item, "arguments"],
  "response.code_interpreter_call_code.delta": (item) => [item, "code"],
};

function part(list, index, type) {
  list[index] ??= { type };
  return [list[index], type === "refusal" ? "refusal" : "text"];
}

export class Answer {
  /** An answer that begins now, or one that was kept, which has `items` only. */
  constructor(items = null) {
    this.items = items ?? [];
    /** `running`, `completed`, `incomplete`, `failed`, `stopped` or `kept`. */
    this.state = items ? "kept" : "running";
    /** Why it didn't complete, in words. */
    this.why = null;
    this.requestId = null;
    this.warning = null;
    this.usage = null;
    /** Milliseconds by the page's clock. */
    this.times = { sent: performance.now(), first: null, ended: null };
  }

  get running() { return this.state === "running"; }

  /** Takes an event of the stream. */
  take(event) {
    const place = DELTAS[event.type]?.(this.items[event.output_index], event);
    if (place) {
      const [owner, field] = place;
      this.times.first ??= performance.now();
      owner[field] = (owner[field] ?? "") + event.delta;
    } else if (event.type === "response.output_item.added" || event.type === "response.output_item.done") {
      this.items[event.output_index] = event.item;
    } else if (["response.completed", "response.incomplete", "response.failed"].includes(event.type)) {
      this.#take(event.response);
    } else if (event.type === "error") {
      this.why = event.message ?? event.error?.message ?? null;
    }
  }

  #take({ status, usage, error, incomplete_details: details }) {
    this.usage = usage;
    this.end(status, error?.message ?? this.why ?? incompleteWords(details?.reason));
  }

  /** Ends it, unless it has ended. */
  end(state, why = null) {
    if (!this.running) return;
    this.state = state;
    this.why = why;
    this.times.ended = performance.now();
  }

  /** Items that the model is to see again: those that are whole, and text that broke off. */
  kept() {
    return this.items.filter(isKept).map((item) => (item.status === "in_progress" ? { ...item, status: "incomplete" } : item));
  }

  /** The text of its messages. */
  text() {
    return this.items.filter(({ type }) => type === "message").map(messageText).join("\n\n");
  }

  /** Requests of the server to allow a call. */
  asks() {
    return this.items.filter(({ type }) => type === "mcp_approval_request");
  }
}

/** The text of a message, or of reasoning. */
export const messageText = (item) => [...(item.summary ?? []), ...(item.content ?? [])]
  .map((one) => one?.text ?? one?.refusal ?? "").join("\n\n");

/** The server lists its tools for each answer; what it ran but didn't finish means nothing. */
function isKept(item) {
  if (item === undefined || item.type === "mcp_list_tools") return false;
  const broken = item.status === "in_progress" || item.status === "incomplete";
  return !broken || (["message", "reasoning"].includes(item.type) && messageText(item) !== "");
}

function incompleteWords(reason) {
  if (reason === "max_output_tokens") return "The answer reached its limit of tokens.";
  return reason ? `The answer is incomplete: ${reason}.` : null;
}
