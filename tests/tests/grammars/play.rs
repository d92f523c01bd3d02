//! Plays a walk to a parser as a host does: markers are found in the text, and chunks are cut
//! anywhere.

use contract::{FinishReason, Request};
use parser_kit::{Item, Player};
use parser_sdk::Parser;

use super::oracle::Markers;
use parsers::conformance::walk::WalkPiece;

/// Makes the tokens that only stand in markers, whose indices are those behind the markers', part
/// of the text around them.
pub(super) fn with_inner_as_text(
    pieces: &[WalkPiece],
    literals: &[String],
    inner: &[&str],
) -> Vec<WalkPiece> {
    let mut all: Vec<WalkPiece> = Vec::new();
    for piece in pieces {
        let text = match piece {
            WalkPiece::Text(text) => Some(text.as_str()),
            WalkPiece::Marker(index) => {
                (*index as usize).checked_sub(literals.len()).map(|index| inner[index])
            }
        };
        match (all.last_mut(), text) {
            (_, None) => all.push(piece.clone()),
            (Some(WalkPiece::Text(before)), Some(text)) => before.push_str(text),
            (_, Some(text)) => all.push(WalkPiece::Text(text.to_owned())),
        }
    }
    all
}

/// Replaces literals of markers that aren't tokens by markers in the text pieces.
pub(super) fn found_in(pieces: &[WalkPiece], literals: &[String], tokens: &[bool]) -> Vec<WalkPiece> {
    let mut found = Vec::new();
    for piece in pieces {
        let WalkPiece::Text(text) = piece else {
            found.push(piece.clone());
            continue;
        };
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let next = (0..rest.len()).find_map(|at| Some((at, spelt_at(rest, at, literals, tokens)?)));
            let (at, index) = next.unwrap_or((rest.len(), usize::MAX));
            if at > 0 {
                found.push(WalkPiece::Text(rest[..at].to_owned()));
            }
            rest = &rest[at..];
            if let Some(literal) = literals.get(index) {
                found.push(WalkPiece::Marker(u32::try_from(index).expect("few")));
                rest = &rest[literal.len()..];
            }
        }
    }
    found
}

/// Index of the longest marker whose literal is at `at`, among those that aren't tokens.
fn spelt_at(text: &str, at: usize, literals: &[String], tokens: &[bool]) -> Option<usize> {
    let rest = text.get(at..)?;
    let here = (0..literals.len()).filter(|index| !tokens[*index] && rest.starts_with(&literals[*index]));
    here.max_by_key(|index| literals[*index].len())
}

pub(super) fn play<P: Parser>(
    request: &Request,
    prompt: &str,
    pieces: &[WalkPiece],
    markers: Markers,
    cut: usize,
) -> Vec<Item> {
    let mut player = match markers {
        Markers::Tokens => Player::<P>::by_tokens(request),
        Markers::Text => Player::<P>::start(request),
    };
    player.prompt(prompt);
    for piece in pieces {
        match piece {
            WalkPiece::Marker(index) => player.marker(*index),
            WalkPiece::Text(text) => {
                for chunk in chunks(text, cut) {
                    player.feed(chunk);
                }
            }
        }
    }
    player.finish(FinishReason::Stop)
}

fn chunks(text: &str, bytes: usize) -> Vec<&str> {
    let mut chunks = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut at = bytes.min(rest.len());
        while !rest.is_char_boundary(at) {
            at += 1;
        }
        let (chunk, after) = rest.split_at(at);
        chunks.push(chunk);
        rest = after;
    }
    chunks
}
