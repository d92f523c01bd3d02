//! Masks over the embedded model's tokenizer, which has `<think>` and `<tool_call>` as tokens.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use engine::{MaskError, ModelFiles, TokenMask};

use super::{CompiledGrammar, GrammarError, GrammarMask, GrammarShare, Grammars, Need};
use accounts::Caller;
use parsers::CompileCache;
use prompt::Tokenizer;

mod away;
mod json;
mod panics;
mod reasoning;
mod sentence_piece;

static TOKENIZER: LazyLock<Arc<Tokenizer>> = LazyLock::new(|| {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/qwen3-tiny");
    Arc::new(Tokenizer::load(&ModelFiles::Directory(folder)).unwrap())
});
static GRAMMARS: LazyLock<Grammars> = LazyLock::new(|| grammars(MASK_TIME));
/// CPU time of masks, per token on average.
const MASK_TIME: Duration = Duration::from_millis(5);
/// Number of logits, more than the tokenizer has tokens, as in real models.
const ROWS: usize = 768;

/// What the grammars of a test share; the cache is that of all tests.
pub(crate) fn grammar_share() -> Arc<GrammarShare> {
    let cache = CompileCache::open(&std::env::temp_dir().join("sluice-tests/parsers")).unwrap();
    Arc::new(GrammarShare::new(Some(cache)))
}

fn grammars(mask_time: Duration) -> Grammars {
    Grammars::new(Arc::clone(&TOKENIZER), mask_time, grammar_share())
}

fn compile(grammar: &str) -> Result<CompiledGrammar, GrammarError> {
    GRAMMARS.compile(grammar, &Caller::default(), Need::Demanded)
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
    assert_eq!(GRAMMARS.compile(grammar, &left, Need::Demanded).err(), Some(GrammarError::Left));
    assert!(GRAMMARS.compile(grammar, &Caller::default(), Need::Demanded).is_ok());
    // It is compiled already.
    assert!(GRAMMARS.compile(grammar, &left, Need::Demanded).is_ok());
}
