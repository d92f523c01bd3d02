//! Masks over the embedded model's tokenizer, which has `<think>` and `<tool_call>` as tokens.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use engine::{JsonBegins, JsonConstraint, MaskError, ModelFiles, TokenMask};

use super::{CompiledGrammar, GrammarError, GrammarMask, Grammars, json_grammar};
use crate::accounts::Caller;
use crate::fixture::grammar_share;
use crate::limits::Limits;
use crate::prompt::Tokenizer;

mod away;
mod sentence_piece;

static TOKENIZER: LazyLock<Arc<Tokenizer>> = LazyLock::new(|| {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/qwen3-tiny");
    Arc::new(Tokenizer::load(&ModelFiles::Directory(folder)).unwrap())
});
static GRAMMARS: LazyLock<Grammars> = LazyLock::new(|| grammars(Limits::default().mask_time));
/// Number of logits, more than the tokenizer has tokens, as in real models.
const ROWS: usize = 768;

fn grammars(mask_time: Duration) -> Grammars {
    Grammars::new(Arc::clone(&TOKENIZER), mask_time, grammar_share())
}

fn compile(grammar: &str) -> Result<CompiledGrammar, GrammarError> {
    GRAMMARS.compile(grammar, &Caller::default())
}

fn token(literal: &str) -> u32 {
    TOKENIZER.token_id(literal).unwrap()
}

fn stop() -> u32 {
    token("<|im_end|>")
}

fn mask(grammar: &str) -> GrammarMask {
    compile(grammar).unwrap().start(&[], &Arc::from([stop()])).unwrap().mask()
}

/// Ids that the mask allows next.
fn allowed(mask: &mut GrammarMask) -> Vec<u32> {
    let mut words = [u32::MAX; ROWS / 32];
    mask.apply(&mut words).unwrap();
    (0..).take(ROWS).filter(|id| words[*id as usize / 32] >> (id % 32) & 1 == 1).collect()
}

fn write(mask: &mut GrammarMask, text: &str) -> Result<(), MaskError> {
    TOKENIZER.encode_text(text).unwrap().into_iter().try_for_each(|id| {
        assert!(allowed(mask).contains(&id), "{:?} of {text:?}", TOKENIZER.decode(&[id]));
        mask.advance(id)
    })
}

fn write_ids(mask: &mut GrammarMask, ids: &[u32]) {
    ids.iter().try_for_each(|id| mask.advance(*id)).unwrap();
}

#[test]
fn mask_allows_what_continues_the_grammar_and_its_end() {
    let mut mask = mask("start: \"ab\" \"c\"?");
    assert!(allowed(&mut mask).iter().all(|id| "abc".starts_with(&TOKENIZER.decode(&[*id]).unwrap())));
    write(&mut mask, "ab").unwrap();
    assert!(allowed(&mut mask).contains(&stop()));
    write(&mut mask, "c").unwrap();
    assert_eq!(allowed(&mut mask), [stop()]);
    mask.advance(stop()).unwrap();
    assert_eq!(allowed(&mut mask), [stop()]);
    assert_eq!(mask.advance(token("<think>")), Err(MaskError::Refused(token("<think>"))));
}

#[test]
fn stop_token_named_by_the_grammar_ends_the_answer() {
    let mut mask = mask(&format!("start: \"ab\" <[{}]> \"c\"", stop()));
    assert_eq!(mask.advance(stop()), Err(MaskError::Refused(stop())));
    write(&mut mask, "ab").unwrap();
    assert_eq!(allowed(&mut mask), [stop()]);
    mask.advance(stop()).unwrap();
    assert_eq!(allowed(&mut mask), [stop()]);
}

#[test]
fn misplaced_end_or_foreign_token_changes_nothing() {
    let mut mask = mask("start: \"ab\"");
    for id in [stop(), token("<think>"), 767, u32::MAX] {
        assert_eq!(mask.advance(id), Err(MaskError::Refused(id)));
    }
    write(&mut mask, "ab").unwrap();
    mask.advance(stop()).unwrap();
}

#[test]
fn text_and_control_tokens_are_never_each_other() {
    let mut free = mask("start: /(?s:.*)/");
    let (think, plain) = (token("<think>"), TOKENIZER.encode_text("<think>").unwrap());
    assert!(!allowed(&mut free).contains(&think));
    write(&mut free, "<think>").unwrap();
    let mut marked = mask(&format!("start: <[{think}]>"));
    assert_eq!(allowed(&mut marked), [think]);
    assert_eq!(marked.advance(plain[0]), Err(MaskError::Refused(plain[0])));
}

#[test]
fn drafts_are_validated_taken_and_taken_back() {
    let mut mask = mask("start: \"abc\" | \"abd\"");
    let ids = |text: &str| TOKENIZER.encode_text(text).unwrap();
    let draft = [ids("abx"), vec![stop()]].concat();
    assert_eq!(mask.validate(&draft), ids("ab").len());
    let before = allowed(&mut mask);
    let good = [ids("abc"), vec![stop()]].concat();
    write_ids(&mut mask, &good);
    assert_eq!(mask.validate(&ids("a")), 0);
    mask.rollback(good.len()).unwrap();
    assert_eq!(allowed(&mut mask), before);
    write_ids(&mut mask, &good);
}

