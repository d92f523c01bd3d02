// The strip of phases: where the answer's time went, and the verdict of the checks beside it.

import { button, make, say } from "./dom.js";
import { duration } from "./words.js";

const NAMES = [["prepare", "prepare_ms"], ["queue + prefill", "queue_prefill_ms"], ["decode", "decode_ms"], ["parse", "parse_ms"], ["send", "send_ms"]];

/** The phases of a trace: the server's sums once the answer has ended, else what the lines say so far. */
export function phasesOf(trace) {
  if (trace.end?.phases) return trace.end.phases;
  const prompt = trace.beats.find(({ line }) => line.type === "prompt")?.line.ms;
  const steps = trace.beats.filter(({ line }) => line.type === "step").map(({ line }) => line);
  const first = steps[0]?.ms;
  // What is parsed for the page has no engine's times.
  if (typeof prompt !== "number" || (trace.end && !trace.end.phases)) return null;
  const sum = (name) => steps.reduce((sum, line) => sum + (line[name] ?? 0), 0) / 1000;
  return {
    prepare_ms: prompt,
    queue_prefill_ms: first === undefined ? 0 : first - prompt,
    decode_ms: first === undefined ? 0 : steps[steps.length - 1].ms - first,
    parse_ms: sum("parse_us"),
    send_ms: sum("send_us"),
  };
}

/** Draws the strip: each phase as wide as it took, parse and send being parts of decode. */
export function drawPhases(box, trace) {
  const phases = trace && phasesOf(trace);
  box.hidden = !phases;
  if (!phases) return;
  const parts = NAMES.map(([name, field]) => ({ name, ms: phases[field] ?? 0 }));
  if (!box.childElementCount) {
    for (const { name } of parts) {
      box.append(make("div", { class: `phase ${name.split(" ")[0]}` }, make("i", { "aria-hidden": "true" }), make("span", {}, name), make("b", {})));
    }
  }
  const all = parts.reduce((sum, { ms }) => sum + ms, 0) || 1;
  parts.forEach(({ ms }, index) => {
    const part = box.children[index];
    say(part.lastChild, duration(ms));
    part.style.setProperty("--share", String(Math.max(0.004, ms / all)));
  });
}

/** Draws the verdict, a button that opens the findings. */
export function drawVerdict(box, trace) {
  const { checks, end, beats } = trace ?? {};
  box.hidden = !beats?.length;
  if (box.hidden) return;
  const faults = checks.findings.some(({ fault }) => fault);
  const good = `${end ? "consistent" : "consistent so far"}`;
  say(box, checks.count === 0 ? good : `${checks.count} finding${checks.count === 1 ? "" : "s"}`);
  box.className = `verdict ${checks.count === 0 ? "good" : faults ? "bad" : "doubt"}`;
}

/** Fills the list of findings; each moves to its beat. */
export function listFindings(box, trace, go) {
  const { checks, first } = trace;
  const rows = checks.findings.map(({ beat, text, fault }) => {
    const where = beat >= first ? `at ${trace.beat(beat)?.line.step ?? trace.beat(beat)?.line.type}` : "before what is kept";
    const act = button(`${text} (${where})`, { class: fault ? "finding fault" : "finding" }, () => beat >= first && go(beat));
    return make("li", {}, act);
  });
  const none = make("li", {}, `Nothing found in ${checks.ranges} ranges: each item opens and closes once, its ranges follow each other and are as long as they say, calls that are complete have JSON, events are numbered without a gap, and the parser didn't fail.`);
  box.replaceChildren(...(rows.length ? rows : [none]));
}
