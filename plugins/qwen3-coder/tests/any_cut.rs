//! Properties of random streams, made of fragments that are hard to parse: any cut gives the same items, markers by token or by text give
//! the same items, arguments are JSON, and what is written of them at any moment is a prefix of the final arguments.

use parser_kit::{
    Item, Streams, agree, check_long_string, check_many_parameters, check_string_flows,
    check_string_parameters, typed_request,
};
use parser_sdk::{FinishReason, Request};
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

/// Streams made of [`FRAGMENTS`].
fn streams(requests: &[Request]) -> Streams<'_> {
    let prompts = &["", "<think>\n", "<|im_start|>assistant\n", "<think>\n\n</think>\n\n"];
    Streams::of(requests, prompts, FRAGMENTS, &["<|im_end|>"])
}

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    streams(&[typed_request()]).check::<Qwen3Coder>();
}

#[test]
fn arguments_are_written_as_sound_json_piece_by_piece() {
    streams(&[typed_request()]).check_written_arguments::<Qwen3Coder>();
}

#[test]
fn string_values_come_back_as_they_were() {
    let parameter = |key: &str, value: &str| format!("<parameter={key}>\n{value}\n</parameter>\n");
    let call = |parameters: &str| {
        format!("<tool_call>\n<function=get_weather>\n{parameters}</function>\n</tool_call>")
    };
    check_string_parameters::<Qwen3Coder>(&typed_request(), parameter, call);
}

#[test]
fn a_string_value_is_asked_for_once() {
    let head = ["<tool_call>", "\n", "<function=", "get_weather>", "\n<parameter=", "city>\n"];
    check_string_flows::<Qwen3Coder>(&typed_request(), &head);
}

#[test]
fn a_long_string_is_whole() {
    check_long_string::<Qwen3Coder>(&typed_request(), |value| {
        format!(
            "<tool_call>\n<function=add>\n<parameter=s>\n{value}\n</parameter>\n</function>\n</tool_call>"
        )
    });
}

#[test]
fn very_many_parameters_stay_within_what_may_be_written() {
    let parameter = |key: &str| format!("<parameter={key}>x</parameter>");
    check_many_parameters::<Qwen3Coder>(&typed_request(), parameter, |parameters| {
        format!("<tool_call><function=get_weather>{parameters}</function></tool_call>")
    });
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
