//! Tests of constraints with the shipped formats.

mod asked;

use std::sync::Arc;

use engine::{Constraint, ConstraintSupport, EngineInfo, JsonBegins, JsonConstraint};

use super::ConstraintBuilder;
use crate::error::{ConstraintField, StartError};
use crate::fixture;
use crate::job::{Beginning, Job};
use crate::limits::ModelLimits;
use crate::locate::locate;
use crate::opening_state::OpeningProbe;
use crate::opening_state::tests::{demand, function, job, opening, shipped};
use crate::parsers::ParserBinding;
use accounts::Caller;
use grammar::{Demand, ToolChoice};
use mask::Grammars;
use parsers::Plugin;
use prompt::Tokenizer;

const SCHEMA: &str = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
const ALL: ConstraintSupport = ConstraintSupport { grammar: true, json: true, masks: false };
const GRAMMAR: ConstraintSupport = ConstraintSupport { grammar: true, json: false, masks: false };
const JSON: ConstraintSupport = ConstraintSupport { grammar: false, json: true, masks: false };

const QWEN: &[&str] = &["<|im_start|>", "assistant\n"];
const QWEN_THINKS: &[&str] = &["<|im_start|>", "assistant\n", "<think>", "\n"];
const HARMONY: &[&str] = &["<|start|>", "assistant"];

fn demanding(demand: Demand) -> Job {
    Job { demand, ..job() }
}

fn with_schema() -> Job {
    demanding(Demand { response_schema: Some(SCHEMA.to_owned()), ..demand() })
}

fn forced() -> Job {
    let tools = vec![function("f", false)];
    demanding(Demand { tools, tool_choice: ToolChoice::Required, ..demand() })
}

fn info(constraints: ConstraintSupport) -> EngineInfo {
    EngineInfo { name: "fake".to_owned(), context: 4096, vocab: 1 << 20, constraints }
}

/// Makes the constraint of a job for an engine with this support. An error is the field at fault,
/// and the reason.
fn made(
    parser: &ParserBinding,
    pieces: &[&str],
    job: &Job,
    constraints: ConstraintSupport,
) -> Result<Constraint, (ConstraintField, String)> {
    let (opening, engine) = (opening(parser, pieces), info(constraints));
    let request = parser.request(job);
    let probe = OpeningProbe { parser, request: &request, opening: &opening };
    let grammars = Grammars::new(
        Arc::new(Tokenizer::load(&locate(None).unwrap().files).unwrap()),
        ModelLimits::default().mask_time,
        fixture::grammar_share(),
    );
    let caller = Caller::default();
    let (engine, grammars, caller) = (&engine, &grammars, &caller);
    let builder = ConstraintBuilder { job, parser, probe, engine, generates: true, grammars, caller };
    builder.required(job.demanding_field().unwrap()).map_err(|error| match error {
        StartError::Constraint { field, reason } => (field, reason),
        other => panic!("{other}"),
    })
}

fn at_once() -> JsonConstraint {
    JsonConstraint { schema: SCHEMA.to_owned(), begins: JsonBegins::AtOnce }
}

#[test]
fn schema_gives_grammar_with_token_ids_and_json() {
    let parser = shipped("qwen3");
    for pieces in [QWEN, &[QWEN, &["<think>", "\n\n", "</think>", "\n\n"]].concat()] {
        let both = made(&parser, pieces, &with_schema(), ALL).unwrap();
        let grammar = both.grammar.unwrap();
        assert!(
            grammar.contains("marker_0: <[1000]>\n") && grammar.contains("marker_1: <[1001]>\n"),
            "{grammar}"
        );
        assert!(grammar.contains("\"city\""), "{grammar}");
        assert_eq!(both.json, Some(at_once()));
        assert_eq!(made(&parser, pieces, &with_schema(), GRAMMAR).unwrap().json, None);
        let alone = made(&parser, pieces, &with_schema(), JSON).unwrap();
        assert_eq!(alone, Constraint { grammar: None, json: Some(at_once()), is_optional: false });
    }
}

