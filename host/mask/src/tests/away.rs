//! Masks that threads of the pool compute: their values, who waits for them, and when they fail.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use engine::{JsonBegins, JsonConstraint, MaskError, TokenMask};

use super::{ROWS, TOKENIZER, allowed, compile, grammars, mask, stop};
use crate::{GrammarMask, Need, json_grammar};
use accounts::Caller;

/// Whether the mask is ready; doesn't wait.
fn is_ready(mask: &mut GrammarMask) -> bool {
    mask.poll_ready(&mut Context::from_waker(Waker::noop())).is_ready()
}

/// Waits for the mask as an engine does, by a waker.
fn wait(mask: &mut GrammarMask) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(std::future::poll_fn(|cx| mask.poll_ready(cx)));
}

#[test]
fn masks_along_a_draft_are_those_computed_singly() {
    let grammar = "start: /[a-f]{1,3}/ \"-\" /[0-9]+/";
    let ids = |text: &str| -> Vec<u32> {
        text.chars().flat_map(|one| TOKENIZER.encode_text(&one.to_string()).unwrap()).collect()
    };
    // The first refused token ends the draft's masks; the sequence may then continue differently
    // from the draft.
    for (draft, may_come, comes) in
        [("ab-7", 4, "ab-71"), ("abx7", 2, "ab-"), ("fx", 1, "a-"), ("abcd", 3, "c-")]
    {
        let (mut prepared, mut plain) = (mask(grammar), mask(grammar));
        let draft = ids(draft);
        prepared.prepare(&draft);
        wait(&mut prepared);
        for token in &draft[..may_come] {
            assert_eq!(allowed(&mut prepared), allowed(&mut plain));
            prepared.advance(*token).unwrap();
            plain.advance(*token).unwrap();
        }
        assert_eq!(allowed(&mut prepared), allowed(&mut plain));
        if let Some(token) = draft.get(may_come) {
            assert_eq!(prepared.advance(*token), Err(MaskError::Refused(*token)));
        }
        prepared.rollback(may_come).unwrap();
        plain.rollback(may_come).unwrap();
        for token in ids(comes) {
            assert_eq!(allowed(&mut prepared), allowed(&mut plain), "{draft:?}");
            prepared.advance(token).unwrap();
            plain.advance(token).unwrap();
            prepared.prepare(&[]);
            wait(&mut prepared);
        }
    }
}

#[test]
fn asking_for_ready_masks_waits_for_no_matcher() {
    let compiled = compile("start: /[a-f]{1,9}/ \"-\" | \"waits\"").unwrap();
    let start = compiled.start(&[], &Arc::from([stop()])).unwrap();
    let (mut one, mut other) = (start.mask(), start.mask());
    let a = TOKENIZER.encode_text("a").unwrap()[0];
    one.prepare(&[]);
    wait(&mut one);
    // Another answer computes a mask of the same grammar, and takes long.
    let lexer = compiled.lexer();
    let guard = lexer.lock();
    one.advance(a).unwrap();
    assert_eq!((one.validate(&[a]), forced(&mut one)), (0, Vec::new()), "drafts are done without");
    one.prepare(&[a]);
    other.prepare(&[]);
    assert!(!is_ready(&mut one) && !is_ready(&mut other));
    // An answer that ends meanwhile isn't waited for, and masks of other grammars don't wait
    // either.
    drop(other);
    let mut third = mask("start: \"other\"");
    third.prepare(&[]);
    wait(&mut third);
    drop(guard);
    wait(&mut one);
    assert!(allowed(&mut one).contains(&a));
    assert_eq!(one.validate(&[a, a]), 2);
}

fn forced(mask: &mut GrammarMask) -> Vec<u32> {
    let mut out = Vec::new();
    mask.forced(&mut out, 9);
    out
}

#[test]
fn masks_over_their_share_fail_their_answer() {
    let compiled =
        grammars(Duration::from_nanos(1)).compile("start: /[a-z]+/", &Caller::default(), Need::Demanded);
    let start = compiled.unwrap().start(&[], &Arc::from([stop()])).unwrap();
    let mut mask = start.mask();
    mask.prepare(&[]);
    wait(&mut mask);
    let error = mask.apply(&mut [u32::MAX; ROWS / 32]).unwrap_err();
    assert!(matches!(error, MaskError::TooSlow { tokens: 0, taken } if taken > Duration::from_nanos(200)));
    mask.prepare(&[]);
    assert_eq!(mask.poll_ready(&mut Context::from_waker(Waker::noop())), Poll::Ready(()));
    assert_eq!(mask.apply(&mut [u32::MAX; ROWS / 32]), Err(error));
}

#[test]
fn a_grammar_that_grows_too_large_on_the_way_says_so() {
    let part = |at: usize| {
        let properties = serde_json::json!({(format!("kind_{at}")): {"const": at}, "v": {"type": "integer"}});
        serde_json::json!({"type": "object", "properties": properties, "additionalProperties": false})
    };
    let schema = serde_json::json!({"anyOf": (0..2000).map(part).collect::<Vec<_>>()}).to_string();
    let constraint = JsonConstraint { schema, begins: JsonBegins::AtOnce };
    let mut mask = mask(&json_grammar(&constraint).unwrap());
    let error = TOKENIZER.encode_text("{\"kind_7\": 7}").unwrap().into_iter().find_map(|token| {
        mask.prepare(&[]);
        wait(&mut mask);
        let applied = mask.apply(&mut [u32::MAX; ROWS / 32]);
        applied.and_then(|()| mask.advance(token)).err()
    });
    assert!(
        matches!(&error, Some(MaskError::TooComplex(bound)) if bound.contains("max is 2000")),
        "{error:?}"
    );
}

#[test]
fn grammar_with_a_first_mask_of_seconds_is_refused() {
    let rule = |at: usize| format!("r{at}: \"a\" r{} | \"a\" start\n", (at * 7 + 1) % 900);
    let rules = (0..900).map(rule).collect::<Vec<_>>().concat();
    let any = (0..900).map(|at| format!("\"a\" r{at}")).collect::<Vec<_>>().join(" | ");
    let error = compile(&format!("start: {any}\n{rules}")).err().unwrap();
    assert_eq!(error.to_string(), "compiling it takes too long");
}
