//! Properties of random streams, made of fragments that are hard to parse: any cut gives the same
//! items, markers by token or by text give the same items, and the markers that end the turn never
//! reach the output.

use crate::fragments::{FRAGMENTS, PROMPTS};
use hyperclova_parser::HyperClova;
use parser_kit::{Streams, request, request_with_custom};

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    let requests = [request(&["add"]), request_with_custom(&["add"], "patch"), request(&[])];
    Streams::of(&requests, PROMPTS, FRAGMENTS, &["<|stop|>", "<|endofturn|>"]).check::<HyperClova>();
}
