//! Tests that the grammar of a request allows what the request demands: texts of random walks
//! through the grammar are parsed by the same parser, and the calls are checked against the request
//! by an independent JSON schema validator.

mod composed;
mod hostile;
mod inputs;
mod masks;
mod notations;
mod oracle;
mod play;
mod recorded;
mod requests;
mod schemas;
mod tables;

use grammar::{Demand, ToolChoice};
use oracle::{Format, Markers};
use registry::Inputs;
use requests::{Expected, plain, requests};

const SEEDS: u64 = 12;
/// Number of seeds for each table of `response-template`, of which there are many.
const SEEDS_OF_A_TABLE: u64 = 3;

macro_rules! formats {
    ($($module:ident $name:literal;)*) => {
        /// Formats of the shipped parsers.
        const FORMATS: &[(&str, Format)] =
            &[$(($name, Format::of::<registry::$module::Parser>(&registry::$module::FORMAT))),*];

        $(#[test]
        fn $module() {
            round_trip(format($name));
        })*
    };
}
registry::with_formats!(formats);

/// Format of a shipped parser.
fn format(name: &str) -> Format {
    FORMATS.iter().find(|(known, _)| *known == name).expect("a format").1
}

/// What is demanded of a format. Where any arguments may be nested so deep that a random walk finds
/// no end, tools are strict and describe theirs.
fn demands(format: &Format) -> Vec<(&'static str, Demand, Expected)> {
    let mut demands =
        [requests(), plain(), inputs::requests(format.traits.inputs, |grammar| format.carries(grammar))]
            .concat();
    if format.traits.nests {
        demands.retain(|(_, _, expected)| !matches!(expected, Expected::Free));
        for (_, request, _) in &mut demands {
            request.tools.retain(|tool| tool.schema != "{}");
            request.tools.iter_mut().for_each(|tool| tool.strict = true);
        }
    }
    demands
}

fn round_trip(format: Format) {
    for (name, request, expected) in demands(&format) {
        let expected = format.expected(name, expected);
        for markers in [Markers::Tokens, Markers::Text] {
            judge(&format, name, &request, expected, markers);
        }
    }
}

fn judge(format: &Format, name: &str, request: &Demand, expected: Expected, markers: Markers) {
    let needs_tokens = format.only_tokens(request) && markers == Markers::Text;
    match (expected, format.grammar(request, markers)) {
        (Expected::Free, Ok(None)) => {}
        (Expected::Refused(word) | Expected::Either(word), Err(error)) if error.contains(word) => {}
        (Expected::Constrained | Expected::Either(_), Err(error))
            if needs_tokens && error.contains("no token") => {}
        (Expected::Constrained | Expected::Either(_), Ok(Some(grammar))) if !needs_tokens => {
            let seeds = if format.table.is_some() { SEEDS_OF_A_TABLE } else { SEEDS };
            if let Err(error) = format.judge(request, &grammar, markers, 0..seeds) {
                panic!("{name}: {error}\n{grammar}");
            }
        }
        (expected, grammar) => panic!("{name}, {markers:?}: {expected:?} was expected, not {grammar:?}"),
    }
}

#[test]
fn the_oracle_notices_a_grammar_that_is_too_wide() {
    let (qwen3, mut checked) = (format("qwen3"), 0);
    for (name, request, expected) in requests() {
        if !matches!(expected, Expected::Constrained)
            || request.tool_choice != ToolChoice::Required
            || request.tools.len() < 3
        {
            continue;
        }
        let mut wider = request.clone();
        for tool in &mut wider.tools {
            tool.schema =
                r#"{"type":"object","properties":{"stray":{"type":"null"}},"required":["stray"]}"#.into();
        }
        let grammar =
            qwen3.grammar(&wider, Markers::Tokens).expect("it can be expressed").expect("it is demanded");
        assert!(qwen3.judge(&request, &grammar, Markers::Tokens, 0..8).is_err(), "{name}");
        checked += 1;
    }
    assert!(checked > 0, "no request demands one of three tools");
}

#[test]
fn oracle_notices_an_input_that_ignores_its_grammar() {
    let (_, request, _) = inputs::requests(Inputs::BeforeToken, |_| true).swap_remove(0);
    let mut free = request.clone();
    free.tools[0].grammar = None;
    let glm = format("glm");
    let grammar = glm.grammar(&free, Markers::Tokens).expect("it can be expressed").expect("it is demanded");
    let error = glm.judge(&request, &grammar, Markers::Tokens, 0..8).expect_err("the judge notices");
    assert!(error.contains("grammar"), "{error}");
}

#[test]
fn oracle_notices_a_grammar_that_ignores_the_choice() {
    let (_, request, _) = requests().swap_remove(0);
    let mut loose = request.clone();
    loose.tool_choice = ToolChoice::Auto;
    loose.tools[0].strict = true;
    let qwen3 = format("qwen3");
    let grammar =
        qwen3.grammar(&loose, Markers::Tokens).expect("it can be expressed").expect("it is demanded");
    let error = qwen3.judge(&request, &grammar, Markers::Tokens, 0..8).expect_err("the judge notices");
    assert!(error.contains("no call") || error.contains("message"), "{error}");
}
