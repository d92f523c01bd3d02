//! What streams of the format are made of, in its tests and in fuzzing.

/// Generation prompts that may open a turn.
pub(crate) const PROMPTS: &[&str] = &["", "<|extra_0|>", "<|extra_0|><think>\n\n</think>\n"];

/// Fragments that are hard to parse.
pub(crate) const FRAGMENTS: &[&str] = &[
    "<think>",
    "</think>",
    "<answer>",
    "</answer>",
    "<tool_calls>",
    "</tool_calls>",
    "<|eos|>",
    "<tool_calls>[{\"name\": \"add\", \"arguments\": {\"a\": 1}}]</tool_calls>",
    "<tool_calls>[{\"name\": \"add\", \"arguments\": ",
    "<tool_calls>[{\"name\": \"patch\", \"arguments\": {\"input\": \"",
    "[{\"arguments\": {\"a\": 1}, \"name\": \"add\"}, ",
    "{\"name\": \"unknown\"}",
    "{\"a\": [1, {\"b\": \"</tool_calls>\"}]}",
    "\"}}]",
    "}]",
    "]",
    "[",
    "{",
    "}",
    "\"",
    "\\",
    "null",
    "5",
    "Zürich",
    "😀",
    "<",
    "</tool",
    "\n",
    " ",
    ", ",
    "prose, long enough to be a sentence, ",
    "}, {\"arguments\": {\"a\": 1}, \"name\": \"add\"}]",
    "}]</tool_calls>\n</answer>",
];
