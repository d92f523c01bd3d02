//! Properties of random streams, made of fragments that are hard to parse: any cut gives the same items, markers by token or by text give
//! the same items, arguments are JSON, and what is written of them at any moment is a prefix of the final arguments.

use deepseek_v4_parser::DeepSeekV4;
use parser_kit::{
    Streams, check_long_string, check_string_flows, check_string_parameters, check_turns, parameter_of_turn,
    turns_request,
};
use parser_sdk::Request;

const FRAGMENTS: &[&str] = &[
    "<think>",
    "</think>",
    "<｜DSML｜tool_calls>",
    "<｜DSML｜function_calls>\n",
    "<｜DSML｜ calls>",
    "</｜DSML｜tool_calls>",
    "</｜DSML｜ calls>",
    "<｜Assistant｜>",
    "<｜end▁of▁sentence｜>",
    "<｜DSML｜invoke name=",
    "<｜DSML｜invoke name=\"add\">",
    "<｜DSML｜ invoke name=\"add\">\n",
    "</｜DSML｜invoke>",
    "</｜DSML｜ invoke>",
    "<｜DSML｜parameter name=",
    "</｜DSML｜parameter>",
    "</｜DSML｜parameter>\n",
    "<｜DSML｜invoke name=\"get_weather\">\n",
    "<｜DSML｜invoke name='patch'>",
    "<｜DSML｜invoke name=nowhere>",
    "<｜DSML｜parameter name=\"i\" string=\"false\">",
    "<｜DSML｜parameter name=\"i\" string=\"true\">",
    "<｜DSML｜parameter name=\"a\" string=\"false\">",
    "<｜DSML｜parameter name=\"a\">",
    "<｜DSML｜parameter name=\"s\" string=\"true\">",
    "<｜DSML｜parameter name=\"t\" string=\"false\">",
    "<｜DSML｜parameter name=\"input\" string=\"true\">",
    "<｜DSML｜ parameter name=k>",
    "</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
    "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"add\">\n<｜DSML｜parameter name=\"i\" string=\"false\">5</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
    "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"add\">\n<｜DSML｜parameter name=\"s\" string=\"true\">",
    "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"patch\">\n<｜DSML｜ parameter name=\"input\" string=\"true\">",
    "<｜",
    "｜DSML｜",
    " string=\"true\"",
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
    "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"add\">\n{\"i\": ",
    "{\"s\": \"",
    "<",
    "</",
    "\n\n\n",
    "\n",
    " ",
    "prose, long enough to be no number or word at all, ",
];

/// Streams made of [`FRAGMENTS`].
fn streams(requests: &[Request]) -> Streams<'_> {
    let prompts = &["", "<｜Assistant｜><think>", "<｜Assistant｜></think>"];
    Streams::of(requests, prompts, FRAGMENTS, &["<｜end▁of▁sentence｜>"])
}

/// A block with a call of this tool.
fn block(name: &str, parameters: &str) -> String {
    format!(
        "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"{name}\">\n{parameters}</｜DSML｜invoke>\n</｜DSML｜tool_calls>"
    )
}

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    streams(&[turns_request()]).check::<DeepSeekV4>();
}

#[test]
fn arguments_are_written_as_sound_json_piece_by_piece() {
    streams(&[turns_request()]).check_written_arguments::<DeepSeekV4>();
}

#[test]
fn a_turn_of_items_comes_back_as_it_was() {
    check_turns::<DeepSeekV4>(&turns_request(), |_, arguments| {
        let (value, is_string) = parameter_of_turn(arguments);
        block(
            "add",
            &format!("<｜DSML｜parameter name=\"a\" string=\"{is_string}\">{value}</｜DSML｜parameter>\n"),
        )
    });
}

#[test]
fn string_values_come_back_to_the_byte() {
    let parameter = |key: &str, value: &str| {
        format!("<｜DSML｜parameter name=\"{key}\" string=\"true\">{value}</｜DSML｜parameter>\n")
    };
    check_string_parameters::<DeepSeekV4>(&turns_request(), parameter, |parameters| {
        block("get_weather", parameters)
    });
}

#[test]
fn a_string_value_is_asked_for_once() {
    let head = [
        "<｜DSML｜tool_calls>",
        "
",
        "<｜DSML｜invoke name=",
        "\"get_weather\">
",
        "<｜DSML｜parameter name=",
        "\"city\" string=\"true\">Os",
    ];
    check_string_flows::<DeepSeekV4>(&turns_request(), &head);
}

#[test]
fn a_long_string_is_whole() {
    check_long_string::<DeepSeekV4>(&turns_request(), |value| {
        block("add", &format!("<｜DSML｜parameter name=\"s\" string=\"true\">{value}</｜DSML｜parameter>\n"))
    });
}
