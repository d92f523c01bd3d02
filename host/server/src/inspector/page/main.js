// The page: puts the parts together, and shows one trace at a time.

import { AddressBar } from "./address.js";
import { Answers, stateClass } from "./answers.js";
import { parse, takeLine, tap } from "./api.js";
import { onKeyNeeded } from "./asking.js";
import { ParseDialog, help } from "./dialogs.js";
import { Detail } from "./detail.js";
import { byId, eachFrame, notify, say } from "./dom.js";
import { readFile } from "./drop.js";
import { watchDrops } from "./drops.js";
import { Items } from "./items.js";
import { askForKey } from "./key_dialog.js";
import { listen } from "./keys.js";
import { Lanes } from "./lanes.js";
import { Overview } from "./overview.js";
import { drawPhases, drawVerdict, listFindings } from "./phases.js";
import { Player } from "./player.js";
import { PromptPane } from "./prompt.js";
import { findNext, nextOf } from "./search.js";
import { Trace } from "./trace.js";
import { counted } from "./words.js";

const player = new Player(eachFrame(draw));
const go = (number, picked) => player.go(number, picked);
const lanes = new Lanes(byId("lanes"), {
  pick: (number, kind, index) => go(number, kind && index !== undefined ? `${number}/${kind}/${index}` : null),
  moved: () => overview.draw(),
});
const overview = new Overview(byId("overview"), lanes, (number) => go(number));
const items = new Items(byId("items"), go);
const detail = new Detail(byId("detail"), byId("detail-title"));
const prompt = new PromptPane(byId("prompt"), byId("prompt-facts"), byId("prompt-text"));
const list = new Answers(byId("answers"), { open: openAnswer, tell: noteOfList, listed: openWanted });
const address = new AddressBar({ open: openAnswer, moved: () => (address.wanted ? openWanted(list.list) : close()) });
const parseDialog = new ParseDialog(sendParse);
let trace = null;
let reading = new AbortController();

/** Shows everything as it is at the cursor. */
function draw() {
  if (!trace) return;
  const { cursor } = player;
  const count = trace.beats.length;
  lanes.point(cursor, { follow: player.cursor !== lanes.cursor, picked: player.picked });
  overview.point(cursor);
  items.point(cursor);
  detail.point(cursor);
  prompt.point(cursor);
  drawPhases(byId("phases"), trace);
  drawVerdict(byId("verdict"), trace);
  say(byId("place"), count ? `${counted(cursor - trace.first + 1)} of ${counted(count)}${trace.first ? `, ${counted(trace.first)} earlier ones dropped` : ""}` : "");
  say(byId("play"), player.playing || (player.following && player.live) ? "Pause" : "Play");
  byId("play").setAttribute("aria-pressed", String(player.playing));
  byId("live").hidden = !player.live;
  byId("live").setAttribute("aria-pressed", String(player.following));
  const behind = `${counted(trace.next - 1 - cursor)} behind`;
  say(byId("live"), player.following ? "Following" : player.playing ? behind : `Paused, ${behind}`);
  byId("speed").value = String(player.speed);
  drawHead();
}

function drawHead() {
  const { answer, end } = trace;
  say(byId("model"), [answer?.model, answer?.protocol, answer?.parser].filter(Boolean).join(" · "));
  const usage = end?.usage;
  const counts = usage ? `${counted(usage.input_tokens)} in (${counted(usage.cached_tokens)} cached), ${counted(usage.output_tokens)} out` : `${counted(trace.tokens)} tokens`;
  say(byId("counts"), counts);
  const state = end ? end.state ?? trace.lastEnd ?? "parsed" : player.live ? "running" : "cut off";
  say(byId("state"), state);
  byId("state").className = `state ${stateClass(state)}`;
}

function noteOfList(text, wantsKey) {
  say(byId("list-note"), text);
  byId("give-key").hidden = !wantsKey;
}

/** Opens the answer that the address bar names, or says why not. */
function openWanted(answers) {
  const note = address.resolve(answers);
  if (note && note !== byId("link-note").textContent && answers.some(({ request_id: id }) => id === address.wanted.request)) {
    list.filter(address.wanted.request);
  }
  if (note && trace) close();
  say(byId("link-note"), note);
}

/** Shows no answer. */
function close() {
  reading.abort();
  trace = null;
  player.open(null);
  document.body.classList.remove("opened");
  list.select(null);
}

/** Begins with a new trace. */
function begin(title, live) {
  reading.abort();
  reading = new AbortController();
  trace = new Trace();
  document.body.classList.add("opened");
  say(byId("title"), title);
  player.open(trace, live);
  for (const part of [lanes, overview, items, detail, prompt]) part.show(trace);
  byId("phases").replaceChildren();
  draw();
  byId("lanes").focus({ preventScroll: true });
  return reading.signal;
}

