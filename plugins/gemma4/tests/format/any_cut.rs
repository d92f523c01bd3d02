//! Properties of random streams, made of fragments that are hard to parse: any cut gives the same items, markers as text or as tokens give the
//! same items, and the markers that end the turn never reach the output.

use gemma4_parser::Gemma4;
use parser_kit::{Streams, request, request_with_custom};

const FRAGMENTS: &[&str] = &[
    "<|tool_call>",
    "<tool_call|>",
    "<|channel>",
    "<channel|>",
    "<|\"|>",
    "<|\"|>",
    "<escape>",
    "<|tool_",
    "call>",
    "<turn|>",
    "<|tool_response>response:add{value:1}<tool_response|>",
    "thought\n",
    "thou",
    "ght\n",
    "call:",
    "call:add{",
    "call:add(",
    "default_api:",
    "get_weather{",
    "city:",
    "city",
    ",days:3",
    ", and ",
    "New York",
    "true",
    "Tru",
    "-1.5",
    "[1,2]",
    "{",
    "}",
    ")",
    "[",
    "]",
    "\"",
    "'",
    "\\",
    "\\n",
    "\n",
    " ",
    "Zürich 😀",
    "<|tool_call>call:add{a:<|\"|>x<|\"|>,b:[{c:1}]}<tool_call|>",
    "<start_function_call>call:add{a:<escape>x<escape>}<end_function_call>",
];

const PROMPTS: &[&str] =
    &["", "<|turn>model\n", "<|turn>model\n<|channel>thought\n<channel|>", "<start_of_turn>model\n"];

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    let requests =
        [request(&["add", "get_weather"]), request_with_custom(&["get_weather"], "add"), request(&[])];
    Streams::of(&requests, PROMPTS, FRAGMENTS, &["<turn|>", "<end_of_turn>"]).check::<Gemma4>();
}
