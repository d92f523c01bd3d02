//! Properties of random streams, made of fragments that are hard to parse: any cut into chunks
//! gives the same items, every byte is routed once (the test kit counts), arguments are routed with
//! their own chunk, and a step that continues the last route is `Step::Pass`.

use crate::fragments::{FRAGMENTS, PROMPTS};
use crate::turns::tools;
use parser_kit::{Item, Streams, check_turns, is_held, play};
use parser_sdk::{FinishReason, InString, JsonRest, Op, Request, Route, Step, Stream};
use qwen3_parser::Qwen3;

/// A call of `add` as the model writes it.
fn call(arguments: &str) -> String {
    format!("<tool_call>\n{{\"name\": \"add\", \"arguments\": {arguments}}}\n</tool_call>\n")
}

/// Streams made of [`FRAGMENTS`].
fn streams(requests: &[Request]) -> Streams<'_> {
    Streams::of(requests, PROMPTS, FRAGMENTS, &["<|im_end|>"])
}

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    streams(&[tools()]).check::<Qwen3>();
}

#[test]
fn a_turn_of_items_comes_back_as_it_was() {
    check_turns::<Qwen3>(&tools(), |_, arguments| call(arguments));
}

#[test]
fn arguments_and_prose_come_out_with_every_chunk() {
    let mut stream = Stream::<Qwen3>::start(&tools()).unwrap();
    assert!(matches!(stream.text("Hi"), Step::Ops(_)));
    assert_eq!(stream.text(" there"), Step::Pass);
    assert!(is_held(&stream.marker(2)));
    assert!(is_held(&stream.text("{\"name\": \"ad")));
    let Step::Ops(ops) = stream.text("d\", \"arguments\": {\"a\": [\"x") else { panic!("the call opens") };
    let rest = JsonRest { route: Route::Arguments, depth: 2, in_string: InString::Yes };
    assert!(matches!(&ops[..], [.., Op::Bytes(_), Op::UntilJson(json)] if *json == rest), "{ops:?}");
}

#[test]
fn a_block_of_very_many_objects_needs_no_stack() {
    let output = format!("<tool_call>{}</tool_call>", "{\"name\":\"add\"}".repeat(30_000));
    assert_eq!(play::<Qwen3>(&tools(), "", [output.as_str()], FinishReason::Stop).len(), 30_000);
}

#[test]
fn arguments_nested_very_deep_need_no_stack() {
    let arguments = format!("{}{}", "{\"a\":".repeat(200_000), "}".repeat(200_000));
    let output = format!("<tool_call>{{\"name\": \"add\", \"arguments\": {arguments}}}</tool_call>");
    let items = play::<Qwen3>(&tools(), "", [output.as_str()], FinishReason::Stop);
    assert!(items == [Item::call("add", arguments)], "the call comes back whole");
}
