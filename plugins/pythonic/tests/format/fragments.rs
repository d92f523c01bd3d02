//! What streams of the format are made of, in its tests and in fuzzing.

/// Generation prompts that may open a turn.
pub(crate) const PROMPTS: &[&str] =
    &["", "<|im_start|>assistant\n", "<|header_start|>assistant<|header_end|>\n\n"];

/// Fragments that are hard to parse.
pub(crate) const FRAGMENTS: &[&str] = &[
    "<|tool_call_start|>",
    "<|tool_call_end|>",
    "<function_calls>",
    "</function_calls>",
    "<function_",
    "calls>",
    "<think>",
    "</think>",
    "<|python_start|>",
    "<|python_end|>",
    "<|im_end|>",
    "[",
    "[add(",
    "add",
    "add(",
    "get_weather(city=",
    "city='",
    "'it's'",
    "\"\"\"",
    ", days=3",
    ", and ",
    "New York",
    "True",
    "None",
    "-1.5",
    "(1, 2)",
    "{'a': [1]}",
    "{",
    "}",
    ")",
    "]",
    "\"",
    "'",
    "\\",
    "\\n",
    "\n",
    " ",
    "Zürich 😀",
    "[get_weather(city=\"Oslo\", days=3)]",
    "{\"name\": \"add\", \"arguments\": {\"a\": 1}}",
];
