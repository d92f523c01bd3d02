//! Properties of random streams, made of fragments that are hard to parse: any cut gives the same items, markers by token or by text give
//! the same items, arguments are JSON, and what is written of them at any moment is a prefix of the final arguments.

use minimax_m3_parser::MiniMaxM3;
use parser_kit::{
    Streams, check_long_string, check_string_flows, check_string_parameters, check_turns_between,
    custom_tool, function, parameter_of_turn, turns_request, with_tools,
};
use parser_sdk::Request;

const FRAGMENTS: &[&str] = &[
    "<mm:think>",
    "</mm:think>",
    "]<]minimax[>[",
    "]<]minimax[>[<tool_call>",
    "]<]minimax[>[<tool_call>\n",
    "]<]minimax[>[</tool_call>",
    "]~b]",
    "]~b]ai\n",
    "[e~[",
    "]<]minimax[>[<invoke name=",
    "]<]minimax[>[<invoke name=\"add\">",
    "]<]minimax[>[</invoke>",
    "]<]minimax[>[</invoke>\n",
    "]<]minimax[>[<invoke name=\"get_weather\">",
    "]<]minimax[>[<invoke name='patch'>",
    "]<]minimax[>[<invoke name=nowhere>",
    "]<]minimax[>[<i>",
    "]<]minimax[>[</i>",
    "]<]minimax[>[<a>",
    "]<]minimax[>[</a>",
    "]<]minimax[>[<s>",
    "]<]minimax[>[</s>",
    "]<]minimax[>[<input>",
    "]<]minimax[>[</input>",
    "]<]minimax[>[<item>",
    "]<]minimax[>[</item>",
    "]<]minimax[>[<k v>",
    "]<]minimax[>[</k v>",
    "]<]minimax[>[ <k>",
    "]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
    "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"add\">]<]minimax[>[<i>5]<]minimax[>[</i>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
    "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"add\">]<]minimax[>[<s>",
    "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"add\">]<]minimax[>[<a>]<]minimax[>[<item>",
    "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"patch\">]<]minimax[>[<input>",
    "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"add\">]<]minimax[>[",
    "<tool_call>",
    "</s>",
    "<s>",
    "add",
    "i",
    ">",
    "5",
    "5.0",
    "[1, 2]",
    "[",
    "]<]",
    "null",
    "word",
    "Zürich",
    "😀",
    "\"",
    "\\",
    "{\"k\": 1}",
    "<",
    "</",
    "\n\n\n",
    "\n",
    " ",
    "prose, long enough to be no number or word at all, ",
];

/// Values of each kind inside others, some of whose members are called as items are.
const NESTED: &str = r#"{"properties": {"i": {"type": "integer"}, "s": {"type": "string"},
    "a": {"type": ["array", "null"], "items": {"properties": {"item": {"type": "integer"}, "s": {"type": ["boolean", "null"]}}}},
    "k v": {"properties": {"item": {"type": "array"}, "a": {"type": ["object", "array"]}}}}}"#;

fn nested_request() -> Request {
    with_tools([function("add", NESTED), function("get_weather", NESTED), custom_tool("patch")])
}

/// Streams made of [`FRAGMENTS`].
fn streams(requests: &[Request]) -> Streams<'_> {
    let prompts = &["", "]~b]ai\n<mm:think>", "]~b]ai\n</mm:think>", "]~b]ai\n"];
    Streams::of(requests, prompts, FRAGMENTS, &["[e~["])
}

/// A block with a call of this tool.
fn block(name: &str, parameters: &str) -> String {
    format!(
        "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"{name}\">{parameters}]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>"
    )
}

fn parameter(key: &str, value: &str) -> String {
    format!("]<]minimax[>[<{key}>{value}]<]minimax[>[</{key}>")
}

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    streams(&[turns_request(), nested_request()]).check::<MiniMaxM3>();
}

#[test]
fn arguments_are_written_as_sound_json_piece_by_piece() {
    streams(&[turns_request(), nested_request()]).check_written_arguments::<MiniMaxM3>();
}

#[test]
fn a_turn_of_items_comes_back_as_it_was() {
    check_turns_between::<MiniMaxM3>(["<mm:think>", "</mm:think>"], &turns_request(), |_, arguments| {
        let (value, _) = parameter_of_turn(arguments);
        block("add", &parameter("a", &value))
    });
}

#[test]
fn string_values_come_back_to_the_byte() {
    check_string_parameters::<MiniMaxM3>(&turns_request(), parameter, |parameters| {
        block("get_weather", parameters)
    });
}

#[test]
fn a_string_value_is_asked_for_once() {
    let head = [
        "]<]minimax[>[",
        "<tool_call>\n",
        "]<]minimax[>[",
        "<invoke name=\"get_weather\">",
        "]<]minimax[>[",
        "<city>Os",
    ];
    check_string_flows::<MiniMaxM3>(&turns_request(), &head);
}

#[test]
fn a_long_string_is_whole() {
    check_long_string::<MiniMaxM3>(&turns_request(), |value| block("add", &parameter("s", value)));
}
