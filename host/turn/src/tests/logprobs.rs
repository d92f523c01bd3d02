//! Tokens with log-probabilities: each comes with the text that it begins in, however the stream is
//! cut.

use super::*;
use crate::oracle::{FRAGMENTS, tagged};
use crate::{StopPatterns, StopStrings, TokenLogprob, TokenLogprobs};
use proptest::prelude::*;

/// A token's text, the index of its item, and its offset in that item's text.
type Place = (String, usize, usize);

/// The items of a turn over `tokens`, fed in steps of `size`, and where its tokens stand in them.
fn places(
    mut turn: Turn,
    stop: &[&str],
    tokens: &[String],
    size: usize,
) -> (Vec<FoldedItem>, Vec<Place>, Turn) {
    let known: Vec<_> = tokens.iter().map(|token| Arc::new(logprobs(token))).collect();
    let (mut out, mut all) = (TurnEvents::default(), TurnEvents::default());
    let mut stop = StopStrings::new(StopPatterns::new(&literals(stop)));
    for step in known.chunks(size) {
        let texts = step.iter().map(|known| std::str::from_utf8(&known.chosen.bytes).unwrap());
        let pieces = step.iter().zip(texts);
        let pieces = pieces.map(|(known, text)| TokenText { logprobs: Some(known), ..token(text) });
        let _ = turn.step(&pieces.collect::<Vec<_>>(), &mut out);
        for event in out.drain() {
            stop.filter(event, &mut all);
        }
    }
    let _ = turn.finish(FinishReason::Stop, None, &mut out);
    for event in out {
        stop.filter(event, &mut all);
    }
    let places = found(&all);
    (fold(all).unwrap(), places, turn)
}

fn logprobs(text: &str) -> TokenLogprobs {
    TokenLogprobs { chosen: TokenLogprob { id: 1, bytes: text.into(), logprob: -0.5 }, top: Vec::new() }
}

fn found(events: &[TurnEvent]) -> Vec<Place> {
    let (mut found, mut items, mut told) = (Vec::new(), 0, 0);
    for event in events {
        match event {
            TurnEvent::Open(_) => (items, told) = (items + 1, 0),
            TurnEvent::Close(_) | TurnEvent::Routed(_) => {}
            TurnEvent::Text(delta) => {
                for token in &delta.tokens {
                    assert!(token.offset <= delta.len(), "{delta:?}");
                    let text = String::from_utf8(token.logprobs.chosen.bytes.clone()).unwrap();
                    found.push((text, items - 1, told + token.offset));
                }
                told += delta.len();
            }
        }
    }
    found
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

#[test]
fn a_token_belongs_to_the_item_of_its_first_byte() {
    let tokens = strings(&["<r>", "think", "</r>a", "b<", "c>", "v:{}", "</c>", "d"]);
    let (items, places, _) = places(tagged(0, false, false), &[], &tokens, 3);
    assert_eq!(items, [reasoning("think"), message("ab"), tool_call(1, "v", "{}"), message("d")]);
    assert_eq!(places, [("b<".to_owned(), 1, 1), ("d".to_owned(), 3, 0)]);
}

#[test]
fn white_space_that_is_trimmed_has_no_tokens() {
    let tokens = strings(&["\n", " a", " ", "b", " \n", "<r>", "x", "</r>", "\n\n", "c"]);
    let (items, places, _) = places(tagged(0, false, true), &[], &tokens, 1);
    assert_eq!(items, [message("a b"), reasoning("x"), message("c")]);
    let place = |text: &str, item, at| (text.to_owned(), item, at);
    assert_eq!(places, [place(" a", 0, 0), place(" ", 0, 1), place("b", 0, 2), place("c", 2, 0)]);
}

#[test]
fn a_stop_string_takes_its_tokens_with_it() {
    let tokens = strings(&["one", " E", "N", " EN", "D", " two"]);
    let (items, places, _) = places(tagged(0, false, false), &["END"], &tokens, 1);
    assert_eq!(items, [message("one EN ")]);
    let texts: Vec<_> = places.iter().map(|(text, _, at)| (text.as_str(), *at)).collect();
    assert_eq!(texts, [("one", 0), (" E", 3), ("N", 5), (" EN", 6)]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tokens_stand_where_their_text_stands_in_any_steps(
        tokens in prop::collection::vec(prop::sample::select(&FRAGMENTS[..]), 1..24),
        size in 1_usize..9, style in 0_u8..4, trim in any::<bool>(),
    ) {
        let tokens = strings(&tokens);
        let (items, one_by_one, turn) = places(tagged(0, false, trim), &[], &tokens, 1);
        prop_assert_eq!(&places(tagged(style, false, trim), &[], &tokens, size).1, &one_by_one);
        if !trim {
            prop_assert_eq!(one_by_one.len(), turn.tokens().content as usize);
        }
        for (token, item, at) in one_by_one {
            let (rest, token) = (&items[item].text[at..], if trim { token.trim() } else { &token });
            prop_assert!(rest.starts_with(token) || token.starts_with(rest), "{:?} at {:?}", token, rest);
        }
    }
}
