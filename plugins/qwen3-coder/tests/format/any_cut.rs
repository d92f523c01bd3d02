//! Properties of the format, which the kit has for every format with parameters as text; here is
//! how this one spells them.

use crate::fragments::{FRAGMENTS, PROMPTS};
use parser_kit::{Item, ParameterFormat, agree, typed_request};
use parser_sdk::FinishReason;
use qwen3_coder_parser::Qwen3Coder;

const FORMAT: ParameterFormat<'_> = ParameterFormat {
    prompts: PROMPTS,
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

#[test]
fn draft_before_blank_reasoning_is_cut_anywhere() {
    let output = "<function=add</function></think><think>\r\n</parameter>\r\n<|im_start|><|im_end|>";
    for size in 1..output.len() {
        agree::<Qwen3Coder>(&typed_request(), "<think>\n", output, &[size], FinishReason::Stop);
    }
    agree::<Qwen3Coder>(&typed_request(), "<think>\n", output, &[24, 29, 13, 20, 19, 11], FinishReason::Stop);
}
