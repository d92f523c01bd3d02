//! What streams of the format are made of, in its tests and in fuzzing.

/// Generation prompts that may open a turn.
pub(crate) const PROMPTS: &[&str] =
    &["", "<|im_start|>assistant", "<|im_start|>assistant\n", "<|im_start|>assistant/think\n"];

/// Fragments that are hard to parse.
pub(crate) const FRAGMENTS: &[&str] = &[
    "<|im_start|>",
    "<|im_end|>",
    "<|stop|>",
    "<|endofturn|>",
    "<|im_",
    "start|>",
    "assistant",
    "assist",
    "/think\n",
    "/thi",
    " -> tool/function_call\n",
    " -> tool/",
    "-> tool/add\n",
    "function_call",
    "<|im_end|>\n<|im_start|>assistant",
    "<|im_start|>assistant -> tool/function_call\n[{\"name\": \"add\", \"arguments\": {\"a\": 1}}]<|im_end|>",
    "<|im_start|>assistant -> tool/function_call\n[{\"name\": \"add\", \"arguments\": ",
    "<|im_start|>assistant -> tool/function_call\n[{\"name\": \"patch\", \"arguments\": {\"input\": \"",
    "<|im_start|>user\n",
    "[{\"arguments\": {\"a\": 1}, \"name\": \"add\"}, ",
    "{\"name\": \"unknown\"}",
    "{\"a\": [1, {\"b\": \"<|im_end|>\"}]}",
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
    "\n",
    " ",
    "prose, long enough to be a sentence, ",
];
