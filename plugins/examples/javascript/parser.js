// Parser for Mistral's newer formats, in JavaScript: `[THINK]…[/THINK]`, then text, then `[TOOL_CALLS]name[ARGS]{json}` any number of times.
//
// A marker behind which no name stands was only mentioned, and is text. A call that the turn's end cuts off before its arguments is a broken call.
// A parser routes the bytes that the host holds: every answer says where the oldest of them go. What no answer routes stays held.
// Every stream has an instance of its own, so the module's variables are the stream's state.

const MARKERS = ["[THINK]", "[/THINK]", "[TOOL_CALLS]", "[CALL_ID]", "[ARGS]", "</s>"];
const [THINK, THINK_END, CALL, CALL_ID, ARGUMENTS, TURN_END] = MARKERS.keys();

// How the format spells a turn, for a host that forces calls and schemas.
const GRAMMAR = String.raw`
%name 128 /[A-Za-z0-9_.:-]/
before: (gap? marker_0 text marker_1)?
call: marker_2 name marker_4 arguments
`;

// How a tool's name, or a call's id, may begin, with white space around it.
const NAME = /^(?=[^]{0,128}$)\s*[A-Za-z0-9_.:-]*\s*$/;

let calling = false; // whether the request declares tools
let custom = new Set(); // names of the tools whose input is text: it comes as `{"input": "…"}`
let prose = "content";
let tokens = []; // markers that text can't spell
// What the text between two markers is: prose, name, id, and of a call's arguments head (their beginning), json (an object), input (the text of
// a custom tool, as a JSON string), end (what is behind that) or other.
let state = "prose";
let name = "";
let id = ""; // the call's own, which clients don't see
let head = ""; // the arguments' beginning
let escaped = false; // whether the input goes on behind a backslash
let held = 0; // bytes of the call's markup that the host holds for us

const hold = { tag: "hold" };
const ops = (list) => ({ tag: "ops", val: list });
const run = (route, bytes) => ({ tag: "bytes", val: { route, bytes } });
// All `size` bytes held go one way, and so does all text up to the next marker: the host needn't ask before that.
const allOf = (size, route) => ops([run(route, size), { tag: "until-marker", val: route }]);
const close = { tag: "close" };

export const parser = {
  describe(_options) {
    return {
      name: "mistral-js",
      version: "0.1.0",
      models: [],
      markers: MARKERS,
      stops: [TURN_END],
      trim: { reasoning: true, content: true },
      historyCallIds: undefined,
      grammar: GRAMMAR,
      reasoningEnd: MARKERS[THINK_END],
      needs: [],
      properties: [],
    };
  },

  start(request) {
    calling = request.tools.length > 0;
    custom = new Set(request.tools.filter((tool) => tool.kind === "custom").map((tool) => tool.name));
    tokens = [...request.tokenMarkers];
  },

  text(chunk) {
    const size = byteLength(chunk);
    if (state === "prose") return allOf(size, prose);
    if (state === "other") return allOf(size, "arguments");
    if (state === "json") return ops(endJson(chunk, "arguments"));
    if (state === "input") return ops(input(chunk));
    if (state === "end") return ops(endJson(chunk, "drop"));
    held += size;
    if (state === "head") return beginJson(chunk);
    if (state === "name") name += chunk;
    else id += chunk;
    return NAME.test(state === "name" ? name : id) ? hold : allOf(release(), prose);
  },

  marker(index) {
    if (state === "input" && index !== TURN_END && !tokens.includes(index)) return ops(input(MARKERS[index]));
    if ([CALL, ARGUMENTS, CALL_ID].includes(index) && !calling) return allOf(MARKERS[index].length, prose);
    if (index === ARGUMENTS && (state === "name" || state === "id") && name.trim()) return openCall();
    if (index === CALL_ID && state === "name") {
      [state, id] = ["id", ""];
      held += MARKERS[index].length;
      return hold;
    }
    // Whatever else a marker is, it ends what came before it.
    const ended = endCall(index === TURN_END);
    if (index === CALL) {
      [state, name, held] = ["name", "", MARKERS[index].length];
      return ended.length > 0 ? ops(ended) : hold;
    }
    prose = index === THINK ? "reasoning" : "content";
    ended.push(run("drop", MARKERS[index].length));
    if (index === THINK_END) ended.push(close);
    return ops(ended);
  },

  finish(reason) {
    // Arguments are whole only if the model came this far by itself.
    const ended = isCall(state) && reason !== "stop" ? [] : endCall(true);
    return ended.length > 0 ? ops(ended) : hold;
  },
};

