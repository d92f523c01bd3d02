//! Properties of random streams, made of fragments that are hard to parse: any cut gives the same
//! items, markers by token or by text give the same items, and the markers that end the turn never
//! reach the output.

use crate::fragments::{FRAGMENTS, PROMPTS};
use glm4_parser::Glm4;
use parser_kit::{Streams, check_long_arguments, check_turns, request, request_with_custom, steps};
use parser_sdk::{Op, Route, Step};

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    let requests =
        [request(&["add", "get_weather"]), request_with_custom(&["get_weather"], "add"), request(&[])];
    let stops = ["<|observation|>", "<|user|>", "<|endoftext|>"];
    Streams::of(&requests, PROMPTS, FRAGMENTS, &stops).check::<Glm4>();
}

#[test]
fn a_turn_of_items_comes_back_as_it_was() {
    let request = request_with_custom(&["add"], "patch");
    check_turns::<Glm4>(&request, |_, arguments| format!("<|assistant|>add\n{arguments}"));
}

#[test]
fn arguments_may_be_of_any_length() {
    check_long_arguments::<Glm4>(&request(&["add"]), "", |arguments| format!("add\n{arguments}"));
}

#[test]
fn prose_is_held_only_while_it_may_be_a_name() {
    let steps = steps::<Glm4>(&request(&["add"]), &["ad", "d", "ress"]);
    assert_eq!(steps[..2], [Step::Hold, Step::Hold]);
    let Step::Ops(ops) = &steps[2] else { panic!("routed") };
    assert_eq!(ops.last(), Some(&Op::UntilMarker(Route::Content)));
}
