//! Properties of random streams, made of fragments that are hard to parse: any cut gives the same
//! items, every byte is routed once (the test kit counts), text and arguments are routed with their
//! own chunk, and the marker that ends the turn never reaches the output.

use crate::fragments::{FRAGMENTS, PROMPTS};
use deepseek_v3_parser::DeepSeekV3;
use parser_kit::{
    Streams, check_asked_once, check_input_flows, check_long_arguments, check_turns, request_with_custom,
    steps,
};
use parser_sdk::{Op, Request, Route, Run, Step};

fn tools() -> Request {
    request_with_custom(&["get_weather", "add"], "apply_patch")
}

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    Streams::of(&[tools()], PROMPTS, FRAGMENTS, &["<｜end▁of▁sentence｜>"]).check::<DeepSeekV3>();
}

#[test]
fn a_turn_of_items_comes_back_as_it_was() {
    check_turns::<DeepSeekV3>(&tools(), section);
}

/// A section with a call of `add`, as V3 writes it for an even `index` and as V3.1 does for an odd
/// one.
fn section(index: usize, arguments: &str) -> String {
    let call = match index % 2 {
        0 => format!("function<｜tool▁sep｜>add\n```json\n{arguments}\n```"),
        _ => format!("add<｜tool▁sep｜>{arguments}"),
    };
    format!("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{call}<｜tool▁call▁end｜><｜tool▁calls▁end｜>")
}

#[test]
fn arguments_may_be_of_any_length() {
    for spelling in [0, 1] {
        check_long_arguments::<DeepSeekV3>(&tools(), "", |arguments| section(spelling, arguments));
    }
}

/// Markers and texts of a call up to its fenced arguments.
fn fenced(name_and_fence: &str) -> [&str; 4] {
    ["<｜tool▁call▁begin｜>", "function", "<｜tool▁sep｜>", name_and_fence]
}

#[test]
fn custom_tool_text_comes_out_with_every_chunk() {
    let header = fenced("apply_patch\n```json\n");
    check_input_flows::<DeepSeekV3>(&tools(), &[&header[..], &["{\"input\": \"x"]].concat());
}

#[test]
fn prose_and_unfenced_strings_are_asked_about_once() {
    check_asked_once::<DeepSeekV3>(&tools(), ["<｜tool▁call▁begin｜>", "add", "<｜tool▁sep｜>"]);
}

#[test]
fn fenced_arguments_flow_but_for_a_possible_fence_end() {
    let header = fenced("add\n```json\n{\"a\": \"");
    let steps = steps::<DeepSeekV3>(&tools(), &[&header[..], &["y\\n{ ``` x"; 1_000], &["\"}\n``"]].concat());
    let (last, rest) = steps.split_last().expect("steps");
    assert!(rest[header.len()..].iter().all(|step| *step == Step::Pass));
    let run = |route, bytes| Op::Bytes(Run { route, bytes });
    assert_eq!(*last, Step::Ops(vec![run(Route::Arguments, 2), Op::Close, run(Route::Drop, 3)]));
}
