// What an answer's trace must keep to, checked line by line: items, their ranges, the events'
// numbers, the parser. The server's own validator checks events; it runs with `--check-streams`.

import { byteLength } from "./words.js";

/** Findings that are kept; more are only counted. */
const MOST = 200;

export class Checks {
  constructor() {
    /** `{ beat, text, fault }`, oldest first. */
    this.findings = [];
    this.count = 0;
    this.ranges = 0;
    this.lost = 0;
    this.event = null;
    this.steps = new Map();
    this.open = new Map();
  }

  /** Checks a line, whose items the trace has taken already. */
  line(beat, trace) {
    const { line } = beat;
    const stream = line.turn;
    if (line.type === "dropped") this.#lose(beat, line);
    if (line.type === "prompt") this.steps.set(stream, null);
    if (line.type === "step") this.#step(beat, stream);
    for (const call of line.calls ?? []) this.#call(beat, call);
    for (const change of line.items ?? []) this.#change(beat, `${stream}.${change.item}`, change);
    if (line.type === "turn-end") this.#turnEnd(beat, stream, trace);
    if (Array.isArray(line.events)) this.#events(beat, line.events);
    if (line.type === "end") this.#end(beat, line);
  }

  /** Forgets findings before a beat that is no longer kept. */
  forget(first) {
    for (const finding of this.findings) if (finding.beat < first) finding.beat = -1;
  }

  #find(beat, text, fault = false) {
    this.count += 1;
    if (this.findings.length < MOST) this.findings.push({ beat: beat.number, text, fault });
  }

  #lose(beat, line) {
    this.lost += line.lines;
    this.event = null;
    this.steps.clear();
    this.open.clear();
    this.#find(beat, `${line.lines} lines of the trace are lost`);
  }

  #step(beat, stream) {
    const last = this.steps.get(stream);
    const { step } = beat.line;
    if (Number.isInteger(last) && step !== last + 1) this.#find(beat, `step ${step} follows step ${last}`);
    this.steps.set(stream, step);
    if (beat.line.finish?.error) this.#find(beat, `the engine failed: ${beat.line.finish.error}`, true);
  }

  #call(beat, { answer }) {
    if (answer?.fault !== undefined) this.#find(beat, `the parser failed: ${answer.fault}`, true);
  }

  #change(beat, name, { item, open, range, text, close }) {
    const seen = this.open.get(name);
    if (open) {
      if (seen) this.#find(beat, `item ${item} opens twice`);
      this.open.set(name, { at: 0, number: item, closed: false });
    }
    const state = this.open.get(name);
    if (!state && this.lost === 0 && !open) this.#find(beat, `item ${item} was never opened`);
    if (range) this.#range(beat, state, item, range, text);
    if (!close || !state) return;
    if (state.closed) this.#find(beat, `item ${item} closes twice`);
    state.closed = true;
  }

  #range(beat, state, item, [from, to], text) {
    this.ranges += 1;
    if (byteLength(text) !== to - from) this.#find(beat, `item ${item}: the text isn't ${to - from} bytes long`);
    if (!state) return;
    if (state.closed) this.#find(beat, `item ${item} is written to after its close`);
    if (from !== state.at) this.#find(beat, `item ${item}: bytes ${from} to ${to} follow byte ${state.at}`);
    state.at = to;
  }

  #turnEnd(beat, stream, trace) {
    const { line } = beat;
    const known = this.findings.some((finding) => finding.fault);
    if (line.fault && !known) this.#find(beat, `the parser failed: ${faultWords(line.fault)}`, true);
    if (line.why) this.#find(beat, line.why, true);
    for (const [name, state] of this.open) {
      if (!name.startsWith(`${stream}.`)) continue;
      if (!state.closed) this.#find(beat, `item ${state.number} is never closed`);
      this.#arguments(beat, trace.items.get(name), state);
      this.open.delete(name);
    }
  }

  #arguments(beat, item, state) {
    if (item?.head.payload !== "json" || item.status !== "completed" || item.cut) return;
    try {
      JSON.parse(item.text);
    } catch {
      this.#find(beat, `item ${state.number}: the arguments aren't JSON`);
    }
  }

  #events(beat, [from, to]) {
    if (this.event !== null && from !== this.event) this.#find(beat, `event ${from} follows event ${this.event - 1}`);
    this.event = to;
  }

  #end(beat, { events }) {
    if (this.event !== null && Number.isInteger(events) && events < this.event) {
      this.#find(beat, `${this.event} events were seen, ${events} counted`);
    }
  }
}

const faultWords = (fault) => (typeof fault === "string" ? fault : fault.reason ?? JSON.stringify(fault));
