//! Properties of random streams, made of fragments that are hard to parse: any cut gives the same items, markers by token or by text give
//! the same items, arguments are JSON, and what is written of them at any moment is a prefix of the final arguments.

use kimi_k3_parser::KimiK3;
use parser_kit::{
    Streams, check_long_string, check_string_flows, check_string_parameters, check_turns_between,
    parameter_of_turn, turns_request,
};
use parser_sdk::Request;

const FRAGMENTS: &[&str] = &[
    "<|open|>think<|sep|>",
    "<|close|>think<|sep|>",
    "<|open|>response<|sep|>",
    "<|close|>response<|sep|>",
    "<|open|>tools<|sep|>",
    "<|close|>tools<|sep|>",
    "<|open|>message role=\"assistant\"<|sep|>",
    "<|close|>message<|sep|>",
    "<|end_of_msg|>",
    "<|open|>call tool=\"add\" index=\"1\"<|sep|>",
    "<|open|>call tool=",
    "<|close|>call<|sep|>",
    "<|open|>argument key=",
    "<|close|>argument<|sep|>",
    "<|sep|>",
    "<|open|>",
    "<|close|>",
    "<|open|>call tool=\"get_weather\" index=\"2\"<|sep|>",
    "<|open|>call tool=\"patch\"<|sep|>",
    "<|open|>call tool=nowhere<|sep|>",
    "<|open|>argument key=\"i\" type=\"number\"<|sep|>",
    "<|open|>argument key=\"i\" type=\"string\"<|sep|>",
    "<|open|>argument key=\"a\" type=\"array\"<|sep|>",
    "<|open|>argument key=\"a\"<|sep|>",
    "<|open|>argument key=\"s\" type=\"string\"<|sep|>",
    "<|open|>argument key=\"input\" type=\"string\"<|sep|>",
    "<|open|>argument key=\"a&quot;&amp;b\" type=\"null\"<|sep|>",
    "<|close|>argument<|sep|><|close|>call<|sep|>",
    "<|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>",
    "<|open|>tools<|sep|><|open|>call tool=\"add\" index=\"1\"<|sep|><|open|>argument key=\"s\" type=\"string\"<|sep|>",
    "<|open|>tools<|sep|><|open|>call tool=\"patch\" index=\"1\"<|sep|><|open|>argument key=\"input\" type=\"string\"<|sep|>",
    " type=\"string\"",
    "<|",
    "add",
    "\"add\"",
    "i",
    ">",
    "5",
    "5.0",
    "[1, 2]",
    "[",
    "null",
    "true",
    "word",
    "Zürich",
    "😀",
    "\"",
    "'",
    "\\",
    "{",
    "{\"k\": 1}",
    "<|open|>json type=\"object\"<|sep|>",
    "<|close|>json<|sep|>",
    "<|open|>tools<|sep|><|open|>call tool=\"add\"<|sep|><|open|>json type=\"object\"<|sep|>{\"s\": \"",
    "<",
    "</",
    "\n\n\n",
    "\n",
    " ",
    "prose, long enough to be no number or word at all, ",
];

/// Streams made of [`FRAGMENTS`].
fn streams(requests: &[Request]) -> Streams<'_> {
    let prompts = &[
        "",
        "<|open|>message role=\"assistant\"<|sep|><|open|>think<|sep|>",
        "<|open|>message role=\"assistant\"<|sep|><|open|>response<|sep|>",
    ];
    Streams::of(requests, prompts, FRAGMENTS, &["<|end_of_msg|>"])
}

/// A block with a call of this tool.
fn block(name: &str, parameters: &str) -> String {
    format!(
        "<|open|>tools<|sep|><|open|>call tool=\"{name}\" index=\"1\"<|sep|>{parameters}<|close|>call<|sep|><|close|>tools<|sep|>"
    )
}

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    streams(&[turns_request()]).check::<KimiK3>();
}

#[test]
fn arguments_are_written_as_sound_json_piece_by_piece() {
    streams(&[turns_request()]).check_written_arguments::<KimiK3>();
}

#[test]
fn a_turn_of_items_comes_back_as_it_was() {
    check_turns_between::<KimiK3>(
        ["<|open|>think<|sep|>", "<|close|>think<|sep|>"],
        &turns_request(),
        |_, arguments| {
            let (value, is_string) = parameter_of_turn(arguments);
            let kind = if is_string { "string" } else { "array" };
            block(
                "add",
                &format!("<|open|>argument key=\"a\" type=\"{kind}\"<|sep|>{value}<|close|>argument<|sep|>"),
            )
        },
    );
}

#[test]
fn string_values_come_back_to_the_byte() {
    let parameter = |key: &str, value: &str| {
        format!("<|open|>argument key=\"{key}\" type=\"string\"<|sep|>{value}<|close|>argument<|sep|>")
    };
    check_string_parameters::<KimiK3>(&turns_request(), parameter, |parameters| {
        block("get_weather", parameters)
    });
}

#[test]
fn a_string_value_is_asked_for_once() {
    let head = [
        "<|open|>tools<|sep|>",
        "<|open|>call tool=",
        "\"get_weather\" index=\"1\"",
        "<|sep|>",
        "<|open|>argument key=",
        "\"city\" type=\"string\"",
        "<|sep|>",
    ];
    check_string_flows::<KimiK3>(&turns_request(), &head);
}

#[test]
fn a_long_string_is_whole() {
    check_long_string::<KimiK3>(&turns_request(), |value| {
        block(
            "add",
            &format!("<|open|>argument key=\"s\" type=\"string\"<|sep|>{value}<|close|>argument<|sep|>"),
        )
    });
}
