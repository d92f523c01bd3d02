//! The turn room with a real parser, run natively: Qwen3 transcripts give the same items however they are cut and grouped, and whether
//! markers are tokens or text.

use std::sync::Arc;

use host::parser::contract;
use host::turn::{
    Item, ItemHead, ItemStatus, MarkerTable, TokenText, Turn, TurnEnd, TurnEvents, TurnSettings, fold,
};
use parser_sdk::{Parser, Request, Stream, Tool, ToolKind};
use qwen3_parser::Qwen3;

/// Stand-in for the sandbox: the SDK's parser behind the host's trait.
struct Native(Stream<Qwen3>);

impl contract::StreamParser for Native {
    fn text(&mut self, chunk: &str) -> Result<contract::Step, contract::Fault> {
        Ok(step(self.0.text(chunk)))
    }
    fn marker(&mut self, index: u32) -> Result<contract::Step, contract::Fault> {
        Ok(step(self.0.marker(index)))
    }
    fn finish(&mut self, reason: contract::FinishReason) -> Result<contract::Step, contract::Fault> {
        Ok(step(self.0.finish(match reason {
            contract::FinishReason::Stop => parser_sdk::FinishReason::Stop,
            contract::FinishReason::Length => parser_sdk::FinishReason::Length,
            contract::FinishReason::Cancelled => parser_sdk::FinishReason::Cancelled,
        })))
    }
}

fn step(step: parser_sdk::Step) -> contract::Step {
    match step {
        parser_sdk::Step::Pass => contract::Step::Pass,
        parser_sdk::Step::Hold => contract::Step::Hold,
        parser_sdk::Step::Ops(ops) => contract::Step::Ops(ops.into_iter().map(op).collect()),
        parser_sdk::Step::Fault(reason) => contract::Step::Fault(reason),
    }
}

fn op(op: parser_sdk::Op) -> contract::Op {
    match op {
        parser_sdk::Op::Bytes(run) => {
            contract::Op::Bytes(contract::Run { route: route(run.route), bytes: run.bytes })
        }
        parser_sdk::Op::UntilMarker(to) => contract::Op::UntilMarker(route(to)),
        parser_sdk::Op::UntilByte(until) => {
            contract::Op::UntilByte(contract::Until { route: route(until.route), bytes: until.bytes.into() })
        }
        parser_sdk::Op::UntilJson(rest) => contract::Op::UntilJson(contract::JsonRest {
            route: route(rest.route),
            depth: rest.depth,
            in_string: match rest.in_string {
                parser_sdk::InString::No => contract::InString::No,
                parser_sdk::InString::Yes => contract::InString::Yes,
                parser_sdk::InString::AfterBackslash => contract::InString::AfterBackslash,
            },
        }),
        parser_sdk::Op::Message(phase) => contract::Op::Message(match phase {
            parser_sdk::Phase::Unspecified => contract::Phase::Unspecified,
            parser_sdk::Phase::Commentary => contract::Phase::Commentary,
            parser_sdk::Phase::Final => contract::Phase::Final,
        }),
        parser_sdk::Op::ToolCall(call) => contract::Op::ToolCall(contract::ToolCall {
            name: call.name,
            payload: match call.payload {
                parser_sdk::Payload::Json => contract::Payload::Json,
                parser_sdk::Payload::Text => contract::Payload::Text,
            },
        }),
        parser_sdk::Op::Close => contract::Op::Close,
        parser_sdk::Op::BrokenCall => contract::Op::BrokenCall,
        parser_sdk::Op::DerivedArguments(text) => contract::Op::DerivedArguments(text),
    }
}

fn route(route: parser_sdk::Route) -> contract::Route {
    match route {
        parser_sdk::Route::Content => contract::Route::Content,
        parser_sdk::Route::Reasoning => contract::Route::Reasoning,
        parser_sdk::Route::Arguments => contract::Route::Arguments,
        parser_sdk::Route::ArgumentsEscaped => contract::Route::ArgumentsEscaped,
        parser_sdk::Route::ArgumentsUnescaped => contract::Route::ArgumentsUnescaped,
        parser_sdk::Route::Drop => contract::Route::Drop,
    }
}

fn descriptor() -> parser_sdk::Descriptor {
    Qwen3::describe(&[]).expect("there are no settings to be wrong")
}

/// Ids of the markers: 1000, 1001, … in the descriptor's order.
fn marker_ids(markers: &[String]) -> impl Fn(&str) -> Option<u32> {
    |literal| markers.iter().zip(1000..).find(|(marker, _)| *marker == literal).map(|(_, id)| id)
}

/// Makes a turn of a request that declares `weather`.
fn turn(by_id: bool) -> Turn {
    let descriptor = descriptor();
    let ids = marker_ids(&descriptor.markers);
    let table = MarkerTable::new(&descriptor.markers, |literal| by_id.then(|| ids(literal))?)
        .expect("the markers are usable");
    let weather = Tool {
        name: "weather".into(),
        description: String::new(),
        kind: ToolKind::Function,
        parameters_json: "{}".into(),
        strict: false,
        grammar: None,
    };
    let request = Request { tools: vec![weather], ..Request::default() };
    let settings = TurnSettings {
        stops: descriptor.stops.into(),
        trim: contract::Trim { reasoning: descriptor.trim.reasoning, content: descriptor.trim.content },
        tools: Arc::new(["weather".into()]),
        ..TurnSettings::new(descriptor.name, Arc::new(table))
    };
    Turn::new(settings, Box::new(Native(Stream::start(&request).expect("the request is plain"))))
}

