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

// How a tool's name may begin, with white space around it.
const NAME = /^(?=[^]{0,128}$)\s*[A-Za-z0-9_.:-]*\s*$/;

let calling = false; // whether the request declares tools
let prose = "content";
let state = "prose"; // what the text between two markers is: prose, name, id or body
let name = "";
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
  },

  text(chunk) {
    const size = byteLength(chunk);
    if (state === "prose") return allOf(size, prose);
    if (state === "body") return allOf(size, "arguments");
    held += size;
    if (state === "name") {
      name += chunk;
      if (!NAME.test(name)) return allOf(release(), prose);
    }
    return hold;
  },

  marker(index) {
    if ([CALL, ARGUMENTS, CALL_ID].includes(index) && !calling) return allOf(MARKERS[index].length, prose);
    if (index === ARGUMENTS && (state === "name" || state === "id") && name.trim()) return openCall();
    if (index === CALL_ID && state === "name") {
      state = "id";
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
    const ended = state === "body" && reason !== "stop" ? [] : endCall(true);
    return ended.length > 0 ? ops(ended) : hold;
  },
};

function openCall() {
  const markup = held + MARKERS[ARGUMENTS].length;
  [state, held] = ["body", 0];
  return ops([{ tag: "tool-call", val: { name: name.trim(), payload: "json" } }, run("drop", markup)]);
}

// An open call is complete. A name without arguments is a broken call at the turn's end, and text elsewhere; no name is nothing.
function endCall(turnEnds) {
  const was = state;
  const bytes = release();
  if (was === "prose") return [];
  if (was === "body") return [close];
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
