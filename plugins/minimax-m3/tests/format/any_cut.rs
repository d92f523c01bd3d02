//! Properties of the format, which the kit has for every format with parameters as text; here is
//! how this one spells them. Values inside others are this format's own.

use crate::fragments::{FRAGMENTS, PROMPTS};
use minimax_m3_parser::MiniMaxM3;
use parser_kit::{ParameterFormat, Streams, custom_tool, function, with_tools};

/// Values of each kind inside others, some of whose members are called as items are.
const NESTED: &str = r#"{"properties": {"i": {"type": "integer"}, "s": {"type": "string"},
    "a": {"type": ["array", "null"], "items": {"properties": {"item": {"type": "integer"}, "s": {"type": ["boolean", "null"]}}}},
    "k v": {"properties": {"item": {"type": "array"}, "a": {"type": ["object", "array"]}}}}}"#;

const FORMAT: ParameterFormat<'_> = ParameterFormat {
    prompts: PROMPTS,
    fragments: FRAGMENTS,
    ends: &["[e~["],
    reasoning: ["<mm:think>", "</mm:think>"],
    parameter: |key, value, _| format!("]<]minimax[>[<{key}>{value}]<]minimax[>[</{key}>"),
    call: |name, parameters| {
        format!(
            "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"{name}\">{parameters}]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>"
        )
    },
    string: &[
        "]<]minimax[>[",
        "<tool_call>\n",
        "]<]minimax[>[",
        "<invoke name=\"get_weather\">",
        "]<]minimax[>[",
        "<city>Os",
    ],
};

#[test]
fn turns_come_back_as_they_were_however_they_are_cut() {
    FORMAT.check::<MiniMaxM3>();
}

#[test]
fn nested_values_are_the_same_however_they_are_cut() {
    let nested = with_tools([function("add", NESTED), function("get_weather", NESTED), custom_tool("patch")]);
    let requests = [nested];
    let fragments = FORMAT.fragments();
    let streams = Streams::of(&requests, FORMAT.prompts, &fragments, FORMAT.ends);
    streams.check::<MiniMaxM3>();
    streams.check_written_arguments::<MiniMaxM3>();
}
