//! Properties of random streams, made of fragments that are hard to parse: any cut gives the same
//! items, and markers by token or by text give the same items.

use crate::fragments::{FRAGMENTS, PROMPTS};
use hunyuan_parser::Hunyuan;
use parser_kit::{Streams, check_turns, request_with_custom};

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    let requests = [request_with_custom(&["add"], "patch")];
    Streams::of(&requests, PROMPTS, FRAGMENTS, &["<|eos|>"]).check::<Hunyuan>();
}

#[test]
fn a_turn_of_items_comes_back_as_it_was() {
    let request = request_with_custom(&["add"], "patch");
    check_turns::<Hunyuan>(&request, |_, arguments| {
        format!("<tool_calls>[{{\"name\": \"add\", \"arguments\": {arguments}}}]</tool_calls>")
    });
}
