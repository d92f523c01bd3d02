//! Properties of random streams, made of fragments that are hard to parse: any cut gives the same items, markers by token or by text give
//! the same items, arguments are JSON, and what is written of them at any moment is a prefix of the final arguments.

use glm_parser::Glm;
use parser_kit::{
    Streams, check_many_parameters, check_string_flows, check_string_parameters, typed_request,
};
use parser_sdk::Request;

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

/// Streams made of [`FRAGMENTS`].
fn streams(requests: &[Request]) -> Streams<'_> {
    let prompts = &["", "<|assistant|>", "<|assistant|><think>", "<|assistant|></think>"];
    Streams::of(requests, prompts, FRAGMENTS, &["<|observation|>"])
}

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    streams(&[typed_request()]).check::<Glm>();
}

#[test]
fn arguments_are_written_as_sound_json_piece_by_piece() {
    streams(&[typed_request()]).check_written_arguments::<Glm>();
}

#[test]
fn string_values_come_back_as_they_were() {
    let parameter =
        |key: &str, value: &str| format!("<arg_key>{key}</arg_key><arg_value>{value}</arg_value>\n");
    let call = |parameters: &str| format!("<tool_call>get_weather{parameters}</tool_call>");
    check_string_parameters::<Glm>(&typed_request(), parameter, call);
}

#[test]
fn a_string_value_is_asked_for_once() {
    let head = ["<tool_call>", "get_weather", "<arg_key>", "city", "</arg_key>", "<arg_value>"];
    check_string_flows::<Glm>(&typed_request(), &head);
}

#[test]
fn very_many_parameters_stay_within_what_may_be_written() {
    let parameter = |key: &str| format!("<arg_key>{key}</arg_key><arg_value></arg_value>");
    check_many_parameters::<Glm>(&typed_request(), parameter, |parameters| {
        format!("<tool_call>get_weather{parameters}</tool_call>")
    });
}