#[test]
fn what_was_prepared_is_what_would_be_computed() {
    let grammar = "start: /[a-f]{1,3}/ \"-\" /[0-9]+/";
    let (mut prepared, mut plain) = (mask(grammar), mask(grammar));
    for text in ["a", "b", "-", "7", "1"] {
        prepared.prepare(&[]);
        prepared.prepare(&[]);
        assert_eq!(allowed(&mut prepared), allowed(&mut plain));
        let id = TOKENIZER.encode_text(text).unwrap()[0];
        prepared.prepare(&[]);
        prepared.advance(id).unwrap();
        plain.advance(id).unwrap();
        prepared.prepare(&[]);
        assert_eq!(prepared.validate(&[id]), plain.validate(&[id]));
    }
    prepared.prepare(&[]);
    prepared.rollback(3).unwrap();
    plain.rollback(3).unwrap();
    assert_eq!(allowed(&mut prepared), allowed(&mut plain));
    prepared.prepare(&[]);
    drop(prepared);
}

#[test]
fn sole_continuation_is_forced_as_prompts_are_encoded() {
    let mut mask = mask("start: \"Helsinki is in Finland.\" /[a-z]/");
    let mut forced = Vec::new();
    mask.forced(&mut forced, 4);
    assert_eq!(forced, TOKENIZER.encode_text("Helsinki is in Finland.").unwrap()[..4]);
    assert_eq!(mask.validate(&forced), 4);
}

#[test]
fn an_opening_is_replayed_or_refused() {
    let (think, end) = (token("<think>"), token("</think>"));
    let compiled = compile(&format!("start: (<[{think}]> /(?s:.*)/ <[{end}]>)? \"yes\"")).unwrap();
    let stops = Arc::from([stop()]);
    let opening = [(Some(think), "<think>".to_owned()), (None, "\n".to_owned())];
    let mut mask = compiled.start(&opening, &stops).unwrap().mask();
    write(&mut mask, "no, ").unwrap();
    mask.advance(end).unwrap();
    write(&mut mask, "yes").unwrap();
    let error = compiled.start(&[(None, "Sure: ".to_owned())], &stops).err().unwrap().to_string();
    assert_eq!(error, "the model's template opens an answer with \"Sure: \", which the grammar doesn't know");
}

/// What a model writes that thinks for ever: it writes text wherever it may.
fn written(mut mask: GrammarMask) -> Vec<u32> {
    let mut written = Vec::new();
    while !allowed(&mut mask).contains(&stop()) {
        let text =
            allowed(&mut mask).into_iter().find(|id| TOKENIZER.decode(&[*id]).is_ok_and(|text| text == "x"));
        let next = text.unwrap_or_else(|| allowed(&mut mask)[0]);
        mask.prepare(&[]);
        mask.advance(next).unwrap();
        written.push(next);
    }
    written
}

#[test]
fn reasoning_alone_ends_at_its_bound() {
    let (think, end) = (token("<think>"), token("</think>"));
    let grammar = format!("start: <[{think}]> /(?s:.*)/ <[{end}]> /[a-z]{{9}}/");
    let written = written(mask(&grammar).with_reasoning_bound(Arc::from([end]), 6));
    assert_eq!(TOKENIZER.decode(&written).unwrap(), "<think>xxxxx</think>xxxxxxxxx");
}

/// A format in which the markers that end reasoning stand elsewhere, too, and the tokens of its end
/// of reasoning: two markers, text, a marker.
fn tagged() -> (String, Arc<[u32]>) {
    let (open, close, shut) = (token("<think>"), token("</think>"), token("<tool_call>"));
    let grammar = format!(
        "start: <[{open}]> \"think\" <[{shut}]> text <[{close}]> \"think\" <[{shut}]> <[{open}]> \"response\" <[{shut}]> text <[{close}]> \"response\" <[{shut}]>\ntext: /(?s:.*)/"
    );
    let opening = [(None, String::new())];
    let start = compile(&grammar).unwrap().start(&opening, &Arc::from([stop()])).unwrap();
    let end = [
        (Some(close), String::new()),
        (None, "think".to_owned()),
        (Some(shut), String::new()),
        (Some(open), String::new()),
        (None, "response".to_owned()),
        (Some(shut), String::new()),
    ];
    (grammar, start.tokenize(&end))
}

