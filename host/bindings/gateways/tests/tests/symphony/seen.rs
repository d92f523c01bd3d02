//! Outputs read through Symphony's trait, what is seen of their events, and what must be true of
//! them.

use std::sync::Arc;

use gateway_tests::{Output, Seen, Token, groups, pieces, push, texts};
use openai_protocol::common::{Function, Tool};
use sluice_symphony::SymphonyParser;
use symphony::{EngineFinish, Event, Events, Input, MalformedReason, Parser, TokenSpan};

/// Tools as Symphony has them.
pub(crate) fn tools(tools: &[gateway_tests::Tool]) -> Vec<Tool> {
    let tool = |tool: &gateway_tests::Tool| Tool {
        tool_type: "function".to_owned(),
        function: Function {
            name: tool.name.clone(),
            description: None,
            parameters: tool.parameters.clone(),
            strict: None,
            extra: serde_json::Map::default(),
        },
    };
    tools.iter().map(tool).collect()
}

/// A parser of the case, told of the prompt.
pub(crate) fn started(case: &Output) -> SymphonyParser {
    let mut parser = SymphonyParser::new(Arc::clone(&case.reader), &tools(&case.tools));
    let text = texts(&case.opening);
    parser.feed(Input::Prompt { token_ids: &[], text: &text }, &mut Events::new()).expect("a prompt");
    parser
}

pub(crate) fn finish(is_whole: bool) -> Input<'static> {
    Input::End { finish: if is_whole { EngineFinish::Stop } else { EngineFinish::Length } }
}

/// Reads text in pieces, to the end.
pub(crate) fn by_text(parser: &mut dyn Parser, text: &str, seed: u64, is_whole: bool) -> Vec<Event> {
    let mut events = Vec::new();
    for piece in pieces(text, seed) {
        events.extend(fed(parser, Input::Delta { token_ids: &[], text: &piece, spans: &[] }));
    }
    events.extend(fed(parser, finish(is_whole)));
    events
}

/// What an input gives.
pub(crate) fn fed(parser: &mut dyn Parser, input: Input<'_>) -> Vec<Event> {
    let mut out = Events::new();
    parser.feed(input, &mut out).expect("an input");
    out.drain()
}

/// Reads tokens in groups, to the end. The decoder hides the text of those that are `hidden`.
pub(crate) fn by_tokens(
    parser: &mut dyn Parser,
    tokens: &[Token],
    seed: u64,
    is_whole: bool,
    hidden: impl Fn(&Token) -> bool,
) -> Vec<Event> {
    let mut events = Vec::new();
    for group in groups(tokens, 9, seed) {
        let (mut text, mut spans) = (String::new(), Vec::new());
        for token in group {
            let start = text.len();
            text.push_str(if hidden(token) { "" } else { &token.text });
            spans.push(TokenSpan { token_id: token.id, start, end: text.len(), continued: false });
        }
        let token_ids: Vec<u32> = group.iter().map(|token| token.id).collect();
        events.extend(fed(parser, Input::Delta { token_ids: &token_ids, text: &text, spans: &spans }));
    }
    events.extend(fed(parser, finish(is_whole)));
    events
}

/// The bytes that an event accounts for, and the tokens that they cost.
fn account(event: &Event) -> Option<(&str, Option<u32>)> {
    match event {
        Event::Content(text)
        | Event::Reasoning(text)
        | Event::Dropped { text, .. }
        | Event::Malformed { text, .. }
        | Event::ToolCallStart { source: text, .. }
        | Event::ToolCallArguments { source: text, .. }
        | Event::ToolCallEnd { source: text, .. } => Some((&text.text, text.tokens)),
        _ => None,
    }
}

/// All bytes that the events account for.
pub(crate) fn bytes(events: &[Event]) -> String {
    events.iter().filter_map(account).map(|(text, _)| text).collect()
}

/// All tokens that the events count; `None` if one of them counts none.
pub(crate) fn tokens(events: &[Event]) -> Option<u32> {
    events.iter().filter_map(account).map(|(_, tokens)| tokens).sum()
}

/// What is seen of events, which are well-formed: one end, last; reasoning in its region; each call
/// counted, begun and ended once.
pub(crate) fn seen(events: &[Event]) -> Vec<Seen> {
    let (mut all, mut is_reasoning, mut open) = (Vec::new(), false, None);
    let (mut calls, mut ends) = (0, 0);
    for (at, event) in events.iter().enumerate() {
        match event {
            Event::Content(text) => push(&mut all, Seen::Text(text.text.clone())),
            Event::ReasoningStart => assert!(!std::mem::replace(&mut is_reasoning, true)),
            Event::Reasoning(text) => {
                assert!(is_reasoning, "reasoning in its region");
                push(&mut all, Seen::Reasoning(text.text.clone()));
            }
            Event::ReasoningEnd => assert!(std::mem::replace(&mut is_reasoning, false)),
            Event::ToolCallStart { index, id, name, .. } => {
                assert_eq!((open, *index), (None, calls), "calls don't overlap, and are counted");
                assert_eq!(*id, format!("call_{index}"));
                open = Some(*index);
                calls += 1;
                let arguments = String::new();
                all.push(Seen::Call { name: name.clone(), arguments, complete: true });
            }
            Event::ToolCallArguments { index, json, .. } => {
                assert_eq!(open, Some(*index), "arguments of the open call");
                last_call(&mut all).0.push_str(json);
            }
            Event::ToolCallEnd { index, .. } => assert_eq!(open.take(), Some(*index)),
            Event::Malformed { why: MalformedReason::UnterminatedRegion, .. } => {
                *last_call(&mut all).1 = false;
            }
            Event::Malformed { .. } | Event::Dropped { .. } => {}
            Event::Finish { tool_calls, .. } => {
                assert_eq!((at + 1, *tool_calls), (events.len(), calls), "the end is last");
                ends += 1;
            }
        }
    }
    assert_eq!((ends, is_reasoning, open), (1, false, None));
    all
}

/// Arguments of the last call, and whether it is complete.
fn last_call(all: &mut [Seen]) -> (&mut String, &mut bool) {
    let call = all.iter_mut().rev().find_map(|seen| match seen {
        Seen::Call { arguments, complete, .. } => Some((arguments, complete)),
        _ => None,
    });
    call.expect("a call")
}