/** A function that adds lines to the trace that is shown now, and to no later one. */
function taking() {
  const mine = trace;
  return (line, source) => {
    mine.add(line, source);
    if (mine === trace) player.grown();
  };
}

async function openAnswer(answer) {
  const signal = begin(`Answer ${answer.id}`, true);
  if (matchMedia("(max-width: 760px)").matches) byId("list").open = false;
  list.select(answer.id);
  parseDialog.forget();
  address.name(answer, list.list);
  const mine = trace;
  // The line `answer` may be among those that are no longer kept.
  mine.answer = { ...answer, markers: [] };
  try {
    const whole = await tap(answer.id, taking(), signal);
    if (!whole) notify("The stream was cut off; what had come is shown.");
  } catch (error) {
    if (error.name !== "AbortError") notify(error.message);
  }
  if (mine === trace) player.ended();
}

/** Parses; the trace that is shown is replaced once the server has taken the request. */
async function sendParse(body, title) {
  let take = null;
  let mine = null;
  const first = (line, source) => {
    if (!take) {
      begin(title, true);
      list.select(null);
      address.name(null);
      mine = trace;
      take = taking();
    }
    take(line, source);
  };
  const whole = await parse(body, first);
  if (!mine) throw new Error("The server sent no lines.");
  if (mine === trace) player.ended();
  if (!whole) notify("The stream was cut off; what had come is shown.");
}

/** Shows lines from a file. */
function openLines({ name, lines }) {
  begin(name, false);
  list.select(null);
  parseDialog.forget();
  address.name(null);
  let left = 0;
  for (const line of lines) {
    try {
      takeLine(line, (read, source) => trace.add(read, source));
    } catch {
      left += 1;
    }
  }
  if (left) notify(`${name} is cut off: ${left === 1 ? "a line is none" : `${left} lines are none`} of a trace.`);
  player.follow();
}

async function openFile(file) {
  try {
    const read = await readFile(file);
    if (read.kind === "lines") openLines(read);
    else if (read.kind === "record") await parseDialog.show(read);
    else parseDialog.open(read);
  } catch (error) {
    notify(error.message);
  }
}

/** Opens files that were dropped, a parser before what it is to parse. */
async function openFiles(files) {
  const isParser = ({ name }) => name.endsWith(".wasm");
  for (const file of files.sort((one, other) => isParser(other) - isParser(one))) await openFile(file);
}

/** Saves the lines that are kept, as a file that can be dropped here again. */
function save() {
  if (!trace?.lines.length) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([trace.lines.join("\n"), "\n"], { type: "application/x-ndjson" }));
  link.download = `${byId("title").textContent.toLowerCase().replace(/[^a-z0-9.]+/g, "-")}.jsonl`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function find() {
  const number = trace && findNext(trace, byId("find").value, player.cursor);
  if (number >= 0) go(number);
  else if (byId("find").value) notify("Not found.");
}

function jump(what) {
  const number = trace ? nextOf(trace, what, player.cursor) : -1;
  if (number >= 0) go(number);
  else notify(`No ${what} behind this step.`);
}

function findings() {
  if (!trace) return;
  listFindings(byId("findings"), trace, (number) => {
    byId("findings-dialog").close();
    go(number);
  });
  byId("findings-dialog").showModal();
}

const actions = {
  step: (by) => player.step(by),
  home: () => trace && go(trace.first),
  end: () => (player.live ? player.follow() : trace && go(trace.next - 1)),
  toggle: () => player.toggle(),
  pace: (by) => player.pace(by),
  next: jump,
  filter: () => {
    byId("list").open = true;
    byId("filter").focus();
  },
  prompt: () => { byId("prompt").open = !byId("prompt").open; },
  find: () => byId("find").focus(),
  again: find,
  answer: (by) => {
    const answer = list.beside(by);
    if (answer) openAnswer(answer);
  },
  parse: () => parseDialog.open(),
  save,
  help,
};

/** Buttons, by their ids. */
const BUTTONS = {
  first: ["home"], back: ["step", -1], play: ["toggle"], forward: ["step", 1], last: ["end"], live: ["end"],
  "open-parse": ["parse"], "open-help": ["help"], "save-lines": ["save"],
};

function wire() {
  for (const [id, [name, argument]] of Object.entries(BUTTONS)) byId(id).addEventListener("click", () => actions[name](argument));
  byId("verdict").addEventListener("click", findings);
  byId("speed").addEventListener("change", (event) => {
    player.speed = Number(event.target.value);
    draw();
  });
  byId("find").addEventListener("keydown", (event) => {
    if (event.key === "Enter") find();
    if (event.key === "Escape") byId("lanes").focus();
  });
  byId("file").addEventListener("change", async (event) => {
    for (const file of event.target.files) await openFile(file);
    event.target.value = "";
  });
  byId("give-key").addEventListener("click", () => list.resume?.());
  onKeyNeeded(askForKey);
  listen(actions);
  watchDrops(openFiles);
}

byId("unscripted").remove();
wire();
list.watch();
