//! What streams of the format are made of, in its tests and in fuzzing.

/// Generation prompts that may open a turn.
pub(crate) const PROMPTS: &[&str] = &["", "<|assistant|>", "<|assistant|><think>", "<|assistant|></think>"];

/// Fragments that are hard to parse.
pub(crate) const FRAGMENTS: &[&str] = &[
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "<|assistant|>",
    "<|user|>",
    "<|observation|>",
    "<|endoftext|>",
    "<tool_call>add",
    "<tool_call>add\n",
    "<tool_call>get_weather",
    "<tool_call>patch\n",
    "<tool_call>addi</arg_key>",
    "<arg_key>i</arg_key><arg_value>",
    "<arg_key>a</arg_key>\n<arg_value>",
    "<arg_key>s</arg_key><arg_value>",
    "<arg_key>t</arg_key><arg_value>",
    "<arg_key>k\"y</arg_key>",
    "<arg_key>input</arg_key><arg_value>",
    "</arg_value></tool_call>",
    "<tool_call>add<arg_key>i</arg_key><arg_value>5</arg_value></tool_call>",
    "<tool_call>add\n<arg_key>i</arg_key>\n<arg_value>",
    "<tool_call>patch\n<arg_key>input</arg_key>\n<arg_value>",
    "<arg_key>a</arg_key><arg_value>",
    " or so ",
];
