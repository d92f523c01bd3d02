// Outputs of the scripted model, and the items that clients must see.
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false };
const tools = ["get_weather", "get_time"].map((name) => ({ name, description: `${name} of a city`, parameters }));
export const responsesTools = tools.map((tool) => ({ type: "function", strict: false, ...tool }));
export const chatTools = tools.map((tool) => ({ type: "function", function: tool }));

export const messagesTools = tools.map(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters }));

const call = (name, city) => `<tool_call>\n${JSON.stringify({ name, arguments: { city } })}\n</tool_call>`;

/** reasoning → text → tool → text → tool */
export const interleaved =
  "<think>\nTwo things are asked 🏔.\n</think>\n\nFirst the weather.\n" +
  call("get_weather", "Zürich") +
  "\nThen the time.\n" +
  call("get_time", "Zürich 🏔");

export const items = [
  ["reasoning", "Two things are asked 🏔."],
  ["message", "First the weather."],
  ["function_call", "get_weather", { city: "Zürich" }],
  ["message", "Then the time."],
  ["function_call", "get_time", { city: "Zürich 🏔" }],
];

export const steps = { one: 1, two: 2, three: 3, eight: 8, all: 0 };
export const patch = '*** Begin Patch\n*** Update File: "a\\b.txt"\n+é🏔\t!\n*** End Patch\n';
export const patchTool = { type: "custom", custom: { name: "apply_patch", description: "Edits files.", format: { type: "text" } } };
const patchCall = `<tool_call>\n${JSON.stringify({ name: "apply_patch", arguments: { input: patch } })}\n</tool_call>`;

const played = (word, text) =>
  Object.entries(steps).map(([name, size]) => ({ when: { contains: `${word} ${name}` }, text, tokens_per_step: size }));
export const rules = [
  ...played("steps", interleaved),
  ...played("patch", patchCall),
  { when: { contains: "think" }, text: "<think>\nThe colour is mauve.\n</think>\n\nI know." },
  { when: { last_role: "tool" }, text: "All done." },
];

/** A Responses item as a tuple to compare. */
export function simple(item) {
  if (item.type === "function_call") return [item.type, item.name, JSON.parse(item.arguments)];
  return [item.type, item.content.map((part) => part.text).join("")];
}
