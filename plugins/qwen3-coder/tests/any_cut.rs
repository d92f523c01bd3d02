//! Properties of any stream whatever, put together from fragments that hurt: any cut gives the same items, markers by token or by text
//! give the same items, arguments are JSON, and what is out at any moment is how they begin.

use parser_sdk::testing::{Streams, check_string_parameters, cut, play, request};
use parser_sdk::{FinishReason, Op, Request, Route, Step, Stream, ToolKind};
use qwen3_coder_parser::Qwen3Coder;
use serde_json::Value;

const SCHEMA: &str = r#"{"properties": {"i": {"type": "integer"}, "a": {"type": ["array", "null"]}, "s": {"type": "string"}, "t": {"anyOf": [{"type": "string"}, {"type": "number"}]}}}"#;

const FRAGMENTS: &[&str] = &[
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<|im_start|>",
    "<|im_end|>",
    "<function=",
    "</function>",
    "<parameter=",
    "</parameter>",
    "\n<parameter=",
    "\n</parameter>",
    "\n</function>",
    ">",
    "<function=add>\n",
    "<function=get_weather>",
    "<function=patch>\n",
    "<parameter=i>\n",
    "<parameter=a>\n",
    "<parameter=s>\n",
    "<parameter=t>",
    "<parameter=input>\n",
    "<parameter=k\"y>",
    "<parameter=\"i\">\r\n",
    "<function={\"name\":",
    "<function=f>",
    "<parameter=x>",
    "\r\n</parameter>\r\n",
    "\r\n",
    "\r",
    "<function=add</function>",
    "</function>\n</tool_call>",
    "assistant\n",
    "add",
    "i",
    "<tool_call>\n<function=add>\n<parameter=i>\n5\n</parameter>\n</function>\n</tool_call>",
    "<tool_call>\n<function=add>\n<parameter=s>\n",
    "5",
    "5.0",
    "[1, 2]",
    "[",
    "null",
    "word",
    "Zürich",
    "😀",
    "\"",
    "\\",
    "{",
    "{\"k\": 1}",
    "<",
    "</",
    "\n\n\n",
    "\n",
    " ",
    "prose, long enough to be no number or word at all, ",
];

/// `add` with a parameter of each kind, `get_weather` with none declared, and the custom tool `patch`.
fn tools() -> Request {
    let mut request = request(&["add", "get_weather", "patch"]);
    request.tools[0].parameters_json = SCHEMA.into();
    request.tools[2].kind = ToolKind::Custom;
    request
}

/// Streams of these fragments.
fn streams(requests: &[Request]) -> Streams<'_> {
    let prompts = &["", "<think>\n", "<|im_start|>assistant\n", "<think>\n\n</think>\n\n"];
    Streams { requests, prompts, fragments: FRAGMENTS, count: 1_000, longest: 40, ends: &["<|im_end|>"] }
}

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    streams(&[tools()]).check::<Qwen3Coder>();
}

#[test]
fn arguments_are_written_as_sound_json_piece_by_piece() {
    streams(&[tools()]).check_written_arguments::<Qwen3Coder>();
}

#[test]
fn string_values_come_back_as_they_were() {
    let parameter = |key: &str, value: &str| format!("<parameter={key}>\n{value}\n</parameter>\n");
    let call = |parameters: &str| {
        format!("<tool_call>\n<function=get_weather>\n{parameters}</function>\n</tool_call>")
    };
    check_string_parameters::<Qwen3Coder>(&tools(), parameter, call);
}

#[test]
fn a_string_value_is_asked_for_once() {
    let mut stream = Stream::<Qwen3Coder>::start(&tools()).unwrap();
    assert_eq!(stream.marker(2), Step::Hold);
    assert_eq!(stream.text("\n"), Step::Hold);
    assert_eq!(stream.marker(6), Step::Hold);
    assert_eq!(stream.text("get_weather>"), Step::Hold);
    stream.marker(11);
    let Step::Ops(ops) = stream.text("city>\n") else { panic!("the value begins") };
    assert_eq!(ops.last(), Some(&Op::UntilMarker(Route::ArgumentsEscaped)), "{ops:?}");
}

#[test]
fn a_value_that_may_be_a_string_flows_once_it_can_be_nothing_else() {
    let mut stream = Stream::<Qwen3Coder>::start(&tools()).unwrap();
    for (marker, text) in [(2, "\n"), (6, "add>"), (11, "t>\n")] {
        stream.marker(marker);
        stream.text(text);
    }
    assert_eq!(stream.text("12"), Step::Hold);
    let mut held = 2;
    while stream.text(" kg") == Step::Hold {
        held += 3;
        assert!(held <= 64);
    }
    assert_eq!(stream.text(" of"), Step::Pass);
}

#[test]
fn a_large_array_is_routed_not_written() {
    let array = format!("[{}0]", "12345, ".repeat(15_000));
    let mut stream = Stream::<Qwen3Coder>::start(&tools()).unwrap();
    for (marker, text) in [(2, "\n"), (6, "add>"), (11, "a>\n")] {
        stream.marker(marker);
        stream.text(text);
    }
    for piece in cut(&array, &[4]) {
        assert_eq!(stream.text(piece), Step::Hold);
    }
    assert_eq!(stream.marker(12), Step::Hold);
    let Step::Ops(ops) = stream.marker(10) else { panic!("the value is written") };
    let routed = |op: &Op| matches!(op, Op::Bytes(run) if run.route == Route::Arguments && run.bytes as usize == array.len());
    assert!(ops.iter().any(routed), "{ops:?}");
}

#[test]
fn a_long_string_is_whole() {
    let value = "<a href=\"x\">\n".repeat(25_000);
    let output = format!(
        "<tool_call>\n<function=add>\n<parameter=s>\n{value}\n</parameter>\n</function>\n</tool_call>"
    );
    let items = play::<Qwen3Coder>(&tools(), "", cut(&output, &[4]), FinishReason::Stop);
    let arguments: Value = serde_json::from_str(&items[0].text).unwrap();
    assert_eq!(arguments["s"], value);
}

#[test]
fn very_many_parameters_stay_within_what_may_be_written() {
    let parameters: Vec<String> =
        (0..5_000).map(|index| format!("<parameter=\u{1}{index}>x</parameter>")).collect();
    let output = format!("<tool_call><function=get_weather>{}</function></tool_call>", parameters.concat());
    let items = play::<Qwen3Coder>(&tools(), "", cut(&output, &[5]), FinishReason::Stop);
    let arguments: Value = serde_json::from_str(&items[0].text).unwrap();
    assert_eq!(arguments.as_object().unwrap().len(), 5_000);
}
