//! JSON schemas of every kind in every format, for an answer and for a tool's arguments: either a
//! schema is refused with a reason, or the mask allows what the schema allows and nothing else.
//! Walks through the mask are read by the format's parser and judged by an independent validator;
//! valid and invalid values are written as a model writes them and checked against the mask.

mod cases;
mod tally;
mod trial;
mod writing;

pub(crate) use cases::is_valid;

use cases::Case;
use registry::FORMATS;
use serde_json::json;
use tally::Tally;
use trial::{Role, Trial};
use writing::Writer;

use super::oracle::{Format, Markers};
use super::tables;

/// Number of walks through each grammar (`SLUICE_SCHEMA_WALKS`).
fn walks() -> u64 {
    std::env::var("SLUICE_SCHEMA_WALKS").map_or(1, |walks| walks.parse().expect("a number"))
}

fn every_schema(name: &str) {
    let format = format(name);
    let mut tally = Tally::of(format.format.traits.nests);
    for case in cases::all() {
        trial::try_case(&case, &format, walks(), &mut tally);
    }
    tally.report(name);
}

macro_rules! formats {
    ($($module:ident $name:literal;)*) => {
        $(#[test]
        fn $module() {
            every_schema($name);
        })*
    };
}
registry::with_formats!(formats);

#[test]
fn hermes() {
    every_schema("hermes");
}

/// Format through whose grammars tests walk, and in which they write values.
struct FormatCase {
    format: Format,
    writer: Writer,
}

/// A shipped format, or the table `hermes`, whose calls are those of `qwen3`.
fn format(name: &str) -> FormatCase {
    let (format, written_as) = match name {
        "hermes" => (tables::format("hermes"), "qwen3"),
        shipped => (super::format(shipped), shipped),
    };
    let written_as = FORMATS.iter().find(|format| format.name == written_as).expect("a format");
    FormatCase { format, writer: Writer(written_as.profile.writing) }
}

#[test]
fn a_grammar_that_is_too_wide_is_noticed() {
    let qwen3 = format("qwen3");
    let [narrow, wide] = [json!({"type": "integer", "maximum": 5}), json!({"type": "integer"})];
    for role in [Role::Answer, Role::Arguments] {
        let case = Case {
            name: "wide".into(),
            schema: narrow.clone(),
            valid: vec![json!(1)],
            invalid: vec![json!(9)],
        };
        let trial = Trial::new(&wide, &qwen3, role, Markers::Tokens).expect("a demand").expect("a grammar");
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
    let glm = format("glm");
    let [narrow, wide] =
        [json!({"type": "string", "enum": ["a"]}), json!({"type": "string", "enum": ["a", "b"]})];
    for role in [Role::Answer, Role::Arguments] {
        let case = Case {
            name: "narrow".into(),
            schema: wide.clone(),
            valid: vec![json!("a"), json!("b")],
            invalid: vec![],
        };
        let trial = Trial::new(&narrow, &glm, role, Markers::Text).expect("a demand").expect("a grammar");
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
            let format = format(name);
            let trial =
                Trial::new(&schema, &format, role, Markers::Tokens).expect("a demand").expect("a grammar");
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
