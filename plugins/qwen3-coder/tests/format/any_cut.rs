//! Properties of the format, which the kit has for every format with parameters as text; here is how this one spells them.

use parser_kit::{Item, ParameterFormat, agree, typed_request};
use parser_sdk::FinishReason;
use qwen3_coder_parser::Qwen3Coder;

const FRAGMENTS: &[&str] = &[
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<|im_start|>",
    "<|im_end|>",
    "<function=",
    "</function>",
    "<parameter=",
    "</parameter>",
    "\n<parameter=",
    "\n</parameter>",
    "\n</function>",
    ">",
    "<function=add>\n",
    "<function=get_weather>",
    "<function=patch>\n",
    "<parameter=i>\n",
    "<parameter=a>\n",
    "<parameter=s>\n",
    "<parameter=t>",
    "<parameter=input>\n",
    "<parameter=k\"y>",
    "<parameter=\"i\">\r\n",
    "<function={\"name\":",
    "<function=f>",
    "<parameter=x>",
    "\r\n</parameter>\r\n",
    "\r\n",
    "\r",
    "<function=add</function>",
    "</function>\n</tool_call>",
    "assistant\n",
    "add",
    "i",
    "<tool_call>\n<function=add>\n<parameter=i>\n5\n</parameter>\n</function>\n</tool_call>",
    "<tool_call>\n<function=add>\n<parameter=s>\n",
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
    prompts: &["", "<think>\n", "<|im_start|>assistant\n", "<think>\n\n</think>\n\n"],
    fragments: FRAGMENTS,
    ends: &["<|im_end|>"],
    reasoning: ["<think>", "</think>"],
    parameter: |key, value, _| format!("<parameter={key}>\n{value}\n</parameter>\n"),
    call: |name, parameters| format!("<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>"),
    string: &["<tool_call>", "\n", "<function=", "get_weather>", "\n<parameter=", "city>\n"],
};

#[test]
fn turns_come_back_as_they_were_however_they_are_cut() {
    FORMAT.check::<Qwen3Coder>();
}

#[test]
fn a_key_without_its_bracket_ends_in_its_line() {
    for (written, arguments) in [
        ("<parameter=i 3\n</parameter>", r#"{"i": 3}"#),
        ("<parameter=i\n3\n</parameter>", r#"{"i": 3}"#),
        ("<parameter=s=ls -l\necho\n</parameter>", r#"{"s": "ls -l\necho"}"#),
    ] {
        let output = format!("<tool_call>\n<function=add>\n{written}\n</function>\n</tool_call>");
        let items = agree::<Qwen3Coder>(&typed_request(), "", &output, &[2], FinishReason::Stop);
        assert_eq!(items, [Item::call("add", arguments)]);
    }
}
