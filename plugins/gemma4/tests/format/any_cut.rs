//! Properties of random streams, made of fragments that are hard to parse: any cut gives the same
//! items, markers as text or as tokens give the same items, and the markers that end the turn never
//! reach the output.

use crate::fragments::{FRAGMENTS, PROMPTS};
use gemma4_parser::Gemma4;
use parser_kit::{Streams, function, request, request_with_custom, with_tools};

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    let typed =
        r#"{"properties": {"i": {"type": "integer"}, "s": {"type": "string"}, "a": {"type": "array"}}}"#;
    let requests = [
        request(&["add", "get_weather"]),
        request_with_custom(&["get_weather"], "add"),
        request(&[]),
        with_tools([function("add", typed)]),
    ];
    Streams::of(&requests, PROMPTS, FRAGMENTS, &["<turn|>", "<end_of_turn>"]).check::<Gemma4>();
}
