//! What the trait promises besides reading.

use std::sync::Arc;

use sluice_symphony::{Reader, SymphonyParser};
use symphony::{
    DropReason, EngineFinish, Event, Events, FinishReason, Input, MalformedReason, ParseError, Parser, Text,
};

use super::seen::{by_text, fed};

fn parser(name: &str) -> SymphonyParser {
    SymphonyParser::new(Arc::new(Reader::load(name).expect("a shipped parser")), &[])
}

fn prompted(name: &str, text: &str) -> SymphonyParser {
    let mut parser = parser(name);
    assert_eq!(fed(&mut parser, Input::Prompt { token_ids: &[], text }), []);
    parser
}

fn delta(text: &str) -> Input<'_> {
    Input::Delta { token_ids: &[], text, spans: &[] }
}

fn end(finish: EngineFinish) -> Input<'static> {
    Input::End { finish }
}

#[test]
fn inputs_out_of_order_are_refused_and_say_nothing() {
    let mut out = Events::new();
    let mut refuses = |parser: &mut SymphonyParser, input: Input<'_>| {
        let refused = parser.feed(input, &mut out);
        assert!(matches!(refused, Err(ParseError::Lifecycle(_))), "{refused:?}");
        assert!(out.is_empty());
    };
    let mut fresh = parser("qwen3");
    refuses(&mut fresh, delta("a"));
    refuses(&mut fresh, end(EngineFinish::Stop));
    let mut ended = prompted("qwen3", "");
    refuses(&mut ended, Input::Prompt { token_ids: &[], text: "" });
    fed(&mut ended, end(EngineFinish::Stop));
    refuses(&mut ended, delta("a"));
    refuses(&mut ended, end(EngineFinish::Stop));
}

#[test]
fn of_a_whole_prompt_the_models_turn_counts() {
    let prompt = "<|im_start|>user\nWhat does <think> do?<|im_end|>\n<|im_start|>assistant\n<think>\n";
    let events = by_text(&mut prompted("qwen3", prompt), "Hm.</think>Yes.", 1, true);
    let dropped = |text| Event::Dropped { text: Text::uncounted(text), why: DropReason::Wrapper };
    let without: Vec<Event> = events.into_iter().filter(|event| *event != dropped("</think>")).collect();
    let mut joined = Events::new();
    for event in without {
        joined.push(event);
    }
    let finish = Event::Finish { reason: FinishReason::Stop, tool_calls: 0, reasoning_tokens: 0 };
    let expected = [
        Event::ReasoningStart,
        Event::Reasoning(Text::uncounted("Hm.")),
        Event::ReasoningEnd,
        Event::Content(Text::uncounted("Yes.")),
        finish,
    ];
    assert_eq!(joined.as_slice(), expected);
}

#[test]
fn a_calls_bytes_are_with_its_events() {
    let text = "Look.<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";
    let reader = Arc::new(Reader::load("qwen3").expect("a shipped parser"));
    let tool =
        gateway_tests::Tool { name: "f".to_owned(), parameters: serde_json::json!({"type": "object"}) };
    let mut parser = SymphonyParser::new(reader, &super::seen::tools(&[tool]));
    fed(&mut parser, Input::Prompt { token_ids: &[], text: "" });
    let events = by_text(&mut parser, text, 0, true);
    let source = |text: &str| Text::uncounted(text);
    let start = Event::ToolCallStart {
        index: 0,
        id: "call_0".to_owned(),
        name: "f".to_owned(),
        source: source("<tool_call>\n{\"name\": \"f"),
    };
    assert_eq!(events[..2], [Event::Content(source("Look.")), start]);
    let json = "{\"a\": 1}".to_owned();
    let source = source("\", \"arguments\": {\"a\": 1}");
    assert!(events.contains(&Event::ToolCallArguments { index: 0, json, source }), "{events:?}");
    let finish = Event::Finish { reason: FinishReason::ToolCalls, tool_calls: 1, reasoning_tokens: 0 };
    assert_eq!(events.last(), Some(&finish));
}

#[test]
fn a_call_that_was_cut_off_says_so() {
    let text = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": ";
    let reader = Arc::new(Reader::load("qwen3").expect("a shipped parser"));
    let tool =
        gateway_tests::Tool { name: "f".to_owned(), parameters: serde_json::json!({"type": "object"}) };
    for finish in
        [EngineFinish::Stop, EngineFinish::Length, EngineFinish::Abort, EngineFinish::Other("x".to_owned())]
    {
        let mut parser =
            SymphonyParser::new(Arc::clone(&reader), &super::seen::tools(std::slice::from_ref(&tool)));
        fed(&mut parser, Input::Prompt { token_ids: &[], text: "" });
        let mut events = fed(&mut parser, delta(text));
        events.extend(fed(&mut parser, end(finish.clone())));
        let cut = |event: &Event| {
            matches!(event, Event::Malformed { why: MalformedReason::UnterminatedRegion, .. })
        };
        assert!(events.iter().any(cut), "{events:?}");
        let reason = match finish {
            EngineFinish::Stop => FinishReason::Stop,
            EngineFinish::Length => FinishReason::Length,
            EngineFinish::Abort => FinishReason::Abort,
            EngineFinish::Other(reason) => FinishReason::Other(reason),
        };
        let finish = Event::Finish { reason, tool_calls: 1, reasoning_tokens: 0 };
        assert_eq!(events.last(), Some(&finish));
        assert_eq!(super::seen::bytes(&events), text);
    }
}
