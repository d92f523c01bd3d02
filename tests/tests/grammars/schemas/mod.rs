//! JSON schemas of every kind in every format, for an answer and for a tool's arguments: either a
//! schema is refused with a reason, or the mask allows what the schema allows and nothing else.
//! Walks through the mask are read by the format's parser and judged by an independent validator;
//! valid and invalid values are written as a model writes them and checked against the mask.

mod cases;
mod formats;
mod tally;
mod trial;
mod writing;

pub(crate) use cases::is_valid;

use cases::Case;
use serde_json::json;
use tally::Tally;
use trial::{Role, Trial};

use super::oracle::Markers;

/// Number of walks through each grammar (`SLUICE_SCHEMA_WALKS`).
fn walks() -> u64 {
    std::env::var("SLUICE_SCHEMA_WALKS").map_or(1, |walks| walks.parse().expect("a number"))
}

fn every_schema(name: &str) {
    let mut tally = Tally::of(name);
    for case in cases::all() {
        trial::try_case(&case, format(name), walks(), &mut tally);
    }
    tally.report(name);
}

#[test]
fn schemas_in_qwen3() {
    every_schema("qwen3");
}

#[test]
fn schemas_in_hermes() {
    every_schema("hermes");
}

#[test]
fn schemas_in_qwen3_coder() {
    every_schema("qwen3-coder");
}

#[test]
fn schemas_in_glm() {
    every_schema("glm");
}

#[test]
fn schemas_in_minimax_m2() {
    every_schema("minimax-m2");
}

#[test]
fn schemas_in_minimax_m3() {
    every_schema("minimax-m3");
}

#[test]
fn schemas_in_kimi_k2() {
    every_schema("kimi-k2");
}

#[test]
fn schemas_in_deepseek_v3() {
    every_schema("deepseek-v3");
}

#[test]
fn schemas_in_harmony() {
    every_schema("harmony");
}

#[test]
fn schemas_in_llama3() {
    every_schema("llama3");
}

#[test]
fn schemas_in_mistral() {
    every_schema("mistral");
}

#[test]
fn schemas_in_gemma4() {
    every_schema("gemma4");
}

#[test]
fn schemas_in_pythonic() {
    every_schema("pythonic");
}

#[test]
fn schemas_in_apertus() {
    every_schema("apertus");
}

#[test]
fn schemas_in_hunyuan() {
    every_schema("hunyuan");
}

#[test]
fn schemas_in_muse() {
    every_schema("muse");
}

#[test]
fn schemas_in_deepseek_v4() {
    every_schema("deepseek-v4");
}

#[test]
fn schemas_in_kimi_k3() {
    every_schema("kimi-k3");
}

fn format(name: &str) -> &'static formats::FormatCase {
    formats::ALL.iter().find(|case| case.name == name).expect("a format")
}

#[test]
fn a_grammar_that_is_too_wide_is_noticed() {
    let [narrow, wide] = [json!({"type": "integer", "maximum": 5}), json!({"type": "integer"})];
    for role in [Role::Answer, Role::Arguments] {
        let case = Case {
            name: "wide".into(),
            schema: narrow.clone(),
            valid: vec![json!(1)],
            invalid: vec![json!(9)],
        };
        let trial =
            Trial::new(&wide, format("qwen3"), role, Markers::Tokens).expect("a demand").expect("a grammar");
        let mut tally = Tally::default();
        trial::try_values(&case, &trial, "wide", &mut tally);
        assert_eq!(tally.faults, ["wide lets through 9"]);
        let trial = trial.demanding(&narrow);
        let judged: Vec<_> = (0..8).map(|seed| trial.walk(seed)).collect();
        assert!(
            judged.iter().any(|judged| judged.as_ref().is_err_and(|error| error.contains("maximum"))),
            "{judged:?}"
        );
    }
}

#[test]
fn a_grammar_that_is_too_narrow_is_noticed() {
    let [narrow, wide] =
        [json!({"type": "string", "enum": ["a"]}), json!({"type": "string", "enum": ["a", "b"]})];
    for role in [Role::Answer, Role::Arguments] {
        let case = Case {
            name: "narrow".into(),
            schema: wide.clone(),
            valid: vec![json!("a"), json!("b")],
            invalid: vec![],
        };
        let trial =
            Trial::new(&narrow, format("glm"), role, Markers::Text).expect("a demand").expect("a grammar");
        let mut tally = Tally::default();
        trial::try_values(&case, &trial, "narrow", &mut tally);
        assert_eq!(tally.faults, ["narrow keeps out \"b\""]);
    }
}

#[test]
fn an_integer_has_as_many_digits_as_64_bits() {
    let (longest, longer) = (json!(9_223_372_036_854_774_784_i64), json!(u64::MAX));
    for schema in [
        json!({"type": "integer"}),
        json!({"type": "integer", "minimum": -5}),
        json!({"type": ["integer", "null"]}),
    ] {
        for (name, role) in [("qwen3", Role::Answer), ("qwen3", Role::Arguments), ("glm", Role::Arguments)] {
            let valid = vec![json!(0), json!(-3), longest.clone(), longer.clone()];
            let case = Case { name: "integer".into(), schema: schema.clone(), valid, invalid: vec![] };
            let trial = Trial::new(&schema, format(name), role, Markers::Tokens)
                .expect("a demand")
                .expect("a grammar");
            let mut tally = Tally::default();
            trial::try_values(&case, &trial, "integer", &mut tally);
            assert_eq!(tally.faults, [format!("integer keeps out {longer}")], "{schema} in {name}");
        }
    }
}

#[test]
fn the_validator_agrees_with_the_data() {
    for case in cases::ours() {
        for (values, is_valid) in [(&case.valid, true), (&case.invalid, false)] {
            for value in values {
                assert_eq!(cases::is_valid(&case.schema, value).is_ok(), is_valid, "{}: {value}", case.name);
            }
        }
    }
}
