//! Parsers that fail: the call in which they do fails, the end gives the text back, and all else goes
//! on.

use std::sync::Arc;

use gateway_tests::{FAILING, guest};
use sluice_symphony::{Reader, SymphonyParser};
use symphony::{EngineFinish, Event, Events, Input, MalformedReason, ParseError, Parser};

use super::seen::bytes;

fn parser(name: &str) -> SymphonyParser {
    SymphonyParser::new(Arc::new(Reader::load(&guest(name)).expect("a component")), &[])
}

fn delta(text: &str) -> Input<'_> {
    Input::Delta { token_ids: &[], text, spans: &[] }
}

const END: Input<'static> = Input::End { finish: EngineFinish::Stop };

/// Ends the output: what came is unread, and the end is last.
fn gives_back(parser: &mut SymphonyParser, text: &str, fails: bool) {
    let mut out = Events::new();
    assert_eq!(parser.feed(END, &mut out).is_err(), fails);
    let events = out.drain();
    let unread = |event: &Event| matches!(event, Event::Malformed { why: MalformedReason::Other(_), .. });
    assert!(events.iter().any(unread) && matches!(events.last(), Some(Event::Finish { .. })), "{events:?}");
    assert_eq!(bytes(&events), text);
}

#[test]
fn a_parser_that_fails_gives_its_text_back_at_the_end() {
    let prompt = Input::Prompt { token_ids: &[], text: "" };
    for name in FAILING {
        let (mut failing, mut out) = (parser(name), Events::new());
        failing.feed(prompt.clone(), &mut out).expect(name);
        let failed = failing.feed(delta("abc"), &mut out);
        assert!(matches!(failed, Err(ParseError::Internal(_))), "{name}: {failed:?}");
        failing.feed(delta("d"), &mut out).expect_err("it failed before");
        assert!(out.is_empty(), "{name}: {out:?}");
        gives_back(&mut failing, "abcd", false);
    }
    let (mut failing, mut out) = (parser("trap_in_finish"), Events::new());
    failing.feed(prompt.clone(), &mut out).expect("a prompt");
    let fed = failing.feed(delta("abc"), &mut out);
    assert_eq!(fed, Ok(()));
    gives_back(&mut failing, &"abc"[out.text().len()..], true);
    let (mut healthy, mut out) = (parser("healthy"), Events::new());
    for input in [prompt, delta("abc"), END] {
        healthy.feed(input, &mut out).expect("a healthy parser");
    }
    assert_eq!(out.text(), "abc");
}

#[test]
fn a_parser_that_cant_start_gives_all_text_back() {
    let (mut refusing, mut out) = (parser("loop_in_start"), Events::new());
    let refused = refusing.feed(Input::Prompt { token_ids: &[], text: "" }, &mut out);
    assert!(matches!(refused, Err(ParseError::Internal(_))), "{refused:?}");
    refusing.feed(delta("abc"), &mut out).expect_err("it was refused");
    gives_back(&mut refusing, "abc", false);
}
