//! Panics of llguidance and of the threads that compute masks: each ends its own answer, and the
//! next one gets a fresh grammar.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::task::{Context, Waker};

use engine::{MaskError, TokenMask};

use super::{GRAMMARS, compile, mask, stop, write};
use crate::Need;
use crate::pool::{LexerLock, MaskPool};
use accounts::Caller;

/// Waits for the prepared mask.
fn wait(mask: &mut super::GrammarMask) {
    while mask.poll_ready(&mut Context::from_waker(Waker::noop())).is_pending() {
        std::thread::yield_now();
    }
}

#[test]
fn panic_on_a_pools_thread_ends_its_work_alone() {
    let pool = MaskPool::new().unwrap();
    for is_slow in [false, true, false, true] {
        let (done, ended) = sync_channel::<()>(1);
        pool.spawn(LexerLock::default(), is_slow, move |_| {
            let _done = done;
            panic!("injected");
        });
        assert!(ended.recv().is_err(), "the work ended without a result");
        let (done, ended) = sync_channel(1);
        pool.spawn(LexerLock::default(), is_slow, move |_| done.send(()).unwrap());
        assert_eq!(ended.recv(), Ok(()));
    }
}

#[test]
fn panic_in_the_lexer_ends_answers_of_its_grammar_and_no_other() {
    let grammar = "start: \"lost\" /[a-z]{1,3}/";
    let compiled = compile(grammar).unwrap();
    let start = compiled.start(&[], &Arc::from([stop()])).unwrap();
    let (mut prepared, mut applied, mut other) = (start.mask(), start.mask(), mask("start: \"ab\""));
    assert!(compiled.panic_in_lexer().unwrap_err().contains("synthetic error"));
    for _ in 0..3 {
        prepared.prepare(&[]);
        wait(&mut prepared);
        let error = prepared.apply(&mut [u32::MAX; super::ROWS / 32]).unwrap_err();
        assert!(matches!(error, MaskError::Panicked(_)), "{error}");
    }
    let error = applied.apply(&mut [u32::MAX; super::ROWS / 32]).unwrap_err();
    assert!(matches!(error, MaskError::Panicked(_)), "{error}");
    assert!(applied.advance(0).is_err() && applied.validate(&[0]) == 0 && applied.rollback(1).is_err());
    write(&mut other, "ab").unwrap();
    // A start that was refused for it names no word of the library's.
    let error = compiled.start(&[], &Arc::from([stop()])).err().unwrap().to_string();
    assert_eq!(error, "the compiler of grammars fails at it");
    write(&mut mask(grammar), "lost").unwrap();
}

/// A pattern of many optional parts, wherever it stands: the first derivative alone would take
/// 800 MB, and more with different letters.
#[test]
fn patterns_of_too_many_ways_are_refused_where_they_are_compiled() {
    let grammars = super::grammars(super::MASK_TIME);
    let letters: String = ('a'..='z').cycle().take(20_000).flat_map(|letter| [letter, '?']).collect();
    for pattern in ["a?".repeat(20_000), letters, format!("x{{9}}{}", "(ab)?".repeat(3000))] {
        for grammar in [
            format!(r#"start: %json {{"type": "string", "pattern": "^{pattern}$"}}"#),
            format!(r#"start: "ab" %json {{"patternProperties": {{"^{pattern}$": {{}}}}}}"#),
            format!("start: \"said: \" /{pattern}/"),
        ] {
            let error = grammars
                .start(&grammar, &[], &Arc::from([stop()]), &Caller::default(), Need::Demanded)
                .err()
                .unwrap();
            assert!(error.to_string().starts_with("compiling it takes"), "{error}");
            assert_eq!(grammars.held_bytes(), 0);
        }
    }
}

/// What a mask made on its way to a limit goes with the grammar.
#[test]
fn grammar_that_is_refused_at_its_first_mask_holds_nothing() {
    let grammars = super::grammars(super::MASK_TIME);
    let grammar = format!(r#"start: %json {{"type": "string", "pattern": "^{}$"}}"#, "a?".repeat(1900));
    let opening = [(None, "\"a".to_owned())];
    let error = grammars
        .start(&grammar, &opening, &Arc::from([stop()]), &Caller::default(), Need::Demanded)
        .err()
        .unwrap();
    assert!(matches!(error, crate::GrammarError::Refused(_)), "{error}");
    assert_eq!(grammars.held_bytes(), 0);
}

#[test]
fn refused_grammar_leaves_the_cache() {
    let (grammar, stops) = ("start: \"nothing kept\"", Arc::from([stop()]));
    let opening = [(None, "Sure: ".to_owned())];
    assert!(GRAMMARS.start(grammar, &opening, &stops, &Caller::default(), Need::Demanded).is_err());
    assert!(!GRAMMARS.is_cached(grammar));
    assert!(GRAMMARS.start(grammar, &[], &stops, &Caller::default(), Need::Demanded).is_ok());
    assert!(GRAMMARS.is_cached(grammar));
}
