//! What streams of the format are made of, in its tests and in fuzzing.

/// Generation prompts that may open a turn.
pub(crate) const PROMPTS: &[&str] = &[
    "",
    "<|start_of_role|>assistant<|end_of_role|>",
    "<|start_of_role|>assistant {\"citations\": true}<|end_of_role|>",
];

/// Fragments that are hard to parse.
pub(crate) const FRAGMENTS: &[&str] = &[
    "<|tool_call|>",
    "<tool_call>",
    "<think>",
    "</think>",
    "<response>",
    "</response>",
    "Here is my thought process:",
    "Here's my thought process:",
    "Here is my response:",
    "Here's my response:",
    "Here is my ",
    "<|start_of_role|>",
    "<|end_of_role|>",
    "<|end_of_text|>",
    "<|tool_call|>[{\"name\": \"add\", \"arguments\": {\"a\": 1}}]",
    "<tool_call> [{\"name\": \"add\", \"arguments\": ",
    "<|tool_call|>[{\"name\": \"patch\", \"arguments\": {\"input\": \"",
    "[{\"arguments\": {\"a\": 1}, \"name\": \"add\"}, ",
    "{\"name\": \"unknown\"}",
    "{\"a\": [1, {\"b\": \"<|tool_call|>\"}]}",
    "\"}}]",
    "}]",
    "]",
    "[",
    "{",
    "}",
    "\"",
    "\\",
    "null",
    "Zürich",
    "😀",
    "<",
    "<|tool",
    "\n",
    " ",
    ", ",
    "prose, long enough to be a sentence, ",
];
