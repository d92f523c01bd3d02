//! Properties of random streams, made of fragments that are hard to parse: any cut gives the same items, markers as text or as tokens give the
//! same items, and the markers that end the turn never reach the output.

use apertus_parser::Apertus;
use parser_kit::{Streams, request, request_with_custom};

const FRAGMENTS: &[&str] = &[
    "<|inner_prefix|>",
    "<|inner_suffix|>",
    "<|tools_prefix|>",
    "<|tools_suffix|>",
    "<|tools_",
    "prefix|>",
    "<|assistant_start|>",
    "<|assistant_end|>",
    "[",
    "]",
    "{",
    "}",
    "[{\"add\": ",
    "{\"add\": ",
    "{\"get_wea",
    "ther\"",
    ": {",
    "\"a\": 1",
    "\"input\": \"",
    ", ",
    "\"",
    "\\",
    "\\u00e9",
    "\n",
    " ",
    "Zürich 😀",
    "1.5",
    "<|tools_prefix|>[{\"get_weather\": {\"city\": \"Oslo\"}}]<|tools_suffix|>",
];

const PROMPTS: &[&str] = &["", "<|assistant_start|>"];

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    let requests =
        [request(&["add", "get_weather"]), request_with_custom(&["get_weather"], "add"), request(&[])];
    Streams::of(&requests, PROMPTS, FRAGMENTS, &["<|assistant_end|>"]).check::<Apertus>();
}
