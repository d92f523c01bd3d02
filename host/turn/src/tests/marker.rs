//! Markers in the stream: by id, by text, held back, and bounded.

use super::{ids, literals, text};
use crate::markers::{Found, Markers};
use crate::{MarkerError, MarkerTable, TokenText};
use std::sync::Arc;

/// Feeds pieces and writes what is found: text as it is, markers as `#index`, and `|` after each
/// piece.
fn trace(table: MarkerTable, pieces: &[TokenText<'_>]) -> String {
    let mut markers = Markers::new(Arc::new(table));
    let mut trace = String::new();
    let note = |found: Found<'_>, trace: &mut String| match found {
        Found::Text(text) => trace.push_str(text),
        Found::Marker(index, _) => trace.extend(["#", &index.to_string()]),
    };
    for piece in pieces {
        markers.push(*piece, &mut |found| note(found, &mut trace));
        trace.push('|');
    }
    markers.flush(&mut |found| note(found, &mut trace));
    trace
}

fn by_text(of: &[&str]) -> MarkerTable {
    MarkerTable::by_text(&literals(of)).unwrap()
}

#[test]
fn text_that_cannot_become_a_marker_is_not_held_back() {
    assert_eq!(
        trace(by_text(&["<r>"]), &[text("ab<"), text("b <"), text("r"), text("> c")]),
        "ab|<b ||#0 c|"
    );
}

#[test]
fn the_leftmost_then_the_longest_literal_wins() {
    let table = || by_text(&["ab", "bcd", "abcd", "e"]);
    assert_eq!(trace(table(), &[text("xabcde")]), "x#2#3|");
    assert_eq!(trace(table(), &[text("xabc"), text("xbcd")]), "x|#0cx#1|");
}

#[test]
fn marker_prefixing_another_waits_for_the_decision() {
    let table = || by_text(&["</c>", "</c>!"]);
    assert_eq!(trace(table(), &[text("</c>"), text("!")]), "|#1|");
    assert_eq!(trace(table(), &[text("</c>"), text("?")]), "|#0?|");
    assert_eq!(trace(table(), &[text("</c>")]), "|#0");
}

#[test]
fn a_failed_prefix_may_contain_the_start_of_a_literal() {
    assert_eq!(trace(by_text(&["<<r>"]), &[text("<<<"), text("<r"), text(">")]), "<|<|#0|");
}

#[test]
fn look_alikes_are_text_and_not_held_where_ids_count() {
    let table = MarkerTable::new(&literals(&["<r>", "</r>"]), ids).unwrap();
    let marker = TokenText::new(Some(101), "</r>");
    assert_eq!(trace(table, &[text("<"), text("r>"), marker, text("</r>")]), "<|r>|#1|</r>|");
}

#[test]
fn marker_by_id_keeps_text_before_it_and_needs_none() {
    let table = || MarkerTable::new(&literals(&["<r>"]), ids).unwrap();
    assert_eq!(trace(table(), &[TokenText::new(Some(100), "\u{fffd}<r>")]), "\u{fffd}#0|");
    assert_eq!(trace(table(), &[TokenText::new(Some(100), "")]), "#0|");
}

#[test]
fn marker_by_id_decides_what_was_held_back_before_it() {
    let table = MarkerTable::new(&literals(&["<r>", "<x>"]), ids).unwrap();
    assert_eq!(trace(table, &[text("a<"), TokenText::new(Some(100), "<r>"), text("x>")]), "a|<#0|x>|");
}

#[test]
fn literal_in_a_longer_text_marker_is_matched_by_text() {
    let table = MarkerTable::new(&literals(&["<r>", "<r>\n"]), ids).unwrap();
    assert_eq!(trace(table, &[TokenText::new(Some(100), "<r>"), text("\n<r> ")]), "|#1#0 |");
}

#[test]
fn unusable_literals_are_refused_by_their_place() {
    let table = |of: &[&str]| MarkerTable::by_text(&literals(of)).unwrap_err();
    assert_eq!(table(&["a", ""]), MarkerError::Empty(1));
    assert_eq!(table(&["a", "b", "a"]), MarkerError::Twice(2));
    assert_eq!(table(&[&"a".repeat(257)]), MarkerError::TooLong(0));
    assert_eq!(MarkerTable::by_text(&vec![String::from("a"); 1025]).unwrap_err(), MarkerError::TooMany(1025));
}
