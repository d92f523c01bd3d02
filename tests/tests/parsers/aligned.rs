//! Streams of a program with a detokenizer of its own, which tells the text of some tokens together:
//! they give the items and the token counts of the server's way, which knows the text of each token.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use contract::{FinishReason, Request, ToolKind};
use parsers::{BoundPlugin, ParserLimits, Plugin, Runtime};
use prompt::{Detokenizer, Tokenizer};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tests::streams::{SHIPPED, load};
use turn::{
    Binding, FoldedItem, ItemHead, TokenCounts, TokenText, Turn, TurnEnd, TurnEvents, TurnSettings,
    counted_call_ids, fold, values,
};

const PROMPT: &str = "<|im_start|>assistant\n";
/// What streams are made of: text that spells markers, broken characters by the tokens of their
/// bytes, whole calls.
const TEXTS: [&str; 10] = [
    "Some words. ",
    "<tool_call>",
    "</think>",
    "<think>",
    "<tool",
    "_call>\n",
    "\n{\"name\": \"f\", \"arguments\": {\"s\": \"a <tool_call> b\"}}\n",
    "é☃",
    "\n\n",
    "{\"name\": \"f\"",
];

type Outcome = (Vec<FoldedItem>, TurnEnd, TokenCounts);

fn tokenizer() -> Arc<Tokenizer> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/models/qwen3-tiny/tokenizer.json");
    Arc::new(Tokenizer::from_json(&std::fs::read(file).expect("a file")).expect("a tokenizer"))
}

fn request() -> Request {
    let schema = r#"{"properties": {"s": {"type": "string"}}}"#;
    Request { tools: [values::tool("f", ToolKind::Function, schema)].into(), ..Request::default() }
}

fn settings(request: &Request) -> TurnSettings {
    let mut settings = TurnSettings::of(request, counted_call_ids());
    settings.reads_on = true;
    settings
}

/// The text that each token adds.
fn texts(tokenizer: &Arc<Tokenizer>, ids: &[u32]) -> Vec<String> {
    let mut detokenizer = Detokenizer::new(Arc::clone(tokenizer), &[0]);
    let mut text = |id: &u32| {
        let mut text = String::new();
        detokenizer.push(*id, &mut text);
        text
    };
    ids.iter().map(&mut text).collect()
}

/// The server's way: the text of each token.
fn as_served(
    plugin: &Plugin,
    binding: &Arc<Binding>,
    tokenizer: &Arc<Tokenizer>,
    steps: &[&[(u32, String)]],
) -> Outcome {
    let request = Request { token_markers: binding.markers().tokens(), ..request() };
    let parser = plugin.start(&request).expect("started");
    let (mut turn, mut events) = (Turn::new(binding, parser, settings(&request)), TurnEvents::default());
    let ids = tokenizer.encode_with_added(PROMPT).expect("ids");
    let texts = texts(tokenizer, &ids);
    let opening: Vec<_> = ids.iter().zip(&texts).map(|(id, text)| TokenText::new(Some(*id), text)).collect();
    let _ = turn.replay(&opening, &mut events);
    for step in steps {
        let pieces: Vec<_> = step.iter().map(|(id, text)| TokenText::new(Some(*id), text)).collect();
        let _ = turn.step(&pieces, &mut events);
    }
    let end = turn.finish(FinishReason::Stop, None, &mut events);
    (fold(events).expect("well-formed"), end, turn.tokens())
}

/// An embedder's way: the text of each step.
fn as_embedded(bound: &BoundPlugin, tokenizer: &Arc<Tokenizer>, steps: &[&[(u32, String)]]) -> Outcome {
    let mut stream = bound.start(&request(), PROMPT).expect("started");
    let decode = |ids: &[u32]| Some(texts(tokenizer, ids).concat());
    let mut events = TurnEvents::default();
    for step in steps {
        let ids: Vec<u32> = step.iter().map(|(id, _)| *id).collect();
        let text: String = step.iter().map(|(_, text)| text.as_str()).collect();
        events.extend(stream.push(&text, &ids, Some(&decode)).expect("aligned").iter().cloned());
    }
    let (last, end) = stream.finish(FinishReason::Stop, None);
    events.extend(last.iter().cloned());
    (fold(events).expect("well-formed"), end, stream.turn().tokens())
}

#[test]
fn text_of_steps_gives_the_items_that_text_of_tokens_gives() {
    let tokenizer = tokenizer();
    let runtime = Runtime::new(&ParserLimits::default()).expect("a sandbox");
    let plugin = load(&runtime, "qwen3", SHIPPED).expect("loaded");
    let token_id = |literal: &str| tokenizer.token_id(literal);
    let binding = Binding::new(plugin.descriptor(), token_id).expect("markers");
    let bound = plugin.bind(token_id).expect("markers");
    let markers: Vec<u32> = binding.markers().entries().filter_map(|(_, id)| id).collect();
    assert!(markers.len() > 4, "{markers:?}");
    let parts: Vec<Vec<u32>> = TEXTS
        .iter()
        .map(|text| tokenizer.encode_text(text).expect("ids"))
        .chain(markers.iter().map(|id| vec![*id]))
        // The first byte of a character that doesn't end.
        .chain([tokenizer.encode_text("é").expect("ids")[..1].to_vec()])
        .collect();
    let (calls, reasoning) = (Cell::new(0), Cell::new(0));
    let part = 0..parts.len();
    let streams = (prop::collection::vec(part, 1..24), prop::collection::vec(1..17usize, 1..64));
    let run = |(stream, sizes): (Vec<usize>, Vec<usize>)| {
        let ids: Vec<u32> = stream.iter().flat_map(|part| parts[*part].iter().copied()).collect();
        let tokens: Vec<_> = ids.iter().copied().zip(texts(&tokenizer, &ids)).collect();
        let (mut steps, mut rest) = (Vec::new(), &tokens[..]);
        for size in sizes.iter().cycle() {
            let (step, later) = rest.split_at(rest.len().min(*size));
            steps.push(step);
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        let served = as_served(&plugin, &binding, &tokenizer, &steps);
        let is_call = |item: &FoldedItem| matches!(item.head, ItemHead::ToolCall { .. });
        calls.update(|calls| calls + usize::from(served.0.iter().any(is_call)));
        reasoning.update(|reasoning| reasoning + usize::from(served.2.reasoning > 0));
        let embedded = as_embedded(&bound, &tokenizer, &steps);
        prop_assert_eq!((&embedded.0, &embedded.1), (&served.0, &served.1));
        Ok(())
    };
    TestRunner::deterministic().run(&streams, run).expect("equal");
    assert!(
        calls.get() > 10 && reasoning.get() > 10,
        "{calls:?} streams with calls, {reasoning:?} with reasoning"
    );
}
