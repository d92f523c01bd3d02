//! Cuts text into pieces as a detokenizer does, and drives a turn over them.

use super::format::failure_code;
use crate::{FoldedItem, TokenText, Turn, TurnEnd, TurnEvent, TurnEvents, fold};
use contract::FinishReason;

/// Cuts `text` into pieces of `sizes` bytes, used over and over. As from a detokenizer, a character
/// comes with its last byte.
pub(super) fn cut<'a>(text: &'a str, sizes: &[usize]) -> Vec<TokenText<'a>> {
    let mut pieces = Vec::new();
    let (mut end, mut told) = (0, 0);
    for size in sizes.iter().cycle() {
        if told == text.len() {
            return pieces;
        }
        end = text.len().min(end + size);
        let whole = text.floor_char_boundary(end);
        pieces.push(TokenText::new(Some(1), &text[told..whole]));
        told = whole;
    }
    pieces
}

/// Cuts `text` as `cut` does, but each literal that has an id is one token.
pub(super) fn tokenized<'a>(
    text: &'a str,
    literals: &[impl AsRef<str>],
    id: impl Fn(usize) -> Option<u32>,
    sizes: &[usize],
) -> Vec<TokenText<'a>> {
    let mut pieces = Vec::new();
    let (mut told, mut at) = (0, 0);
    while at < text.len() {
        let Some((index, length)) = longest(&text[at..], literals) else {
            at = text.ceil_char_boundary(at + 1);
            continue;
        };
        if let Some(id) = id(index) {
            pieces.extend(cut(&text[told..at], sizes));
            pieces.push(TokenText::new(Some(id), &text[at..at + length]));
            told = at + length;
        }
        at += length;
    }
    pieces.extend(cut(&text[told..], sizes));
    pieces
}

/// The longest literal that `text` begins with: its index and length.
pub(super) fn longest(text: &str, literals: &[impl AsRef<str>]) -> Option<(usize, usize)> {
    let lengths = literals.iter().map(AsRef::as_ref).enumerate();
    let found = lengths.filter(|(_, literal)| text.starts_with(literal));
    found.map(|(index, literal)| (index, literal.len())).max_by_key(|(_, length)| *length)
}

/// Asserts that the bytes whose route is told, if any is, are the stream.
fn check_routes(events: &[TurnEvent], pieces: &[TokenText<'_>]) {
    let text = |event: &TurnEvent| match event {
        TurnEvent::Routed(routed) => Some(routed.text.clone()),
        _ => None,
    };
    if events.iter().any(|event| text(event).is_some()) {
        let stream: String = pieces.iter().map(|piece| piece.text).collect();
        assert_eq!(events.iter().filter_map(text).collect::<String>(), stream);
    }
}

/// Replays `prompt`, then feeds `pieces` in steps of `groups` pieces. Asserts that the events are
/// well-formed, that all tokens are counted, that bytes whose route is told are the stream, and that a server error comes from a fault of the
/// parser.
pub(super) fn driven(
    mut turn: Turn,
    prompt: &[TokenText<'_>],
    pieces: &[TokenText<'_>],
    groups: &[usize],
) -> (Vec<FoldedItem>, TurnEnd, Turn) {
    let mut out = TurnEvents::default();
    let mut all = TurnEvents::default();
    let mut rest = pieces;
    let _ = turn.replay(prompt, &mut out);
    for size in groups.iter().cycle() {
        let (step, later) = rest.split_at((*size).min(rest.len()));
        let _ = turn.step(step, &mut out);
        all.extend(out.drain());
        rest = later;
        if rest.is_empty() {
            break;
        }
    }
    let end = turn.finish(FinishReason::Stop, None, &mut all);
    let tokens = turn.tokens();
    let counted = tokens.reasoning + tokens.content + tokens.arguments + tokens.dropped;
    assert_eq!(counted as usize, pieces.iter().filter(|piece| piece.id.is_some()).count());
    assert!(turn.fault().is_some() || failure_code(&end) != "server_error", "{end:?}");
    check_routes(&all, pieces);
    (fold(all).expect("the events are well-formed"), end, turn)
}
