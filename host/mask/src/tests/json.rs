//! Masks of JSON: where it begins, escapes, and digits of numbers.

use engine::{JsonBegins, JsonConstraint, TokenMask};

use super::{TOKENIZER, allowed, mask, stop, token, write, write_ids};
use crate::json_grammar;

/// Digits that may follow `text` in JSON of this schema before no other may, up to 99.
fn digits_behind(schema: &str, text: &str) -> usize {
    let begins = JsonBegins::AtOnce;
    let grammar = json_grammar(&JsonConstraint { schema: schema.to_owned(), begins }).unwrap();
    let mut mask = mask(&grammar);
    write(&mut mask, text).unwrap();
    let one = TOKENIZER.encode_text("1").unwrap()[0];
    (0..99).take_while(|_| allowed(&mut mask).contains(&one) && mask.advance(one).is_ok()).count()
}

#[test]
fn json_numbers_have_at_most_the_digits_of_doubles() {
    for schema in [
        r#"{"type": "number"}"#,
        r#"{"type": ["number", "null"]}"#,
        r#"{"type": ["string", "boolean", "number", "null"]}"#,
        r#"{"anyOf": [{"type": "number"}, {"enum": ["none", "all"]}]}"#,
        "{}",
        "true",
    ] {
        let places = [("1", 20), ("-1", 20), ("0.", 22), ("-1.5e", 3), ("2E+", 3), ("1e-", 3)];
        assert_eq!(places.map(|(text, _)| (text, digits_behind(schema, text))), places, "{schema}");
    }
    let inside = [r#"{"a": [1"#, r#"{"a": {"b": 1"#];
    assert_eq!(inside.map(|text| digits_behind(r#"{"type": "object"}"#, text)), [20; 2]);
    assert_eq!(digits_behind(r#"{"type": "array", "items": {"type": "number"}}"#, "[2, 0."), 22);
    let limits = |text: &str| format!(r#"{{"type": "number", {text}}}"#);
    assert_eq!(digits_behind(&limits(r#""minimum": 0, "maximum": 1"#), "0."), 22);
    assert_eq!(digits_behind(&limits(r#""multipleOf": 0.001"#), "1"), 18);
    assert_eq!(digits_behind(&limits(r#""exclusiveMinimum": 2.5"#), "7."), 22);
    assert_eq!(
        [digits_behind(&limits(r#""minimum": 0"#), "1"), digits_behind(&limits(r#""maximum": 0"#), "-1")],
        [20; 2]
    );
}

/// llguidance panics where it forces a token behind a lexeme whose end it doesn't see.
#[test]
fn token_may_follow_a_number_of_the_most_digits() {
    let limits = |text: &str| format!(r#"{{"type": "number", {text}}}"#);
    let end = token("</think>");
    for (schema, text) in [
        (r#"{"type": "number"}"#.to_owned(), "3E+942".to_owned()),
        (r#"{"type": ["array", "number", "null"]}"#.to_owned(), "-1.5e123".to_owned()),
        (limits(r#""minimum": -1.5, "maximum": 20"#), format!("6.4{}", "1".repeat(21))),
        (limits(r#""exclusiveMinimum": 0, "exclusiveMaximum": 1"#), format!("0.{}", "7".repeat(22))),
        (r#"{"type": "integer", "multipleOf": 3, "minimum": 0, "maximum": 9}"#.to_owned(), "9".to_owned()),
        (
            r#"{"allOf": [{"type": "number", "multipleOf": 3}, {"multipleOf": 5, "minimum": 0, "maximum": 1000}]}"#
                .to_owned(),
            "0".to_owned(),
        ),
    ] {
        let mut mask = mask(&format!("start: %json {schema} <[{end}]>"));
        write(&mut mask, &text).unwrap();
        assert!(allowed(&mut mask).contains(&end), "{schema} {text}");
        mask.advance(end).unwrap();
        assert_eq!(allowed(&mut mask), [stop()], "{schema} {text}");
    }
}

#[test]
fn digits_that_are_no_number_of_json_have_no_bound() {
    assert_eq!(digits_behind(r#"{"type": "string"}"#, "\"1"), 99);
    assert_eq!(digits_behind("{}", "\"1"), 99);
    let mut lark = mask(r"start: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/");
    write(&mut lark, &"1".repeat(99)).unwrap();
}

#[test]
fn json_begins_at_once_or_behind_reasoning() {
    let schema = r#"{"type":"object","properties":{"a":{"type":"boolean"}},"required":["a"],"additionalProperties":false}"#;
    let end = token("</think>");
    for (begins, before) in [
        (JsonBegins::AtOnce, &[][..]),
        (JsonBegins::After { text: "</think>".to_owned(), id: Some(end) }, &[end]),
    ] {
        let grammar = json_grammar(&JsonConstraint { schema: schema.to_owned(), begins }).unwrap();
        let mut mask = mask(&grammar);
        if !before.is_empty() {
            write(&mut mask, "So it is.").unwrap();
        }
        write_ids(&mut mask, before);
        write(&mut mask, "\n{\"a\": true}").unwrap();
        mask.advance(stop()).unwrap();
    }
    let begins = JsonBegins::After { text: "END".to_owned(), id: None };
    let grammar = json_grammar(&JsonConstraint { schema: schema.to_owned(), begins }).unwrap();
    let mut mask = mask(&grammar);
    write(&mut mask, "So it is. END{\"a\":false}").unwrap();
    mask.advance(stop()).unwrap();
}

#[test]
fn a_string_may_spell_any_character_as_an_escape() {
    let schema = r#"{"type":"string","maxLength":3}"#;
    let constraint = JsonConstraint { schema: schema.to_owned(), begins: JsonBegins::AtOnce };
    let grammar = json_grammar(&constraint).unwrap();
    for text in [r#""\u00e9\uD83D\ude00é""#, r#""\u0041\n""#, r#""\u001f""#] {
        let mut mask = mask(&grammar);
        write(&mut mask, text).unwrap();
        mask.advance(stop()).unwrap();
    }
    for text in [r#""\ud83d""#, r#""\u00e9\u00e9\u00e9\u00e9""#] {
        let ids = TOKENIZER.encode_text(text).unwrap();
        let mut mask = mask(&grammar);
        assert!(ids.iter().any(|id| mask.advance(*id).is_err()), "{text}");
    }
}
