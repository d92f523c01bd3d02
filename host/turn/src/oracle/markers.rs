//! Compares the marker matcher with the simplest one, which finds at each place the longest literal
//! there.

use std::sync::Arc;

use super::feed::{cut, longest, tokenized};
use crate::markers::{Found, Markers};
use crate::{MarkerTable, TokenText};

/// Part of the stream: text joined, or a marker by its index.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Marker(u32),
}

/// Checks that the markers found in `text`, cut by `sizes`, are the leftmost and of those the
/// longest, and that all else is text; also where some or all literals are tokens. Lists of
/// literals that no table can hold are skipped. `sizes` isn't empty.
pub fn check_markers(literals: &[String], text: &str, sizes: &[usize]) {
    let Ok(table) = MarkerTable::by_text(literals) else { return };
    let expected = plainly(literals, text);
    assert_eq!(found(table, &cut(text, sizes)), expected, "by text");
    for every in [1, 2] {
        let id = |index: usize| index.is_multiple_of(every).then(|| 100 + u32::try_from(index).expect("few"));
        let place = |literal: &str| literals.iter().position(|known| known == literal);
        let table = MarkerTable::new(literals, |literal| id(place(literal)?)).expect("usable as before");
        assert_eq!(found(table, &tokenized(text, literals, id, sizes)), expected, "one in {every} by id");
    }
}

fn plainly(literals: &[String], text: &str) -> Vec<Part> {
    let (mut parts, mut at) = (Vec::new(), 0);
    while at < text.len() {
        if let Some((index, length)) = longest(&text[at..], literals) {
            parts.push(Part::Marker(u32::try_from(index).expect("few")));
            at += length;
        } else {
            let end = text.ceil_char_boundary(at + 1);
            push_text(&mut parts, &text[at..end]);
            at = end;
        }
    }
    parts
}

fn found(table: MarkerTable, pieces: &[TokenText<'_>]) -> Vec<Part> {
    let (mut markers, mut parts) = (Markers::new(Arc::new(table)), Vec::new());
    let note = |found: Found<'_>, parts: &mut Vec<Part>| match found {
        Found::Text(text) => push_text(parts, text),
        Found::Marker(index, _) => parts.push(Part::Marker(index)),
    };
    for piece in pieces {
        markers.push(*piece, &mut |found| note(found, &mut parts));
    }
    markers.flush(&mut |found| note(found, &mut parts));
    let bytes: usize = pieces.iter().map(|piece| piece.text.len()).sum();
    assert_eq!(markers.taken(), bytes as u64, "every byte is counted");
    parts
}

fn push_text(parts: &mut Vec<Part>, text: &str) {
    assert!(!text.is_empty(), "text is never empty");
    match parts.last_mut() {
        Some(Part::Text(before)) => before.push_str(text),
        _ => parts.push(Part::Text(text.to_owned())),
    }
}
