//! What streams of the format are made of, in its tests and in fuzzing.

/// Generation prompts that may open a turn.
pub(crate) const PROMPTS: &[&str] = &["", "<|assistant_start|>"];

/// Fragments that are hard to parse.
pub(crate) const FRAGMENTS: &[&str] = &[
    "<|inner_prefix|>",
    "<|inner_suffix|>",
    "<|tools_prefix|>",
    "<|tools_suffix|>",
    "<|tools_",
    "prefix|>",
    "<|assistant_start|>",
    "<|assistant_end|>",
    "[",
    "]",
    "{",
    "}",
    "[{\"add\": ",
    "{\"add\": ",
    "{\"get_wea",
    "ther\"",
    ": {",
    "\"a\": 1",
    "\"input\": \"",
    ", ",
    "\"",
    "\\",
    "\\u00e9",
    "\n",
    " ",
    "Zürich 😀",
    "1.5",
    "<|tools_prefix|>[{\"get_weather\": {\"city\": \"Oslo\"}}]<|tools_suffix|>",
    "<|tools_prefix|>[{\"add\": ",
    "<|tools_prefix|>[{\"patch\": {\"input\": \"",
    "}, {\"add\": {\"a\": ",
    "}]<|tools_suffix|>",
];
