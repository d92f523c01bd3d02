//! Properties of any stream whatever, put together from fragments that hurt: any cut gives the same items, and every byte is routed once
//! (the test kit counts), text and arguments come out at once, and the turn's end never does.

use deepseek_v3_parser::DeepSeekV3;
use parser_sdk::testing::{Item, Streams, cut, play, request};
use parser_sdk::{FinishReason, Op, Request, Route, Run, Step, Stream, ToolKind, Until};
use proptest::prelude::*;

const FRAGMENTS: &[&str] = &[
    "<think>",
    "</think>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁sep｜>",
    "<｜tool▁sep｜>",
    "<｜tool▁call▁end｜>",
    "<｜end▁of▁sentence｜>",
    "<｜Assistant｜>",
    "<｜tool▁output▁begin｜>",
    "<｜tool",
    "▁call▁begin｜>",
    "<｜",
    "function",
    "add",
    "get_weather\n",
    "apply_patch",
    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n",
    "<｜tool▁call▁begin｜>add<｜tool▁sep｜>",
    "<｜tool▁call▁begin｜>apply_patch<｜tool▁sep｜>",
    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>apply_patch\n```json\n",
    "<｜tool▁call▁begin｜>add<｜tool▁sep｜>{\"a\": 1}<｜tool▁call▁end｜>",
    "{\"input\": \"",
    "{\"inp",
    "ut\": \"",
    "\"input\"",
    "{\"a\": \"",
    "\"}",
    "{",
    "}",
    "[",
    "\"",
    "\\",
    "\\n",
    "\\u00e9",
    ",",
    ":",
    "\n",
    " ",
    "\n\n  ",
    "`",
    "```",
    "```json\n",
    "\n```",
    "\n```\n",
    "null",
    "Zürich",
    "😀",
];

fn tools() -> Request {
    let mut request = request(&["get_weather", "add", "apply_patch"]);
    request.tools[2].kind = ToolKind::Custom;
    request
}

/// Streams of these fragments.
fn streams(requests: &[Request]) -> Streams<'_> {
    let prompts = &["", "<｜Assistant｜></think>", "<｜Assistant｜><think>\n"];
    Streams {
        requests,
        prompts,
        fragments: FRAGMENTS,
        count: 1_000,
        longest: 40,
        ends: &["<｜end▁of▁sentence｜>"],
    }
}

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    streams(&[tools()]).check::<DeepSeekV3>();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_turn_of_items_comes_back_as_it_was(
        reasoning in "[a-z ,.]{0,40}",
        texts in proptest::collection::vec("[a-zA-Zü ,.]{0,30}", 4),
        arguments in proptest::collection::vec("\\{\"a\": (\"[a-z<>/ü` ]{0,20}\"|[0-9]{1,4}|\\[1, \\{\\}\\])\\}", 3),
        sizes in proptest::collection::vec(1..12_usize, 1..5),
    ) {
        let mut output = format!("<think>\n{reasoning}\n</think>\n\n{}", texts[0]);
        let mut expected = vec![Item::reasoning(reasoning.trim()), Item::message(texts[0].trim())];
        for (index, (arguments, text)) in arguments.iter().zip(&texts[1..]).enumerate() {
            output.push_str(&section(index, arguments));
            output.push_str(text);
            expected.push(Item::call("add", arguments));
            expected.push(Item::message(text.trim()));
        }
        expected.retain(|item| !item.text.is_empty());
        prop_assert_eq!(play::<DeepSeekV3>(&tools(), "", cut(&output, &sizes), FinishReason::Stop), expected);
    }
}

/// A section with a call of `add` as V3 writes it, or as V3.1 does.
fn section(index: usize, arguments: &str) -> String {
    let call = match index % 2 {
        0 => format!("function<｜tool▁sep｜>add\n```json\n{arguments}\n```"),
        _ => format!("add<｜tool▁sep｜>{arguments}"),
    };
    format!("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{call}<｜tool▁call▁end｜><｜tool▁calls▁end｜>")
}

#[test]
fn prose_and_arguments_without_a_fence_go_out_until_the_next_marker() {
    let mut stream = Stream::<DeepSeekV3>::start(&tools()).unwrap();
    let asks_no_more =
        |step: &Step, route| matches!(step, Step::Ops(ops) if ops.last() == Some(&Op::UntilMarker(route)));
    assert!(asks_no_more(&stream.text("Hi"), Route::Content));
    assert_eq!(stream.text(" there"), Step::Pass);
    assert!(asks_no_more(&stream.marker(0), Route::Reasoning));
    assert_eq!(stream.marker(4), Step::Hold);
    assert_eq!(stream.text("add"), Step::Hold);
    stream.marker(5);
    assert!(asks_no_more(&stream.text(" {\"a\""), Route::Arguments));
    assert_eq!(stream.text(": 1}"), Step::Pass);
}

#[test]
fn fenced_arguments_come_out_with_every_chunk_but_what_may_be_the_fences_end() {
    let mut stream = Stream::<DeepSeekV3>::start(&tools()).unwrap();
    stream.marker(4);
    stream.text("function");
    stream.marker(5);
    stream.text("add\n```json\n{\"a\": \"");
    for _ in 0..1000 {
        assert_eq!(stream.text("y\\n{ ``` x"), Step::Pass);
    }
    let step = stream.text("\"}\n``");
    assert_eq!(step, Step::Ops(vec![Op::Bytes(Run { route: Route::Arguments, bytes: 2 })]));
}

#[test]
fn the_text_of_a_custom_tool_comes_out_with_every_chunk() {
    let mut stream = Stream::<DeepSeekV3>::start(&tools()).unwrap();
    stream.marker(4);
    stream.text("function");
    stream.marker(5);
    stream.text("apply_patch\n```json\n");
    stream.text("{\"input\": \"x");
    for _ in 0..1000 {
        let step = stream.text("y\\n{ ");
        let until = Until { route: Route::ArgumentsUnescaped, bytes: "\"\\" };
        assert_eq!(
            step,
            Step::Ops(vec![Op::Bytes(Run { route: until.route, bytes: 5 }), Op::UntilByte(until)])
        );
    }
}

#[test]
fn arguments_may_be_of_any_length() {
    let arguments = format!("{{\"a\": \"{}\"}}", "x🦀`\n".repeat(64 << 10));
    let output = format!("{}After.", section(0, &arguments));
    for size in [4, 4096] {
        assert_eq!(
            play::<DeepSeekV3>(&tools(), "", cut(&output, &[size]), FinishReason::Stop),
            [Item::call("add", &arguments), Item::message("After.")]
        );
    }
}
