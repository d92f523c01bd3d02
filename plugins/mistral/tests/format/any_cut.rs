//! Properties of random streams, made of fragments that are hard to parse: any cut gives the same
//! items, every byte is routed once (the test kit counts), text and arguments are routed with their
//! own chunk, and the marker that ends the turn never reaches the output.

use crate::fragments::{FRAGMENTS, PROMPTS};
use mistral_parser::Mistral;
use parser_kit::{
    Streams, check_input_flows, check_long_arguments, check_turns_between, request_with_custom, steps,
};
use parser_sdk::{Op, Request, Route, Step, Until};

fn tools() -> Request {
    request_with_custom(&["get_weather", "add"], "apply_patch")
}

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    Streams::of(&[tools()], PROMPTS, FRAGMENTS, &["</s>"]).check::<Mistral>();
}

#[test]
fn a_turn_of_items_comes_back_as_it_was() {
    let think = ["[THINK]", "[/THINK]"];
    check_turns_between::<Mistral>(think, &tools(), |_, arguments| call(arguments));
    check_turns_between::<Mistral>(think, &tools(), |index, arguments| {
        format!("[TOOL_CALLS]add[CALL_ID]aB3dE6gH{index}[ARGS]{arguments}")
    });
}

/// A call of `add` as the model writes it.
fn call(arguments: &str) -> String {
    format!("[TOOL_CALLS]add[ARGS]{arguments}")
}

#[test]
fn arguments_may_be_of_any_length() {
    check_long_arguments::<Mistral>(&tools(), "", call);
}

#[test]
fn custom_tool_text_comes_out_with_every_chunk() {
    let header = ["[TOOL_CALLS]", "apply_patch", "[ARGS]", "{\"input\": \"x"];
    check_input_flows::<Mistral>(&tools(), &header);
}

#[test]
fn argument_string_goes_out_until_it_may_end() {
    let pieces = ["[TOOL_CALLS]", "add", "[ARGS]", "{\"a\": \"b", " c", " d"];
    let steps = steps::<Mistral>(&tools(), &pieces);
    assert_eq!(steps[..2], [Step::Hold, Step::Hold]);
    for step in &steps[4..] {
        let Step::Ops(ops) = step else { panic!("{step:?}") };
        let until = Until { route: Route::Arguments, bytes: "\"\\".into() };
        assert_eq!(ops.last(), Some(&Op::UntilByte(until)));
    }
}