#[test]
fn open_reasoning_delays_json_and_excludes_grammar() {
    let parser = shipped("qwen3");
    let begins = JsonBegins::After { text: "</think>".to_owned(), id: Some(1001) };
    let json = Some(JsonConstraint { schema: SCHEMA.to_owned(), begins });
    let made_of = |job: &Job, support| made(&parser, QWEN_THINKS, job, support);
    assert_eq!(made_of(&with_schema(), ALL), Ok(Constraint { grammar: None, json, is_optional: false }));
    let (field, reason) = made_of(&with_schema(), GRAMMAR).unwrap_err();
    assert_eq!(field, ConstraintField::Format);
    assert!(reason.contains("turn thinking off"), "{reason}");
    let (field, reason) = made_of(&forced(), ALL).unwrap_err();
    assert_eq!(field, ConstraintField::ToolChoice);
    assert!(reason.contains("turn thinking off"), "{reason}");
}

#[test]
fn a_format_with_headers_has_a_grammar_only() {
    let parser = shipped("harmony");
    let both = made(&parser, HARMONY, &with_schema(), ALL).unwrap();
    assert!(both.grammar.unwrap().contains("token_0: <[1000]>"));
    assert_eq!(both.json, None);
    let (field, reason) = made(&parser, HARMONY, &with_schema(), JSON).unwrap_err();
    assert_eq!(field, ConstraintField::Format);
    assert!(reason.starts_with("the engine (fake) follows nothing but JSON schemas"), "{reason}");
}

#[test]
fn every_format_can_force_a_call() {
    for name in registry::FORMATS.iter().map(|format| format.name) {
        let mut named = forced();
        named.demand.tool_choice = ToolChoice::Named("f".to_owned());
        for job in [forced(), named] {
            let parser = shipped(name);
            let made = made(&parser, &[], &job, ALL).unwrap();
            assert!(made.grammar.is_some() && made.json.is_none(), "{name}");
            assert_eq!(
                parser.reasoning_end.is_some(),
                name != "llama3",
                "{name} says where its reasoning ends, if it has any"
            );
        }
    }
    let (field, reason) = made(&shipped("qwen3"), QWEN, &forced(), JSON).unwrap_err();
    assert_eq!(field, ConstraintField::ToolChoice);
    assert!(reason.ends_with("calls can't be forced"), "{reason}");
}

#[test]
fn json_alone_would_forbid_tools_that_may_be_called() {
    let parser = shipped("qwen3");
    let mut with_tools = with_schema();
    with_tools.demand.tools = vec![function("f", false)];
    let both = made(&parser, QWEN, &with_tools, ALL).unwrap();
    assert!(both.grammar.is_some() && both.json.is_none());
    let (field, reason) = made(&parser, QWEN, &with_tools, JSON).unwrap_err();
    assert_eq!(field, ConstraintField::Format);
    assert!(reason.ends_with("tools may be called beside the answer here"), "{reason}");
    let mut none = with_tools;
    none.demand.tool_choice = ToolChoice::None;
    assert_eq!(made(&parser, QWEN, &none, JSON).unwrap().json, Some(at_once()));
}

#[test]
fn parsers_objection_names_the_field_at_fault() {
    let parser = shipped("qwen3");
    let mut strict = function("f", true);
    strict.schema = r#"{"type":"string"}"#.to_owned();
    let mut job = forced();
    job.demand.tools = vec![strict];
    let (field, reason) = made(&parser, QWEN, &job, ALL).unwrap_err();
    assert_eq!(field, ConstraintField::Tools, "{reason}");
    let bare = Plugin::none();
    let bare = ParserBinding::bind(bare, Vec::new(), &[], |_| None).unwrap();
    assert_eq!(
        made(&bare, &[], &with_schema(), ALL),
        Ok(Constraint { grammar: None, json: Some(at_once()), is_optional: false })
    );
    let (field, reason) = made(&bare, &[], &forced(), ALL).unwrap_err();
    assert!(reason.starts_with("calls can't be forced"), "{reason}");
    assert_eq!(field, ConstraintField::ToolChoice);
    let begun = Job { beginning: Beginning::ContinueLast, ..with_schema() };
    assert_eq!(made(&parser, QWEN, &begun, ALL).unwrap_err().0, ConstraintField::Format);
}
