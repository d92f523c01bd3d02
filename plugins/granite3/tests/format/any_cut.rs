//! Properties of random streams, made of fragments that are hard to parse: any cut gives the same
//! items, markers by token or by text give the same items, and the marker that ends the turn never
//! reaches the output.

use crate::fragments::{FRAGMENTS, PROMPTS};
use granite3_parser::Granite3;
use parser_kit::{Streams, request, request_with_custom};

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    let requests = [request(&["add"]), request_with_custom(&["add"], "patch"), request(&[])];
    Streams::of(&requests, PROMPTS, FRAGMENTS, &["<|end_of_text|>"]).check::<Granite3>();
}
