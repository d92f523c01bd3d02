//! Properties of random streams, made of fragments that are hard to parse: any cut gives the same
//! items, every byte is routed once (the test kit counts), text and arguments are routed with their
//! own chunk, and no marker reaches the output.

use crate::fragments::{FRAGMENTS, PROMPTS};
use harmony_parser::Harmony;
use parser_kit::{self, Head, Item, Phase, Streams, check_long_arguments, cut, play, request_with_custom};
use parser_sdk::{FinishReason, InString, JsonRest, Op, Parser, Payload, Request, Route, Step, ToolCall};
use proptest::prelude::*;

const PROMPT: &str = "<|start|>assistant";
const CALL: &str = "<|channel|>commentary to=functions.add <|constrain|>json<|message|>";

/// The marker that two fragments may make.
const MESSAGE: &str = "<|message|>";

/// Index of the first marker that ends the turn.
const RETURN: usize = 5;

fn tools() -> Request {
    request_with_custom(&["add"], "patch")
}

/// A message as the model writes it, and the item that the parser makes of it.
fn message() -> impl Strategy<Value = (String, Item)> {
    let text = "[a-zA-Zü ,.{}<|\n]{1,40}";
    let arguments = "\\{\"a\": (\"[a-z<>|/ü ]{0,20}\"|[0-9]{1,4}|\\[1, \\{\\}\\])\\}";
    let message = |header: &'static str, head: Head| {
        move |text: String| {
            let item = Item { head: head.clone(), text: text.clone(), complete: true };
            (format!("{header}<|message|>{text}<|end|>"), item)
        }
    };
    let call = |name: &str, payload| Head::ToolCall(ToolCall::new(name, payload));
    let add = call("add", Payload::Json);
    prop_oneof![
        text.prop_map(message("<|channel|>analysis", Head::Reasoning)),
        text.prop_map(message("<|channel|>commentary", Head::Message(Phase::Commentary))),
        text.prop_map(message("<|channel|>final", Head::Message(Phase::Final))),
        text.prop_map(message("<|channel|>analysis to=python code", call("python", Payload::Text))),
        arguments.prop_map(message("<|channel|>analysis to=functions.add <|constrain|>json", add.clone())),
        arguments.prop_map(message(" to=functions.add<|channel|>commentary", add)),
    ]
}

/// Streams made of [`FRAGMENTS`].
fn streams(requests: &[Request]) -> Streams<'_> {
    Streams::of(requests, PROMPTS, FRAGMENTS, &[])
}

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    streams(&[tools()]).check::<Harmony>();
}

#[test]
fn no_marker_reaches_the_output() {
    let markers = Harmony::describe(&[]).expect("describe").markers;
    streams(&[tools()]).each(|drawn| {
        // After a dropped marker the fragment could complete the `<|mess` before it.
        let parts: Vec<_> = drawn.output().split(MESSAGE).map(|part| part.replace("age|>", "")).collect();
        let output = parts.join(MESSAGE);
        for item in play::<Harmony>(drawn.request, PROMPT, [output.as_str()], drawn.reason) {
            let name = if let Head::ToolCall(call) = &item.head { call.name.as_str() } else { "" };
            // Inside a string of a call's arguments, all markers but those that end the turn are
            // text.
            let seen = if name.is_empty() { &markers[..] } else { &markers[RETURN..] };
            for marker in seen {
                assert!(!item.text.contains(marker) && !name.contains("<|"), "{item:?}");
            }
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_turn_of_messages_comes_back_as_it_was(
        messages in proptest::collection::vec(message(), 1..8),
        sizes in proptest::collection::vec(1..12_usize, 1..5),
    ) {
        let (texts, items): (Vec<String>, Vec<Item>) = messages.into_iter().unzip();
        let output = texts.join(PROMPT);
        prop_assert_eq!(play::<Harmony>(&tools(), PROMPT, cut(&output, &sizes), FinishReason::Stop), items);
    }
}

/// The parser's steps for a stream of markers and texts.
fn steps(parts: &[&str]) -> Vec<Step> {
    parser_kit::steps::<Harmony>(&tools(), parts)
}

#[test]
fn header_is_one_list_of_ops_and_text_is_not_asked() {
    let header = [
        "<|start|>",
        "assistant",
        "<|channel|>",
        "comment",
        "ary to=functions.add ",
        "<|constrain|>",
        "json",
    ];
    for step in steps(&header) {
        assert!(parser_kit::is_held(&step), "{step:?}");
    }
    let call = steps(&[&header[..], &["<|message|>", "{\"a\": \"", "}", "<|call|>"]].concat());
    let shown = |step: &Step, route| matches!(step, Step::Ops(ops) if ops.contains(&Op::UntilMarker(route)));
    assert!(matches!(&call[7], Step::Ops(ops) if ops.len() == 2), "{call:?}");
    let rest = Op::UntilJson(JsonRest { route: Route::Arguments, depth: 1, in_string: InString::Yes });
    assert!(matches!(&call[8], Step::Ops(ops) if ops[1] == rest), "{call:?}");
    assert!(matches!(&call[9], Step::Ops(ops) if ops[1..] == [Op::Close]), "{call:?}");
    let reasoning = steps(&["<|channel|>", "analysis", "<|message|>", "Hm", "."]);
    assert!(shown(&reasoning[2], Route::Reasoning), "{reasoning:?}");
    assert_eq!(reasoning[3..], [Step::Pass, Step::Pass]);
}

#[test]
fn prose_in_place_of_a_header_is_not_held_for_long() {
    let words = ["So", " here", " is", " an", " answer", " without", " header", ",", " and", " more"];
    let answers = steps(&words);
    assert_eq!(answers[5], Step::Hold);
    assert!(matches!(answers[6], Step::Ops(_)), "{answers:?}");
    assert_eq!(answers[7..], [Step::Pass, Step::Pass, Step::Pass]);
}

#[test]
fn markers_without_end_are_not_held() {
    for parts in [
        &["<|start|>"][..],
        &["<|channel|>"],
        &["<|constrain|>"],
        &["<|start|>", "assistant", "<|channel|>", "final"],
    ] {
        let answers = steps(&parts.repeat(1000));
        let longest = answers.split(|step| !parser_kit::is_held(step)).map(<[Step]>::len).max();
        assert!(longest < Some(250), "{longest:?} steps of {parts:?} are held");
    }
}

#[test]
fn arguments_of_any_length_go_out() {
    check_long_arguments::<Harmony>(&tools(), PROMPT, |arguments| format!("{CALL}{arguments}<|call|>"));
}

#[test]
fn header_without_message_is_held_for_sixteen_deltas() {
    for text in
        ["https://example.org/a/very/long/path/without/any/space/".repeat(8), "to be or not to be".repeat(20)]
    {
        let deltas: Vec<&str> = parser_kit::cut(&text, &[4]);
        let answers = steps(&[&["<|channel|>", "final"][..], &deltas].concat());
        let held = answers[2..].iter().take_while(|step| **step == Step::Hold).count();
        assert!(held <= 16, "{held} deltas of {text:?} are held");
    }
    let name = "x".repeat(64);
    let header = format!("commentary to=functions.{name} ");
    let call = steps(&["<|channel|>", &header, "<|constrain|>", "json", "<|message|>", "{}"]);
    assert!(
        matches!(&call[4], Step::Ops(ops) if ops.iter().any(|op| matches!(op, Op::ToolCall(call) if call.name == name))),
        "{call:?}"
    );
}
