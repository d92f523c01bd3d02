//! Properties of random streams under each table of `tables/`: any cut gives the same items,
//! markers as text or as tokens give the same items, the markers that end the turn never reach the
//! output, and text is routed with its own chunk.

use crate::fragments::{FRAGMENTS, TABLES};
use parser_kit::{
    Item, Streams, check_long_arguments, custom_tool, cut, function, play, request, with_tools,
};
use parser_sdk::{FinishReason, Op, Parser, Route, Run, Step, Stream, Until};
use response_template_parser::ResponseTemplate;

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    for (table, own) in TABLES {
        // A table's own come twice as often as those of all.
        let fragments = [own, own, FRAGMENTS].concat();
        let names = &["add", "get_weather"];
        let listed =
            r#"{"type": "object", "properties": {"near": {"type": "array", "items": {"type": "string"}}}}"#;
        let listed = with_tools(names.map(|name| function(name, listed)));
        let mut requests = [request(&[]), request(names), with_tools(names.map(custom_tool)), listed];
        for request in &mut requests {
            request.options = vec![("response_template".into(), (*table).into())];
        }
        let ends = &["<turn|>", "<|im_end|>", "<|user|>", "<｜end▁of▁sentence｜>", "<|eot_id|>"];
        Streams { requests: &requests, prompts: &[""], fragments: &fragments, count: 200, longest: 25, ends }
            .check::<ResponseTemplate>();
    }
}

fn stream(table: usize) -> Stream<ResponseTemplate> {
    let mut request = request(&["add"]);
    request.options = vec![("response_template".into(), TABLES[table].0.into())];
    Stream::start(&request).expect("start")
}

#[test]
fn prose_is_routed_until_the_next_marker() {
    let Step::Ops(ops) = stream(0).text("Hi") else { panic!("routed") };
    assert_eq!(ops.last(), Some(&Op::UntilMarker(Route::Content)));
}

#[test]
fn arguments_come_out_with_every_chunk() {
    let mut stream = stream(4);
    let markers =
        ResponseTemplate::describe(&[("response_template".into(), TABLES[4].0.into())]).unwrap().markers;
    let index =
        |literal| u32::try_from(markers.iter().position(|marker| marker == literal).unwrap()).unwrap();
    assert_eq!(stream.marker(index("<|channel|>")), Step::Hold);
    assert_eq!(stream.text("commentary to=functions.add json"), Step::Hold);
    assert!(matches!(stream.marker(index("<|message|>")), Step::Ops(_)));
    assert!(matches!(stream.text("{\"a\": \"x"), Step::Ops(_)));
    let until = Until { route: Route::Arguments, bytes: "\"\\".into() };
    let bytes = Op::Bytes(Run { route: until.route, bytes: 10 });
    assert_eq!(stream.text(" and so on"), Step::Ops(vec![bytes, Op::UntilByte(until)]));
}

#[test]
fn arguments_may_be_of_any_length() {
    let mut request = request(&["add"]);
    request.options = vec![("response_template".into(), TABLES[0].0.into())];
    check_long_arguments::<ResponseTemplate>(&request, "", |arguments| {
        format!("<tool_call>{{\"name\": \"add\", \"arguments\": {arguments}}}</tool_call><|im_end|>")
    });
}

#[test]
fn a_turn_begun_again_shows_no_header() {
    let mut request = request(&["add"]);
    request.options = vec![("response_template".into(), TABLES[0].0.into())];
    let output = "<|im_start|>assistant\nHi<|im_end|>";
    for size in [1, 5, 64] {
        let got = play::<ResponseTemplate>(&request, "", cut(output, &[size]), FinishReason::Stop);
        assert_eq!(got, [Item::message("Hi")]);
    }
}
