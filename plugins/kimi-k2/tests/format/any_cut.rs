//! Properties of random streams, made of fragments that are hard to parse: any cut gives the same
//! items, every byte is routed once (the test kit counts), text and arguments are routed with their
//! own chunk, and the marker that ends the turn never reaches the output.

use crate::fragments::{FRAGMENTS, PROMPTS};
use kimi_k2_parser::KimiK2;
use parser_kit::{
    Streams, check_asked_once, check_input_flows, check_long_arguments, check_turns, request_with_custom,
};
use parser_sdk::Request;

fn tools() -> Request {
    request_with_custom(&["get_weather", "add"], "apply_patch")
}

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    Streams::of(&[tools()], PROMPTS, FRAGMENTS, &["<|im_end|>"]).check::<KimiK2>();
}

#[test]
fn a_turn_of_items_comes_back_as_it_was() {
    check_turns::<KimiK2>(&tools(), section);
}

/// A section with a call of `add` as the model writes it.
fn section(index: usize, arguments: &str) -> String {
    format!(
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.add:{index}<|tool_call_argument_begin|>{arguments}\
         <|tool_call_end|><|tool_calls_section_end|>"
    )
}

#[test]
fn arguments_may_be_of_any_length() {
    check_long_arguments::<KimiK2>(&tools(), "", |arguments| section(0, arguments));
}

#[test]
fn custom_tool_text_comes_out_with_every_chunk() {
    let header = ["<|tool_call_begin|>", "functions.apply_patch:0", "<|tool_call_argument_begin|>"];
    check_input_flows::<KimiK2>(&tools(), &[&header[..], &["{\"input\": \"x"]].concat());
}

#[test]
fn prose_and_argument_strings_are_asked_about_once() {
    check_asked_once::<KimiK2>(
        &tools(),
        ["<|tool_call_begin|>", "functions.add:0", "<|tool_call_argument_begin|>"],
    );
}
