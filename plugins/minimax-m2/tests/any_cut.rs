//! Properties of random streams, made of fragments that are hard to parse: any cut gives the same items, markers by token or by text give
//! the same items, arguments are JSON, and what is written of them at any moment is a prefix of the final arguments.

use minimax_m2_parser::MiniMaxM2;
use parser_kit::{
    Streams, check_long_string, check_string_flows, check_string_parameters, check_turns, parameter_of_turn,
    turns_request,
};
use parser_sdk::Request;

const FRAGMENTS: &[&str] = &[
    "<think>",
    "</think>",
    "<minimax:tool_call>",
    "<minimax:tool_call>\n",
    "</minimax:tool_call>",
    "]~b]",
    "]~b]ai\n",
    "[e~[",
    "<invoke name=",
    "<invoke name=\"add\">",
    "</invoke>",
    "<parameter name=",
    "</parameter>",
    "</parameter>\n",
    "<invoke name=\"get_weather\">\n",
    "<invoke name='patch'>",
    "<invoke name=nowhere>",
    "<parameter name=\"i\">",
    "<parameter name=\"a\">",
    "<parameter name=\"s\">",
    "<parameter name=\"t\">",
    "<parameter name=\"input\">",
    "<parameter name=k>",
    "</invoke>\n</minimax:tool_call>",
    "<minimax:tool_call>\n<invoke name=\"add\">\n<parameter name=\"i\">5</parameter>\n</invoke>\n</minimax:tool_call>",
    "<minimax:tool_call>\n<invoke name=\"add\">\n<parameter name=\"s\">",
    "<minimax:tool_call>\n<invoke name=\"patch\">\n<parameter name=\"input\">",
    "add",
    "\"add\"",
    "i",
    ">",
    "5",
    "5.0",
    "[1, 2]",
    "[",
    "null",
    "word",
    "Zürich",
    "😀",
    "\"",
    "'",
    "\\",
    "{",
    "{\"k\": 1}",
    "<",
    "</",
    "]~",
    "\n\n\n",
    "\n",
    " ",
    "prose, long enough to be no number or word at all, ",
];

/// Streams made of [`FRAGMENTS`].
fn streams(requests: &[Request]) -> Streams<'_> {
    let prompts = &["", "]~b]ai\n<think>\n", "]~b]ai\n"];
    Streams::of(requests, prompts, FRAGMENTS, &["[e~["])
}

/// A block with a call of this tool.
fn block(name: &str, parameters: &str) -> String {
    format!("<minimax:tool_call>\n<invoke name=\"{name}\">\n{parameters}</invoke>\n</minimax:tool_call>")
}

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    streams(&[turns_request()]).check::<MiniMaxM2>();
}

#[test]
fn arguments_are_written_as_sound_json_piece_by_piece() {
    streams(&[turns_request()]).check_written_arguments::<MiniMaxM2>();
}

#[test]
fn a_turn_of_items_comes_back_as_it_was() {
    check_turns::<MiniMaxM2>(&turns_request(), |_, arguments| {
        let (value, _) = parameter_of_turn(arguments);
        block("add", &format!("<parameter name=\"a\">{value}</parameter>\n"))
    });
}

#[test]
fn string_values_come_back_to_the_byte() {
    let parameter = |key: &str, value: &str| format!("<parameter name=\"{key}\">{value}</parameter>\n");
    check_string_parameters::<MiniMaxM2>(&turns_request(), parameter, |parameters| {
        block("get_weather", parameters)
    });
}

#[test]
fn a_string_value_is_asked_for_once() {
    let head = [
        "<minimax:tool_call>",
        "\n",
        "<invoke name=",
        "\"get_weather\">\n",
        "<parameter name=",
        "\"city\">Os",
    ];
    check_string_flows::<MiniMaxM2>(&turns_request(), &head);
}

#[test]
fn a_long_string_is_whole() {
    check_long_string::<MiniMaxM2>(&turns_request(), |value| {
        block("add", &format!("<parameter name=\"s\">{value}</parameter>\n"))
    });
}