/// Splits a text into tokens of `size` bytes, where a character comes with its last byte; with `by_id`, markers are one token each.
fn tokens(text: &str, size: usize, by_id: bool) -> Vec<TokenText<'_>> {
    let markers = if by_id { descriptor().markers } else { Vec::new() };
    let ids = marker_ids(&markers);
    let (mut pieces, mut rest, mut bytes) = (Vec::new(), text, 0);
    while !rest.is_empty() {
        if let Some(marker) = markers.iter().find(|marker| rest.starts_with(marker.as_str())) {
            pieces.push(TokenText::new(ids(marker), &rest[..marker.len()]));
            (rest, bytes) = (&rest[marker.len()..], 0);
            continue;
        }
        let plain =
            markers.iter().filter_map(|marker| rest.find(marker.as_str())).min().unwrap_or(rest.len());
        bytes += size;
        let end = rest.floor_char_boundary(plain.min(bytes));
        pieces.push(TokenText::new(Some(7), &rest[..end]));
        (rest, bytes) = (&rest[end..], if end == 0 { bytes } else { 0 });
    }
    pieces
}

fn driven(
    prompt: &[TokenText<'_>],
    tokens: &[TokenText<'_>],
    per_step: usize,
    by_id: bool,
) -> (String, TurnEnd) {
    let mut turn = turn(by_id);
    let mut out = TurnEvents::default();
    let _ = turn.replay(prompt, &mut out);
    for step in tokens.chunks(per_step) {
        let _ = turn.step(step, &mut out);
    }
    let ended_by = TokenText::new(Some(1005), "<|im_end|>");
    let end = turn.finish(contract::FinishReason::Stop, Some(ended_by), &mut out);
    assert_eq!(turn.fault(), None);
    (fold(out).expect("events make items").iter().map(show).collect(), end)
}

/// Shows an item as `R[text]`, `M[text]` or `name(arguments)`, with `!` at the end if it was cut off.
fn show(item: &Item) -> String {
    let cut = if item.status == ItemStatus::Incomplete { "!" } else { "" };
    match &item.head {
        ItemHead::Reasoning => format!("R[{}]{cut}", item.text),
        ItemHead::Message { .. } => format!("M[{}]{cut}", item.text),
        ItemHead::ToolCall { name, .. } => format!("{name}({}){cut}", item.text),
    }
}

/// Prompt, output, and expected items. If the items end with `!`, the turn fails.
const TRANSCRIPTS: [(&str, &str, &str); 16] = [
    ("", "Hello, wörld 😀!\n", "M[Hello, wörld 😀!]"),
    ("", "<think>\nHm.\n</think>\n\nHi.", "R[Hm.]M[Hi.]"),
    ("<think>\n", "Hm.\n\nYes.\n</think>\n\nHi.", "R[Hm.\n\nYes.]M[Hi.]"),
    ("<think>\n\n</think>\n\n", "Hi.", "M[Hi.]"),
    ("<think>\n", "never ending", "R[never ending]"),
    ("", "<think>a</think>b</think>c", "R[a]M[bc]"),
    (
        "",
        "<think>\nx\n</think>\n\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>",
        "R[x]weather({\"city\": \"Oslo\"})",
    ),
    (
        "<think>\n",
        "x<tool_call>\n{\"name\": \"weather\", \"arguments\": {}}\n</tool_call>",
        "R[x]weather({})",
    ),
    (
        "",
        "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"a\": 1}}\n</tool_call>\n<tool_call>\n{\"name\": \"weather\", \
         \"arguments\": {\"a\": 2}}\n</tool_call>",
        "weather({\"a\": 1})weather({\"a\": 2})",
    ),
    (
        "",
        "Let me see. <tool_call>\n{\"name\": \"weather\", \"arguments\": {}}\n</tool_call>\nDone.",
        "M[Let me see.]weather({})M[Done.]",
    ),
    (
        "",
        "<tool_call>{\"arguments\": {\"name\": \"é\", \"b\": \"</tool_call>\"}, \"name\": \"weather\"}</tool_call>",
        "weather({\"name\": \"é\", \"b\": \"</tool_call>\"})",
    ),
    (
        "",
        "<tool_call>{\"name\": \"weather\", \"arguments\": \"{\\\"city\\\": \\\"\\u00d6\\ud83d\\ude00\\\"}\"}</tool_call>",
        "weather({\"city\": \"Ö😀\"})",
    ),
    ("", "<tool_call>\n{\"name\": \"weather\"}\n</tool_call>", "weather({})"),
    ("", "<tool_call>\n{\"name\": \"unheard_of\", \"arguments\": {}}\n</tool_call>", "unheard_of({})"),
    ("", "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Os", "weather({\"city\": \"Os)!"),
    ("", "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"a\": 1}", "weather({\"a\": 1})"),
];

#[test]
fn qwen3_transcripts_give_the_same_items_however_they_are_cut() {
    for (prompt, output, expected) in TRANSCRIPTS {
        for by_id in [false, true] {
            for size in [1, 2, 3, 7, 1000] {
                let (prompt, tokens) = (tokens(prompt, size, by_id), tokens(output, size, by_id));
                for per_step in [1, 2, 3, 8, 10_000] {
                    let (items, end) = driven(&prompt, &tokens, per_step, by_id);
                    let place = format!(
                        "{output:?}: ids {by_id}, {size} bytes per token, {per_step} tokens per step"
                    );
                    assert_eq!(items, expected, "{place}");
                    assert_eq!(end == TurnEnd::Completed, !expected.ends_with('!'), "{end:?} in {place}");
                }
            }
        }
    }
}
