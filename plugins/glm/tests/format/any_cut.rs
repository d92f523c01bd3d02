//! Properties of the format, which the kit has for every format with parameters as text; here is how this one spells them.

use glm_parser::Glm;
use parser_kit::ParameterFormat;

const FRAGMENTS: &[&str] = &[
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
    "add",
    "i",
    "<tool_call>add<arg_key>i</arg_key><arg_value>5</arg_value></tool_call>",
    "5",
    "5.0",
    "[1, 2]",
    "[",
    "null",
    "word",
    "Zürich",
    "😀",
    "\"",
    "\\",
    "{",
    "{\"k\": 1}",
    "<",
    "</",
    "\n\n\n",
    "\n",
    " ",
    "prose, long enough to be no number or word at all, ",
];

const FORMAT: ParameterFormat<'_> = ParameterFormat {
    prompts: &["", "<|assistant|>", "<|assistant|><think>", "<|assistant|></think>"],
    fragments: FRAGMENTS,
    ends: &["<|observation|>"],
    reasoning: ["<think>", "</think>"],
    parameter: |key, value, _| format!("<arg_key>{key}</arg_key><arg_value>{value}</arg_value>\n"),
    call: |name, parameters| format!("<tool_call>{name}\n{parameters}</tool_call>"),
    string: &["<tool_call>", "get_weather", "<arg_key>", "city", "</arg_key>", "<arg_value>"],
};

#[test]
fn turns_come_back_as_they_were_however_they_are_cut() {
    FORMAT.check::<Glm>();
}