#[test]
fn reasoning_end_of_many_tokens_comes_whole_and_once() {
    let (grammar, end) = tagged();
    assert!(end.len() > 6, "texts have several tokens: {end:?}");
    let mut mask = mask(&grammar).with_reasoning_bound(Arc::clone(&end), 20);
    let opening = [token("<think>"), TOKENIZER.encode_text("think").unwrap()[0]];
    let mut came = Vec::new();
    while came.len() < 30 + end.len() {
        let row = allowed(&mut mask);
        let text = row.iter().copied().find(|id| TOKENIZER.decode(&[*id]).is_ok_and(|text| text == "x"));
        let next = text.unwrap_or(row[0]);
        if came.len() % 2 == 0 {
            mask.prepare(&[]);
        }
        mask.advance(next).unwrap();
        came.push(next);
    }
    assert_eq!(came[0], opening[0]);
    assert_eq!(came[20..20 + end.len()], *end);
    assert_eq!(TOKENIZER.decode(&came[20 + end.len()..]).unwrap(), "xxxxxxxxxx");
}

#[test]
fn a_rollback_takes_the_end_of_reasoning_back() {
    let (grammar, end) = tagged();
    let mut mask = mask(&grammar).with_reasoning_bound(Arc::clone(&end), 0);
    write_ids(&mut mask, &[token("<think>")]);
    write(&mut mask, "think").unwrap();
    write_ids(&mut mask, &[token("<tool_call>")]);
    for back in [1, 3, end.len()] {
        for id in &*end {
            assert_eq!(allowed(&mut mask), [*id]);
            mask.advance(*id).unwrap();
        }
        assert!(allowed(&mut mask).len() > 1);
        mask.rollback(back).unwrap();
        for id in &end[end.len() - back..] {
            assert_eq!(allowed(&mut mask), [*id], "{back} tokens back");
            mask.advance(*id).unwrap();
        }
        mask.rollback(end.len()).unwrap();
    }
}

#[test]
fn draft_through_reasoning_end_has_its_places_masks() {
    let (grammar, end) = tagged();
    let fresh = || {
        let mut mask = mask(&grammar).with_reasoning_bound(Arc::clone(&end), 10);
        write_ids(&mut mask, &[token("<think>")]);
        write(&mut mask, "think").unwrap();
        write_ids(&mut mask, &[token("<tool_call>")]);
        mask
    };
    let x = TOKENIZER.encode_text("x").unwrap()[0];
    let draft: Vec<u32> = std::iter::repeat_n(x, 4).chain(end.iter().copied()).collect();
    let (mut drafted, mut alone) = (fresh(), fresh());
    drafted.prepare(&draft);
    for id in draft {
        assert_eq!(allowed(&mut drafted), allowed(&mut alone));
        if allowed(&mut alone).contains(&id) {
            drafted.advance(id).unwrap();
            alone.advance(id).unwrap();
        }
    }
}

#[test]
fn reasoning_end_waits_for_the_end_of_a_character() {
    let (think, end) = (token("<think>"), token("</think>"));
    let mut mask =
        mask(&format!("start: <[{think}]> /(?s:.*)/ <[{end}]>")).with_reasoning_bound(Arc::from([end]), 2);
    let ids = TOKENIZER.encode_text("\u{1F600}").unwrap();
    assert!(ids.len() > 2, "the character has several tokens: {ids:?}");
    mask.advance(think).unwrap();
    for id in ids {
        assert_ne!(allowed(&mut mask), [end]);
        mask.advance(id).unwrap();
    }
    assert_eq!(allowed(&mut mask), [end]);
}

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

#[test]
fn digits_that_are_no_number_of_json_have_no_bound() {
    assert_eq!(digits_behind(r#"{"type": "string"}"#, "\"1"), 99);
    assert_eq!(digits_behind("{}", "\"1"), 99);
    let mut lark = mask(r"start: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/");
    write(&mut lark, &"1".repeat(99)).unwrap();
}

#[test]
fn grammar_compiles_once_and_its_answers_are_apart() {
    let start = |grammar| compile(grammar).unwrap().start(&[], &Arc::from([stop()])).unwrap();
    let (one, other) = (start("start: \"ab\""), start("start: \"ab\""));
    let (mut first, mut second) = (one.mask(), other.mask());
    write(&mut first, "ab").unwrap();
    write(&mut second, "ab").unwrap();
    write(&mut one.mask(), "ab").unwrap();
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

#[test]
fn what_is_too_much_is_refused() {
    let large = format!("start: \"{}\"", "x".repeat(5 << 20));
    assert!(compile(&large).err().unwrap().to_string().contains("at most"));
    let error = compile("start: /(((((a{1,500}){1,500}){1,500}){1,500})/").err().unwrap();
    assert!(!error.to_string().contains('\n'), "{error}");
}

#[test]
fn nothing_is_compiled_for_a_client_that_has_left() {
    let (grammar, left) = ("start: \"for nobody\"", Caller::default());
    drop(left.waits());
    assert_eq!(GRAMMARS.compile(grammar, &left).err(), Some(GrammarError::Left));
    assert!(GRAMMARS.compile(grammar, &Caller::default()).is_ok());
    // It is compiled already.
    assert!(GRAMMARS.compile(grammar, &left).is_ok());
}
