//! Properties of random streams, made of fragments that are hard to parse: any cut gives the same items, markers by token or by text give
//! the same items, arguments are JSON, and what is written of them at any moment is a prefix of the final arguments.

use muse_parser::Muse;
use parser_kit::{
    Streams, check_long_string, check_string_flows, check_string_parameters, check_turns_between,
    parameter_of_turn, turns_request,
};
use parser_sdk::Request;

const FRAGMENTS: &[&str] = &[
    "<|start|>assistant to=self<|message|>",
    "<|start|>assistant to=add<|message|>",
    "<|start|>",
    " to=user",
    "<|message|>",
    "<|eom|>",
    "<atem:function_calls>",
    "<atem:function_calls>\n",
    "</atem:function_calls>",
    "<|start|>assistant",
    "<|eot|>",
    "<atem:invoke name=",
    "<atem:invoke name=\"add\">",
    "</atem:invoke>",
    "<atem:parameter name=",
    "</atem:parameter>",
    "</atem:parameter>\n",
    "<atem:invoke name=\"get_weather\">\n",
    "<atem:invoke name='patch'>",
    "<atem:invoke name=nowhere>",
    "<atem:parameter name=\"i\">",
    "<atem:parameter name=\"a\">",
    "<atem:parameter name=\"s\">",
    "<atem:parameter name=\"t\">",
    "<atem:parameter name=\"input\">",
    "<atem:parameter name=k>",
    "</atem:invoke>\n</atem:function_calls>",
    "<atem:function_calls>\n<atem:invoke name=\"add\">\n<atem:parameter name=\"i\">5</atem:parameter>\n</atem:invoke>\n</atem:function_calls>",
    "<atem:function_calls>\n<atem:invoke name=\"add\">\n<atem:parameter name=\"s\">",
    "<atem:function_calls>\n<atem:invoke name=\"patch\">\n<atem:parameter name=\"input\">",
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
    "<|",
    "\n\n\n",
    "\n",
    " ",
    "prose, long enough to be no number or word at all, ",
];

/// Streams made of [`FRAGMENTS`].
fn streams(requests: &[Request]) -> Streams<'_> {
    let prompts = &["", "<|start|>assistant"];
    Streams::of(requests, prompts, FRAGMENTS, &["<|eot|>"])
}

/// A block with a call of this tool.
fn block(name: &str, parameters: &str) -> String {
    format!(
        "<atem:function_calls>\n<atem:invoke name=\"{name}\">\n{parameters}</atem:invoke>\n</atem:function_calls>"
    )
}

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    streams(&[turns_request()]).check::<Muse>();
}

#[test]
fn arguments_are_written_as_sound_json_piece_by_piece() {
    streams(&[turns_request()]).check_written_arguments::<Muse>();
}

#[test]
fn a_turn_of_items_comes_back_as_it_was() {
    let reasoning = ["<|start|>assistant to=self<|message|>", "<|eom|>"];
    check_turns_between::<Muse>(reasoning, &turns_request(), |_, arguments| {
        let (value, _) = parameter_of_turn(arguments);
        let message = "<|start|>assistant to=add<|message|>";
        format!(
            "{message}{}",
            block("add", &format!("<atem:parameter name=\"a\">{value}</atem:parameter>\n"))
        )
    });
}

#[test]
fn string_values_come_back_to_the_byte() {
    let parameter =
        |key: &str, value: &str| format!("<atem:parameter name=\"{key}\">{value}</atem:parameter>\n");
    check_string_parameters::<Muse>(&turns_request(), parameter, |parameters| {
        block("get_weather", parameters)
    });
}

#[test]
fn a_string_value_is_asked_for_once() {
    let head = [
        "<atem:function_calls>",
        "\n",
        "<atem:invoke name=",
        "\"get_weather\">\n",
        "<atem:parameter name=",
        "\"city\">Os",
    ];
    check_string_flows::<Muse>(&turns_request(), &head);
}

#[test]
fn a_long_string_is_whole() {
    check_long_string::<Muse>(&turns_request(), |value| {
        block("add", &format!("<atem:parameter name=\"s\">{value}</atem:parameter>\n"))
    });
}
