//! Properties of any stream whatever, put together from fragments that hurt: any cut gives the same items, and every byte is routed once
//! (the test kit counts), text and arguments come out at once, and the turn's end never does.

use kimi_k2_parser::KimiK2;
use parser_sdk::testing::{Item, Streams, cut, play, request};
use parser_sdk::{FinishReason, Op, Request, Route, Run, Step, Stream, ToolKind, Until};
use proptest::prelude::*;

const FRAGMENTS: &[&str] = &[
    "<think>",
    "</think>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<|tool_call_section_begin|>",
    "<|tool_call_begin|>",
    "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>",
    "<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<|im_end|>",
    "<|im_assistant|>",
    "<|im_middle|>",
    "<|tool",
    "_call_begin|>",
    "<|",
    "functions.add:0",
    "functions.add",
    "functionsadd5",
    "functions_get_weather_3",
    ":1",
    "apply_patch",
    "<|tool_call_begin|>functions.apply_patch:0<|tool_call_argument_begin|>",
    "<|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>",
    "<|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>{\"a\": 1}<|tool_call_end|>",
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
    "null",
    "assistant",
    "Zürich",
    "😀",
    "a header of more than two hundred and fifty-six bytes is none, however it comes: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

fn tools() -> Request {
    let mut request = request(&["get_weather", "add", "apply_patch"]);
    request.tools[2].kind = ToolKind::Custom;
    request
}

/// Streams of these fragments.
fn streams(requests: &[Request]) -> Streams<'_> {
    let prompts =
        &["", "<|im_assistant|>assistant<|im_middle|>", "<|im_assistant|>assistant<|im_middle|><think>"];
    Streams { requests, prompts, fragments: FRAGMENTS, count: 1_000, longest: 40, ends: &["<|im_end|>"] }
}

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    streams(&[tools()]).check::<KimiK2>();
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
        prop_assert_eq!(play::<KimiK2>(&tools(), "", cut(&output, &sizes), FinishReason::Stop), expected);
    }
}

/// A section with a call of `add` as the model writes it.
fn section(index: usize, arguments: &str) -> String {
    format!(
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.add:{index}<|tool_call_argument_begin|>{arguments}\
         <|tool_call_end|><|tool_calls_section_end|>"
    )
}

#[test]
fn prose_and_arguments_go_out_until_the_next_marker() {
    let mut stream = Stream::<KimiK2>::start(&tools()).unwrap();
    let asks_no_more =
        |step: &Step, route| matches!(step, Step::Ops(ops) if ops.last() == Some(&Op::UntilMarker(route)));
    assert!(asks_no_more(&stream.text("Hi"), Route::Content));
    assert_eq!(stream.text(" there"), Step::Pass);
    assert!(asks_no_more(&stream.marker(0), Route::Reasoning));
    assert_eq!(stream.marker(6), Step::Hold);
    assert_eq!(stream.text("functions.add:0"), Step::Hold);
    stream.marker(7);
    assert!(asks_no_more(&stream.text(" {\"a\""), Route::Arguments));
    assert_eq!(stream.text(": 1}"), Step::Pass);
}

#[test]
fn the_text_of_a_custom_tool_comes_out_with_every_chunk() {
    let mut stream = Stream::<KimiK2>::start(&tools()).unwrap();
    stream.marker(6);
    stream.text("functions.apply_patch:0");
    stream.marker(7);
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
            play::<KimiK2>(&tools(), "", cut(&output, &[size]), FinishReason::Stop),
            [Item::call("add", &arguments), Item::message("After.")]
        );
    }
}
