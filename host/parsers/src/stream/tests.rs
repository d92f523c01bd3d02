//! Properties of the aligner over random tokens, against a detokenizer that says the text of each.

use std::sync::Arc;

use proptest::prelude::*;
use turn::{MarkerTable, TokenText};

use super::aligner::{AlignError, Aligner};
use super::literals::TokenLiterals;

/// Bytes of each token: two markers, then pieces that spell them together, and halves of a character.
const TOKENS: [&[u8]; 12] =
    [b"<t>", b"</t>", b"<", b"t>", b"<t", b">", b"a", b" b", b"\xc3", b"\xa9", b"/t>", b"<t>x"];
/// Number of tokens that are markers.
const MARKERS: u32 = 2;
/// Tokens that spell no marker.
const HARMLESS: [u32; 6] = [0, 1, 6, 7, 8, 9];

fn aligner() -> Aligner {
    let literals = ["<t>", "</t>"].map(str::to_owned);
    let id = |literal: &str| u32::try_from(literals.iter().position(|one| one == literal)?).ok();
    let table = MarkerTable::new(&literals, id).expect("markers");
    Aligner::new(Arc::new(TokenLiterals::of(&table)))
}

/// Text of these tokens; of a broken character U+FFFD.
#[expect(clippy::unnecessary_wraps, reason = "a `Decode`")]
fn decode(ids: &[u32]) -> Option<String> {
    let bytes: Vec<u8> = ids.iter().flat_map(|id| TOKENS[*id as usize]).copied().collect();
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The text that each token adds, as soon as its characters are whole.
fn texts(ids: &[u32]) -> Vec<String> {
    let (mut shown, mut texts) = (0, Vec::new());
    for end in 1..=ids.len() {
        let whole = decode(&ids[..end]).expect("text");
        let is_open = ids[end - 1] == 8;
        let settled = if is_open { whole.len() - '\u{fffd}'.len_utf8() } else { whole.len() };
        texts.push(whole[shown..settled].to_owned());
        shown = settled;
    }
    texts
}

/// Where markers stand in the text.
type Places = Vec<(u32, usize)>;

/// The text of pieces, their ids, and where markers stand in it.
#[derive(Debug, Default, PartialEq)]
struct Told(String, Vec<u32>, Places);

impl Told {
    fn tell(&mut self, pieces: &[TokenText<'_>]) {
        for piece in pieces {
            if let Some(id) = piece.id.filter(|id| *id < MARKERS) {
                let literal = std::str::from_utf8(TOKENS[id as usize]).expect("a marker");
                self.2.push((id, self.0.len() + piece.text.len() - literal.len()));
                assert!(piece.text.ends_with(literal), "{piece:?}");
            }
            self.1.extend(piece.id);
            self.0.push_str(piece.text);
        }
    }
}

/// What one token a time tells.
fn one_by_one(ids: &[u32], texts: &[String]) -> Told {
    let mut told = Told::default();
    for (id, text) in ids.iter().zip(texts) {
        told.tell(&[TokenText::new(Some(*id), text)]);
    }
    told
}

/// Lengths of steps that are together `length` or more.
fn sizes(of: impl Strategy<Value = u32>) -> impl Strategy<Value = (Vec<u32>, Vec<usize>)> {
    (prop::collection::vec(of, 1..40), prop::collection::vec(1..9usize, 40))
}

/// The steps, each with its tokens and their text.
fn steps<'a>(ids: &'a [u32], texts: &[String], sizes: &[usize]) -> Vec<(&'a [u32], String)> {
    let (mut steps, mut at) = (Vec::new(), 0);
    for size in sizes {
        let end = ids.len().min(at + size);
        steps.push((&ids[at..end], texts[at..end].concat()));
        at = end;
    }
    steps.retain(|(ids, _)| !ids.is_empty());
    steps
}

proptest! {
    #[test]
    fn markers_are_where_their_tokens_are_in_steps_of_any_size((ids, sizes) in sizes(0..12u32)) {
        let texts = texts(&ids);
        let (mut aligner, mut told) = (aligner(), Told::default());
        for (ids, text) in steps(&ids, &texts, &sizes) {
            told.tell(&aligner.align(&text, ids, Some(&decode)).expect("aligned").pieces());
        }
        prop_assert_eq!(told, one_by_one(&ids, &texts));
    }

    #[test]
    fn without_a_function_that_decodes_look_alikes_are_refused_and_the_rest_is_right((ids, sizes) in sizes(0..12u32)) {
        let texts = texts(&ids);
        let (mut aligner, mut told, mut at) = (aligner(), Told::default(), 0);
        for (ids, text) in steps(&ids, &texts, &sizes) {
            match aligner.align(&text, ids, None) {
                Ok(aligned) => told.tell(&aligned.pieces()),
                Err(error) => {
                    prop_assert!(matches!(error, AlignError::LookAlike { .. }), "{}", error);
                    for (id, text) in ids.iter().zip(&texts[at..]) {
                        told.tell(&aligner.align(text, &[*id], None).expect("one token").pieces());
                    }
                }
            }
            at += ids.len();
        }
        prop_assert_eq!(told, one_by_one(&ids, &texts));
    }

    #[test]
    fn text_may_come_later_than_its_ids(
        (ids, sizes) in sizes(prop::sample::select(&HARMLESS[..])),
        late in prop::collection::vec(0..12usize, 40),
    ) {
        let texts = texts(&ids);
        let (mut aligner, mut told, mut kept) = (aligner(), Told::default(), String::new());
        for ((ids, text), late) in steps(&ids, &texts, &sizes).into_iter().zip(late) {
            kept.push_str(&text);
            let later = kept.split_off(kept.floor_char_boundary(kept.len().saturating_sub(late)));
            told.tell(&aligner.align(&kept, ids, Some(&decode)).expect("aligned").pieces());
            kept = later;
        }
        told.tell(&aligner.align(&kept, &[], Some(&decode)).expect("aligned").pieces());
        let (rest, last) = aligner.finish();
        prop_assert!(rest.is_empty() && last.is_none());
        let whole = one_by_one(&ids, &texts);
        prop_assert_eq!((&told.0, &told.2), (&whole.0, &whole.2));
        prop_assert_eq!(told.1, ids);
    }

    #[test]
    fn nothing_is_lost_where_markers_have_no_text((ids, sizes) in sizes(prop::sample::select(&HARMLESS[..]))) {
        let texts: Vec<String> = ids.iter().zip(texts(&ids)).map(|(id, text)| if *id < MARKERS { String::new() } else { text }).collect();
        let (mut aligner, mut told) = (aligner(), Told::default());
        for (ids, text) in steps(&ids, &texts, &sizes) {
            told.tell(&aligner.align(&text, ids, Some(&decode)).expect("aligned").pieces());
        }
        let (rest, last) = aligner.finish();
        told.tell(&rest.pieces());
        let mut all = told.1;
        all.extend(last);
        all.sort_unstable();
        let mut expected = ids.clone();
        expected.sort_unstable();
        prop_assert_eq!(all, expected);
        let plain = told.0.replace("<t>", "").replace("</t>", "");
        prop_assert_eq!(plain, texts.concat().replace("<t>", "").replace("</t>", ""));
    }
}

#[test]
fn a_marker_whose_text_never_comes_is_an_error_that_takes_nothing() {
    let mut aligner = aligner();
    let text = "a".repeat(4000);
    assert!(aligner.align(&text, &[0], Some(&decode)).expect("it waits").is_empty());
    let error = aligner.align(&text, &[6], Some(&decode)).expect_err("too much waits");
    assert_eq!(error, AlignError::NotInText { literal: "<t>".to_owned(), id: 0 });
    let (rest, last) = aligner.finish();
    assert_eq!((rest.pieces(), last), (vec![TokenText::new(None, &text)], Some(0)));
}
