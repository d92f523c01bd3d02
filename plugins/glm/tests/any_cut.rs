//! Properties of any stream whatever, put together from fragments that hurt: any cut gives the same items, markers by token or by text
//! give the same items, arguments are JSON, and what is out at any moment is how they begin.

use glm_parser::Glm;
use parser_sdk::testing::{Streams, check_string_parameters, cut, play, request};
use parser_sdk::{FinishReason, Op, Request, Route, Step, Stream, ToolKind};
use serde_json::Value;

const SCHEMA: &str = r#"{"properties": {"i": {"type": "integer"}, "a": {"type": ["array", "null"]}, "s": {"type": "string"}, "t": {"anyOf": [{"type": "string"}, {"type": "number"}]}}}"#;

const FRAGMENTS: &[&str] = &[
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "<|assistant|>",
    "<|user|>",
    "<|observation|>",
    "<|endoftext|>",
    "<tool_call>add",
    "<tool_call>add\n",
    "<tool_call>get_weather",
    "<tool_call>patch\n",
    "<tool_call>addi</arg_key>",
    "<arg_key>i</arg_key><arg_value>",
    "<arg_key>a</arg_key>\n<arg_value>",
    "<arg_key>s</arg_key><arg_value>",
    "<arg_key>t</arg_key><arg_value>",
    "<arg_key>k\"y</arg_key>",
    "<arg_key>input</arg_key><arg_value>",
    "</arg_value></tool_call>",
    "add",
    "i",
    "<tool_call>add<arg_key>i</arg_key><arg_value>5</arg_value></tool_call>",
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
    let prompts = &["", "<|assistant|>", "<|assistant|><think>", "<|assistant|></think>"];
    Streams { requests, prompts, fragments: FRAGMENTS, count: 1_000, longest: 40, ends: &["<|observation|>"] }
}

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    streams(&[tools()]).check::<Glm>();
}

#[test]
fn arguments_are_written_as_sound_json_piece_by_piece() {
    streams(&[tools()]).check_written_arguments::<Glm>();
}

#[test]
fn string_values_come_back_as_they_were() {
    let parameter =
        |key: &str, value: &str| format!("<arg_key>{key}</arg_key><arg_value>{value}</arg_value>\n");
    let call = |parameters: &str| format!("<tool_call>get_weather{parameters}</tool_call>");
    check_string_parameters::<Glm>(&tools(), parameter, call);
}

#[test]
fn a_string_value_is_asked_for_once() {
    let mut stream = Stream::<Glm>::start(&tools()).unwrap();
    stream.marker(2);
    assert_eq!(stream.text("get_weather"), Step::Hold);
    stream.marker(4);
    assert_eq!(stream.text("city"), Step::Hold);
    stream.marker(5);
    let Step::Ops(ops) = stream.marker(6) else { panic!("the value begins") };
    assert_eq!(ops.last(), Some(&Op::UntilMarker(Route::ArgumentsEscaped)), "{ops:?}");
}

#[test]
fn a_large_array_is_routed_not_written() {
    let array = format!("[{}0]", "12345, ".repeat(15_000));
    let mut stream = Stream::<Glm>::start(&tools()).unwrap();
    for (marker, text) in [(2, "add"), (4, "a")] {
        stream.marker(marker);
        stream.text(text);
    }
    stream.marker(5);
    stream.marker(6);
    for piece in cut(&array, &[4]) {
        assert_eq!(stream.text(piece), Step::Hold);
    }
    assert_eq!(stream.marker(7), Step::Hold);
    let Step::Ops(ops) = stream.marker(3) else { panic!("the value is written") };
    let routed = |op: &Op| matches!(op, Op::Bytes(run) if run.route == Route::Arguments && run.bytes as usize == array.len());
    assert!(ops.iter().any(routed), "{ops:?}");
}

#[test]
fn very_many_parameters_stay_within_what_may_be_written() {
    let parameters: Vec<String> =
        (0..5_000).map(|index| format!("<arg_key>\u{1}{index}</arg_key><arg_value></arg_value>")).collect();
    let output = format!("<tool_call>get_weather{}</tool_call>", parameters.concat());
    let items = play::<Glm>(&tools(), "", cut(&output, &[5]), FinishReason::Stop);
    let arguments: Value = serde_json::from_str(&items[0].text).unwrap();
    assert_eq!(arguments.as_object().unwrap().len(), 5_000);
}
