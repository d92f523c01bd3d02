//! Bounds on reasoning: its end comes whole, once, and where a draft goes through it, too.

use std::sync::Arc;

use engine::TokenMask;

use super::{TOKENIZER, allowed, compile, mask, stop, token, write, write_ids};
use crate::GrammarMask;

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
