//! Tests with openings of the shipped formats, as their models' templates write them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};

use super::{OpeningProbe, OpeningState};
use crate::job::Job;
use crate::parsers::ParserBinding;
use crate::{find_parser, fixture};
use contract::ToolKind;
use grammar::{Demand, ToolDefinition};
use parsers::ParserLimits;
use parsers::{Plugin, Runtime};

/// Loads a shipped parser.
pub(crate) fn load(runtime: &Runtime, name: &str) -> Arc<Plugin> {
    runtime.load(&find_parser(name, Path::new("none")).unwrap(), &[]).unwrap()
}

/// Binds a parser to a tokenizer that has each marker as a token, whose id is 1000 plus the
/// marker's index.
pub(crate) fn bound(plugin: Arc<Plugin>) -> ParserBinding {
    let markers = plugin.descriptor().markers.clone();
    let id = |literal: &str| (1000..).zip(&markers).find(|(_, marker)| *marker == literal).map(|(id, _)| id);
    ParserBinding::bind(plugin, Vec::new(), &[1], id).unwrap()
}

/// A shipped parser, bound so, and compiled once for all tests.
pub(crate) fn shipped(name: &str) -> ParserBinding {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| fixture::runtime(&ParserLimits::default()));
    static PLUGINS: Mutex<BTreeMap<String, Arc<Plugin>>> = Mutex::new(BTreeMap::new());
    let mut plugins = PLUGINS.lock().unwrap();
    bound(Arc::clone(plugins.entry(name.to_owned()).or_insert_with(|| load(&RUNTIME, name))))
}

/// Makes an opening of these pieces; those that are markers get their ids.
pub(crate) fn opening(parser: &ParserBinding, pieces: &[&str]) -> Vec<(Option<u32>, String)> {
    let id = |piece: &str| parser.markers().find(|(literal, _)| *literal == piece).and_then(|(_, id)| id);
    pieces.iter().map(|piece| (id(piece), (*piece).to_owned())).collect()
}

/// What an empty job demands.
pub(crate) fn demand() -> Demand {
    Demand { parallel_tool_calls: true, ..Demand::default() }
}

/// An empty job.
pub(crate) fn job() -> Job {
    Job { demand: demand(), ..Job::default() }
}

/// A function tool with one parameter, `city`.
pub(crate) fn function(name: &str, strict: bool) -> ToolDefinition {
    let parameters = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
    ToolDefinition {
        name: name.to_owned(),
        kind: ToolKind::Function,
        schema: parameters.to_owned(),
        strict,
        grammar: None,
    }
}

/// Reasoning that marker 1 ends, as in most formats.
const THINK_END: OpeningState = OpeningState::Reasoning(Some(1));

/// Format, opening, expected state of the turn, and whether the turn is still at its beginning.
const OPENINGS: &[(&str, &[&str], OpeningState, bool)] = &[
    ("qwen3", &["<|im_start|>", "assistant\n"], OpeningState::Message, true),
    (
        "qwen3",
        &["<|im_start|>", "assistant\n", "<think>", "\n\n", "</think>", "\n\n"],
        OpeningState::Message,
        true,
    ),
    ("qwen3", &["<|im_start|>", "assistant\n", "<think>", "\n"], THINK_END, false),
    ("qwen3-coder", &["<|im_start|>", "assistant\n"], OpeningState::Message, true),
    ("harmony", &["<|start|>", "assistant"], OpeningState::Elsewhere, true),
    (
        "harmony",
        &["<|start|>", "assistant", "<|channel|>", "analysis", "<|message|>"],
        OpeningState::Reasoning(None),
        false,
    ),
    (
        "harmony",
        &["<|start|>", "assistant", "<|channel|>", "final", "<|message|>"],
        OpeningState::Message,
        false,
    ),
    ("kimi-k2", &["<|im_assistant|>", "assistant", "<|im_middle|>"], OpeningState::Message, true),
    ("deepseek-v3", &["<｜Assistant｜>"], OpeningState::Message, true),
    ("deepseek-v3", &["<｜Assistant｜>", "</think>"], OpeningState::Message, true),
    ("deepseek-v3", &["<｜Assistant｜>", "<think>"], THINK_END, false),
    ("glm", &["<|assistant|>", "\n", "<think>", "</think>"], OpeningState::Message, true),
    ("glm", &["<|assistant|>", "<think>"], THINK_END, false),
    (
        "llama3",
        &["<|start_header_id|>", "assistant", "<|end_header_id|>", "\n\n"],
        OpeningState::Message,
        true,
    ),
    ("mistral", &[], OpeningState::Message, true),
    ("minimax-m2", &["]~b]", "ai\n", "<think>", "\n"], THINK_END, false),
    ("minimax-m3", &["]~b]", "ai\n"], OpeningState::Message, true),
    ("minimax-m3", &["]~b]", "ai\n", "</mm:think>"], OpeningState::Message, true),
    ("minimax-m3", &["]~b]", "ai\n", "<mm:think>"], THINK_END, false),
    ("gemma4", &["<|turn>", "model\n"], OpeningState::Message, true),
    ("gemma4", &["<|turn>", "model\n", "<|channel>", "thought\n", "<channel|>"], OpeningState::Message, true),
    ("gemma4", &["<|turn>", "model\n", "<|channel>", "thought\n"], OpeningState::Reasoning(Some(3)), false),
    ("gemma4", &["<start_of_turn>", "model\n"], OpeningState::Message, true),
    ("pythonic", &["<|im_start|>", "assistant\n"], OpeningState::Message, true),
    ("pythonic", &["<|header_start|>", "assistant", "<|header_end|>", "\n\n"], OpeningState::Message, true),
    ("pythonic", &["<|im_start|>", "assistant\n", "<think>"], THINK_END, false),
    ("apertus", &["<|assistant_start|>"], OpeningState::Message, true),
    ("deepseek-v4", &["<｜Assistant｜>", "<think>"], THINK_END, false),
    ("deepseek-v4", &["<｜Assistant｜>", "</think>"], OpeningState::Message, true),
];

#[test]
fn the_parser_knows_where_a_turn_stands() {
    for (name, pieces, standing, is_at_beginning) in OPENINGS {
        let (parser, job) = (shipped(name), job());
        let opening = opening(&parser, pieces);
        let samples = OpeningProbe { parser: &parser, request: &parser.request(&job), opening: &opening };
        assert_eq!(samples.state(), *standing, "{name} {pieces:?}");
        assert_eq!(samples.is_at_beginning(), *is_at_beginning, "{name} {pieces:?}");
    }
}

#[test]
fn tools_make_no_difference_to_what_is_a_beginning() {
    for (name, pieces, _, is_at_beginning) in OPENINGS {
        let parser = shipped(name);
        let job = Job { demand: Demand { tools: vec![function("f", false)], ..demand() }, ..job() };
        let opening = opening(&parser, pieces);
        let samples = OpeningProbe { parser: &parser, request: &parser.request(&job), opening: &opening };
        assert_eq!(samples.is_at_beginning(), *is_at_beginning, "{name} {pieces:?}");
    }
}
