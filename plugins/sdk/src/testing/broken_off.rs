//! A stream that breaks off anywhere: its calls are prefixes of the whole stream's calls. An oracle of property tests and fuzz targets.

use super::case::{MarkerMode, Piece, by_marker};
use super::{AT_ONCE, Head, Item, Script};
use crate::{FinishReason, Parser, Payload, Request};

/// Breaks `output` off at up to `breaks` places, evenly spread (never inside a marker), as the token limit does: every call with JSON
/// arguments has the name of the whole stream's call, and its arguments are a prefix of that call's. An incomplete last call is exempt:
/// bytes that the parser held undecided, half a fence say, went out with it.
///
/// # Panics
/// A call isn't such a prefix, or the parser breaks the contract.
pub fn check_broken_off<P: Parser>(request: &Request, prompt: &str, output: &str, breaks: usize) {
    let pieces = by_marker(output, &P::describe(&request.options).expect("describe").markers);
    let whole = play_tokens::<P>(request, prompt, &pieces);
    let whole = json_calls(&whole);
    let places: usize = pieces.iter().map(places).sum();
    for place in (0..places).step_by(places.div_ceil(breaks.max(1)).max(1)) {
        let part = break_off(&pieces, place);
        let got = play_tokens::<P>(request, prompt, &part);
        let mut calls = json_calls(&got);
        calls.pop_if(|last| !last.complete);
        for (index, call) in calls.iter().enumerate() {
            let begins = |whole: &&Item| whole.head == call.head && whole.text.starts_with(&call.text);
            assert!(
                whole.get(index).is_some_and(begins),
                "{call:?}\nis not how it begins: {:?}\nof {part:?}\nin {pieces:?}",
                whole.get(index)
            );
        }
    }
}

/// The items of these pieces, each marker a token of its own. Calls inside reasoning count at once: whether they are drafts is the host's
/// concern, and depends on where the stream ends.
pub(super) fn play_tokens<P: Parser>(request: &Request, prompt: &str, pieces: &[Piece]) -> Vec<Item> {
    let (output, reason) = (pieces.to_vec(), FinishReason::Length);
    let mut request = request.clone();
    request.options.push(AT_ONCE.map(String::from).into());
    Script { request: &request, prompt, output, markers: MarkerMode::Id, reason }
        .play::<P>(&[usize::MAX], false)
}

/// The calls with JSON arguments.
pub(super) fn json_calls(items: &[Item]) -> Vec<&Item> {
    let is_json = |item: &&Item| matches!(&item.head, Head::ToolCall(call) if call.payload == Payload::Json);
    items.iter().filter(is_json).collect()
}

/// Number of places where the stream may break off before the end of this piece.
fn places(piece: &Piece) -> usize {
    match piece {
        Piece::Text(text) => text.chars().count(),
        Piece::Marker(..) => 1,
    }
}

/// The part of the stream before `place`.
fn break_off(pieces: &[Piece], mut place: usize) -> Vec<Piece> {
    let mut part = Vec::new();
    for piece in pieces {
        let here = places(piece);
        if place < here {
            if let (Piece::Text(text), 1..) = (piece, place) {
                part.push(Piece::Text(text.chars().take(place).collect()));
            }
            break;
        }
        place -= here;
        part.push(piece.clone());
    }
    part
}
