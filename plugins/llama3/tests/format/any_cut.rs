//! Properties of random streams, made of fragments that are hard to parse: any cut gives the same
//! items, markers as text or as tokens give the same items, the markers that end the turn never
//! reach the output, and arguments are routed with their own chunk.

use crate::fragments::{FRAGMENTS, PROMPTS};
use llama3_parser::Llama3;
use parser_kit::{Streams, check_long_arguments, custom_tool, request, steps, with_tools};
use parser_sdk::{InString, JsonRest, Op, Request, Route, Step, Stream, Until};

/// Requests with functions, with custom tools, with an interpreter, and without tools.
fn tools() -> [Request; 4] {
    let custom = with_tools(["add", "get_weather", "python"].map(custom_tool));
    [request(&["add", "get_weather"]), custom, request(&["add", "code_interpreter"]), request(&[])]
}

/// Streams made of [`FRAGMENTS`].
fn streams(requests: &[Request]) -> Streams<'_> {
    Streams { longest: 30, ..Streams::of(requests, PROMPTS, FRAGMENTS, &["<|eot_id|>", "<|eom_id|>"]) }
}

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    streams(&tools()).check::<Llama3>();
}

#[test]
fn arguments_and_prose_come_out_with_every_chunk() {
    let mut stream = Stream::<Llama3>::start(&request(&["add"])).unwrap();
    assert_eq!(stream.text("{\"na"), Step::Hold);
    let rest = JsonRest { route: Route::Arguments, depth: 1, in_string: InString::Yes };
    let Step::Ops(ops) = stream.text("me\": \"add\", \"parameters\": {\"a\": \"x") else {
        panic!("the call opens")
    };
    assert_eq!(ops.last(), Some(&Op::UntilJson(rest)));
    let mut stream = Stream::<Llama3>::start(&request(&["add"])).unwrap();
    assert!(matches!(stream.text("Hi"), Step::Ops(_)));
    assert_eq!(stream.text(" there"), Step::Pass);
}

#[test]
fn json_that_is_no_call_is_held_until_its_first_key() {
    let mut stream = Stream::<Llama3>::start(&request(&["add"])).unwrap();
    assert_eq!(stream.text("{\"n"), Step::Hold);
    assert!(matches!(stream.text("o"), Step::Ops(_)));
    let mut stream = Stream::<Llama3>::start(&request(&["add"])).unwrap();
    assert_eq!(stream.text("{\"name\": \"a"), Step::Hold);
    assert!(matches!(stream.text("nna\""), Step::Ops(_)));
}

#[test]
fn arguments_may_be_of_any_length() {
    let object = |arguments: &str| format!("{{\"name\": \"add\", \"parameters\": {arguments}}}<|eot_id|>");
    check_long_arguments::<Llama3>(&request(&["add"]), "", object);
    let element = |arguments: &str| format!("<function=add>{arguments}</function><|eot_id|>");
    check_long_arguments::<Llama3>(&request(&["add"]), "", element);
}

#[test]
fn prose_is_routed_until_the_next_marker() {
    let mut stream = Stream::<Llama3>::start(&request(&["add"])).unwrap();
    let Step::Ops(ops) = stream.text("Hi") else { panic!("routed") };
    assert_eq!(ops.last(), Some(&parser_sdk::Op::UntilMarker(Route::Content)));
}

#[test]
fn string_among_keywords_is_asked_about_at_its_end() {
    let steps = steps::<Llama3>(&request(&["add"]), &["<|python_tag|>", "add.call(a='x", " and so on"]);
    let until = parser_sdk::Op::UntilByte(Until { route: Route::ArgumentsEscaped, bytes: "'\\".into() });
    assert!(matches!(&steps[2], Step::Ops(ops) if ops.last() == Some(&until)), "{steps:?}");
}
