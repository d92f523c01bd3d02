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
use registry::{Format, Next, Opening};

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

/// Each format with its openings.
fn openings() -> impl Iterator<Item = (&'static str, &'static Opening)> {
    let of = |format: &'static Format| format.profile.openings.iter().map(|opening| (format.name, opening));
    registry::FORMATS.iter().flat_map(of)
}

#[test]
fn the_parser_knows_where_a_turn_stands() {
    for (name, Opening { pieces, next, is_at_beginning }) in openings() {
        let (parser, job) = (shipped(name), job());
        let opening = opening(&parser, pieces);
        let samples = OpeningProbe { parser: &parser, request: &parser.request(&job), opening: &opening };
        let state = match next {
            Next::Message => OpeningState::Message,
            Next::Reasoning(end) => OpeningState::Reasoning(*end),
            Next::Elsewhere => OpeningState::Elsewhere,
        };
        assert_eq!(samples.state(), state, "{name} {pieces:?}");
        assert_eq!(samples.is_at_beginning(), *is_at_beginning, "{name} {pieces:?}");
    }
}

#[test]
fn tools_make_no_difference_to_what_is_a_beginning() {
    for (name, Opening { pieces, is_at_beginning, .. }) in openings() {
        let parser = shipped(name);
        let job = Job { demand: Demand { tools: vec![function("f", false)], ..demand() }, ..job() };
        let opening = opening(&parser, pieces);
        let samples = OpeningProbe { parser: &parser, request: &parser.request(&job), opening: &opening };
        assert_eq!(samples.is_at_beginning(), *is_at_beginning, "{name} {pieces:?}");
    }
}
