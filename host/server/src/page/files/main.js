// The page: puts the parts together, and shows one conversation at a time.

import { onKeyNeeded } from "./asking.js";
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { byId, eachFrame, notify, say } from "./dom.js";
import { Keeper } from "./keeper.js";
import { askForKey } from "./key_dialog.js";
import { confirmRemoval, drawList } from "./list.js";
import { facts, models } from "./server.js";
import { Settings } from "./settings.js";
import { TurnView } from "./turn_view.js";

const settings = new Settings();
const composer = new Composer(ask, notify);
let keeper = null;
let inspector = null;
/** Conversations, newest first; one without a turn isn't among them. */
let all = [];
let current = null;
/** Views of the current conversation's turns, and those that are to be drawn again. */
let views = new Map();
const stale = new Set();

const redraw = eachFrame(() => {
  const scrolled = byId("thread");
  const follows = scrolled.scrollHeight - scrolled.scrollTop - scrolled.clientHeight < 80;
  for (const turn of stale) views.get(turn)?.draw(current.running);
  stale.clear();
  if (follows) scrolled.scrollTop = scrolled.scrollHeight;
});

/** A conversation whose changes are drawn. */
function conversation(kept) {
  const made = new Conversation({ ...kept, keeper, settings: () => settings.fields(), changed: (turn) => changed(made, turn) });
  return made;
}

function changed(one, turn) {
  if (one !== current) return;
  if (!turn) return drawAll();
  stale.add(turn);
  redraw();
}

/** Draws the current conversation: its turns, and what depends on whether it runs. */
function drawAll() {
  const { turns } = current;
  const known = views;
  views = new Map(turns.map((turn) => [turn, known.get(turn) ?? new TurnView(turn, actionsOf(current, turn))]));
  for (const [turn, view] of known) if (!views.has(turn)) view.element.remove();
  turns.forEach((turn, index) => {
    turn.isLast = index === turns.length - 1;
    const view = views.get(turn);
    if (!view.element.isConnected) byId("turns").append(view.element);
    stale.add(turn);
  });
  byId("welcome").hidden = turns.length > 0 || !current.loaded;
  composer.draw(current);
  tell(current);
  redraw();
  drawList(byId("conversations"), all, current, { open, remove });
}

function actionsOf(one, turn) {
  return {
    inspector,
    edit: leaving((question) => one.edit(turn, question)),
    regenerate: leaving(() => one.regenerate()),
    reply: leaving((request, approve) => one.reply(turn, request, approve)),
  };
}

/** An action whose button goes away: the focus goes back to the question. */
const leaving = (act) => (...given) => {
  act(...given);
  composer.focus();
};

/** Tells who doesn't see the page what became of the last answer. */
function tell({ turns, running }) {
  const answer = turns.at(-1)?.last;
  if (running) say(byId("told"), "The model answers.");
  else if (answer && answer.state !== "kept") say(byId("told"), answer.why ?? `The answer: ${answer.text().slice(0, 1000)}`);
}

async function ask(question, files) {
  if (!all.includes(current)) all.unshift(current);
  byId("thread").scrollTop = byId("thread").scrollHeight;
  await current.ask(question, files);
}

/** Shows a conversation. */
async function open(one) {
  if (matchMedia("(max-width: 760px)").matches) byId("list").open = false;
  views.forEach(({ element }) => element.remove());
  views = new Map();
  current = one;
  drawAll();
  composer.focus();
  try {
    await one.load();
  } catch (error) {
    notify(error.message);
  }
}

async function remove(one) {
  if (!await confirmRemoval(byId("removal"))) return;
  const kept = one.keeper;
  one.keeper = null;
  one.stop();
  try {
    await kept?.delete(one);
  } catch (error) {
    one.keeper = kept;
    return notify(error.message);
  }
  all = all.filter((each) => each !== one);
  if (one === current) open(conversation({}));
  else drawAll();
}

/** Asks the server what it offers. */
async function begin() {
  byId("again").hidden = true;
  try {
    const [server, served] = await Promise.all([facts(), models()]);
    settings.offer(served, server.tools ?? []);
    inspector = own(server.inspector);
    keeper = server.store ? new Keeper(notify) : null;
    say(byId("version"), `Sluice ${server.version}`);
    say(byId("list-note"), server.store ? "The server keeps them." : "This server keeps none: they are gone when the page is closed.");
    open(conversation({}));
  } catch (error) {
    notify(error.message);
    byId("again").hidden = false;
    return;
  }
  list();
}

/** Lists the conversations that the server has kept behind those of the page. */
async function list() {
  try {
    all.push(...(await keeper?.list() ?? []).map(conversation));
    drawAll();
  } catch (error) {
    notify(error.message);
  }
}

/** The inspector's URL, if it is on the host that this page came from. */
function own(url) {
  return url && new URL(url).hostname === location.hostname ? url : null;
}

function wire() {
  onKeyNeeded(askForKey);
  byId("again").addEventListener("click", begin);
  byId("new").addEventListener("click", () => current && open(conversation({})));
  byId("stop").addEventListener("click", () => current.stop());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") current?.stop();
    if (event.key !== "/" || event.target.closest("input, textarea, select")) return;
    event.preventDefault();
    composer.focus();
  });
}

wire();
begin();