function openCall() {
  const markup = held + MARKERS[ARGUMENTS].length;
  [state, held, head, name] = ["head", 0, "", name.trim()];
  const payload = custom.has(name) ? "text" : "json";
  return ops([{ tag: "tool-call", val: { name, payload } }, run("drop", markup)]);
}

// Whether a call is open in this state.
function isCall(state) {
  return ["head", "json", "input", "end", "other"].includes(state);
}

// Reads up to where the arguments' JSON begins, or the string in it that is a custom tool's input.
function beginJson(chunk) {
  head += chunk;
  const isText = custom.has(name);
  const begins = (isText ? /^\s*\{\s*"input"\s*:\s*"/ : /^\s*\{/).exec(head);
  if (!begins) {
    if (/^\s*(\{\s*("(i(n(p(u(t("\s*(:\s*)?)?)?)?)?)?)?)?)?$/.test(head)) return hold;
    const size = held;
    [state, held] = ["other", 0];
    return allOf(size, "arguments");
  }
  const rest = head.slice(begins[0].length);
  [state, held, escaped] = [isText ? "input" : "json", 0, false];
  if (isText) return ops([run("drop", begins[0].length), ...input(rest)]);
  // The host finds the end: markers inside the object's strings are text.
  const { end, depth, inString } = jsonRest(rest);
  const routed = run("arguments", begins[0].length + byteLength(rest.slice(0, end)));
  if (end !== undefined) return ops([routed, ...endJson(rest.slice(end), "arguments")]);
  return ops([routed, { tag: "until-json", val: { route: "arguments", depth, inString } }]);
}

// Routes text of the string, which the host decodes.
function input(text) {
  for (let at = 0; at < text.length; at++) {
    if (escaped) escaped = false;
    else if (text[at] === '"') return [run("arguments-unescaped", byteLength(text.slice(0, at))), ...endJson(text.slice(at), "drop")];
    else escaped = text[at] === "\\";
  }
  const list = [run("arguments-unescaped", byteLength(text))];
  return escaped ? list : [...list, { tag: "until-byte", val: { route: "arguments-unescaped", bytes: '"\\' } }];
}

// Routes what closes the arguments' object. Prose follows.
function endJson(text, route) {
  const end = text.indexOf("}") + 1;
  if (end === 0) {
    state = "end";
    return [run(route, byteLength(text))];
  }
  state = "prose";
  const [closing, behind] = [text.slice(0, end), text.slice(end)].map(byteLength);
  return [run(route, closing), close, run(prose, behind), { tag: "until-marker", val: prose }];
}

// Reads JSON behind an object's `{`: where its `}` is, if it is there, and else how many brackets and whether a string are open.
function jsonRest(text) {
  let [depth, inString] = [1, "no"];
  for (let at = 0; at < text.length; at++) {
    if (inString === "after-backslash") inString = "yes";
    else if (inString === "yes") inString = { '"': "no", "\\": "after-backslash" }[text[at]] ?? "yes";
    else if (text[at] === '"') inString = "yes";
    else if ("{[".includes(text[at])) depth += 1;
    else if ("}]".includes(text[at])) {
      depth -= 1;
      if (depth === 0) return { end: at };
    }
  }
  return { depth, inString };
}

// An open call is complete. A name without arguments is a broken call at the turn's end, and text elsewhere; no name is nothing.
function endCall(turnEnds) {
  const was = state;
  const bytes = release();
  if (was === "prose") return [];
  if (isCall(was)) return [run("arguments", bytes), close];
  if (turnEnds) return [run("drop", bytes), { tag: "broken-call" }];
  return [run(name.trim() ? prose : "drop", bytes)];
}

// What follows is prose, and the held bytes are decided: how many they are.
function release() {
  const bytes = held;
  [state, held] = ["prose", 0];
  return bytes;
}

// Bytes of a string in UTF-8; the host counts bytes, JavaScript counts UTF-16 units.
function byteLength(text) {
  let bytes = 0;
  for (const character of text) {
    const code = character.codePointAt(0);
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
}
