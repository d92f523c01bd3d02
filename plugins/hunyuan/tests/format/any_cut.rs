//! Properties of random streams, made of fragments that are hard to parse: any cut gives the same items, and markers by token or by text
//! give the same items.

use hunyuan_parser::Hunyuan;
use parser_kit::{Streams, check_turns, request_with_custom};

const FRAGMENTS: &[&str] = &[
    "<think>",
    "</think>",
    "<answer>",
    "</answer>",
    "<tool_calls>",
    "</tool_calls>",
    "<|eos|>",
    "<tool_calls>[{\"name\": \"add\", \"arguments\": {\"a\": 1}}]</tool_calls>",
    "<tool_calls>[{\"name\": \"add\", \"arguments\": ",
    "<tool_calls>[{\"name\": \"patch\", \"arguments\": {\"input\": \"",
    "[{\"arguments\": {\"a\": 1}, \"name\": \"add\"}, ",
    "{\"name\": \"unknown\"}",
    "{\"a\": [1, {\"b\": \"</tool_calls>\"}]}",
    "\"}}]",
    "}]",
    "]",
    "[",
    "{",
    "}",
    "\"",
    "\\",
    "null",
    "5",
    "Zürich",
    "😀",
    "<",
    "</tool",
    "\n",
    " ",
    ", ",
    "prose, long enough to be a sentence, ",
];

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    let requests = [request_with_custom(&["add"], "patch")];
    let prompts = &["", "<|extra_0|>", "<|extra_0|><think>\n\n</think>\n"];
    Streams::of(&requests, prompts, FRAGMENTS, &["<|eos|>"]).check::<Hunyuan>();
}

#[test]
fn a_turn_of_items_comes_back_as_it_was() {
    let request = request_with_custom(&["add"], "patch");
    check_turns::<Hunyuan>(&request, |_, arguments| {
        format!("<tool_calls>[{{\"name\": \"add\", \"arguments\": {arguments}}}]</tool_calls>")
    });
}
