//! What a parser says becomes the shortest step: `pass` and `hold` where they will do, and a fault
//! where it miscounts.

use parser_kit::request;
use parser_sdk::{
    Descriptor, FinishReason, Op, Output, Parser, Payload, Request, Route, Run, Step, Stream, ToolCall, Until,
};

/// A parser that does what the first word of its text says.
struct Obedient;

impl Parser for Obedient {
    fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
        Ok(Descriptor { markers: vec!["<drop>".into(), "<hold>".into()], ..Descriptor::default() })
    }

    fn start(_: &Request) -> Result<Self, String> {
        Ok(Self)
    }

    fn text(&mut self, chunk: &str, out: &mut Output) {
        match chunk.split(' ').next() {
            Some("content") => out.rest(Route::Content),
            Some("until") => out.until_marker(Route::Content),
            Some("until-byte") => out.until_byte(Route::Content, ";"),
            Some("until-reasoning") => out.until_marker(Route::Reasoning),
            Some("split") => {
                out.content(2);
                out.content(1);
                out.reasoning(2);
            }
            Some("call") => {
                out.drop_all();
                out.tool_call("f", Payload::Json);
                out.derive("{}");
                out.close();
                out.message("final");
            }
            Some("much") => out.content(1000),
            Some("stop") => out.fault("enough"),
            _ => {}
        }
    }

    fn marker(&mut self, index: usize, out: &mut Output) {
        if index == 0 {
            out.drop_all();
        }
    }
}

fn stream() -> Stream<Obedient> {
    Stream::start(&request(&[])).expect("it starts")
}

fn run(route: Route, bytes: u32) -> Op {
    Op::Bytes(Run { route, bytes })
}

#[test]
fn going_on_as_before_is_pass() {
    let mut stream = stream();
    assert_eq!(stream.text("content"), Step::Ops(vec![run(Route::Content, 7)]));
    assert_eq!(stream.text("content x"), Step::Pass);
    assert_eq!(stream.text("content y"), Step::Pass);
}

#[test]
fn saying_nothing_holds_and_what_was_held_goes_along() {
    let mut stream = stream();
    stream.text("content");
    assert_eq!(stream.text("?"), Step::Hold);
    assert_eq!(stream.marker(1), Step::Hold);
    assert_eq!(stream.text("content"), Step::Pass);
}

#[test]
fn runs_of_one_route_are_one_and_the_rest_stays_held() {
    let mut stream = stream();
    assert_eq!(stream.text("split"), Step::Ops(vec![run(Route::Content, 3), run(Route::Reasoning, 2)]));
    assert_eq!(stream.text("split !"), Step::Ops(vec![run(Route::Content, 3), run(Route::Reasoning, 2)]));
    assert_eq!(stream.text("content"), Step::Ops(vec![run(Route::Content, 9)]));
}

#[test]
fn a_marker_is_as_long_as_its_literal() {
    let mut stream = stream();
    assert_eq!(stream.marker(0), Step::Ops(vec![run(Route::Drop, 6)]));
    assert_eq!(stream.marker(0), Step::Pass);
    assert!(matches!(stream.marker(2), Step::Fault(_)));
}

#[test]
fn until_marker_is_said_once_and_again_after_a_marker() {
    let mut stream = stream();
    let said = |bytes| Step::Ops(vec![run(Route::Content, bytes), Op::UntilMarker(Route::Content)]);
    assert_eq!(stream.text("until"), said(5));
    assert_eq!(stream.text("until x"), Step::Pass);
    assert_eq!(
        stream.text("until-reasoning"),
        Step::Ops(vec![run(Route::Reasoning, 15), Op::UntilMarker(Route::Reasoning)])
    );
    assert_eq!(stream.text("until"), said(5));
    assert_eq!(stream.marker(1), Step::Hold);
    assert_eq!(stream.text("until"), said(11));
}

#[test]
fn until_byte_is_said_whenever_the_host_asks() {
    let mut stream = stream();
    let until = Op::UntilByte(Until { route: Route::Content, bytes: ";".into() });
    for _ in 0..2 {
        assert_eq!(stream.text("until-byte"), Step::Ops(vec![run(Route::Content, 10), until.clone()]));
    }
    assert_eq!(stream.text("content"), Step::Pass);
}

#[test]
fn other_ops_cross_in_the_order_they_were_said() {
    let call = ToolCall::new("f", Payload::Json);
    let ops = vec![
        run(Route::Drop, 4),
        Op::ToolCall(call),
        Op::DerivedArguments("{}".into()),
        Op::Close,
        Op::Message("final".into()),
    ];
    assert_eq!(stream().text("call"), Step::Ops(ops));
}

#[test]
fn routing_more_than_is_held_is_a_fault_that_says_so() {
    let fault = Step::Fault("routed 1000 bytes to Content with 4 held".into());
    assert_eq!(stream().text("much"), fault);
}

#[test]
fn a_parsers_own_fault_is_handed_on() {
    assert_eq!(stream().text("stop"), Step::Fault("enough".into()));
}

#[test]
fn a_parser_that_leaves_the_end_alone_holds() {
    let mut stream = stream();
    stream.text("?");
    assert_eq!(stream.finish(FinishReason::Stop), Step::Hold);
}
