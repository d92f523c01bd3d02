//! JSON string escapes, both directions.

use contract::json_text::{Unescape, escape};
use proptest::prelude::*;

fn escaped(text: &str) -> String {
    let mut out = String::new();
    escape(text, &mut out);
    out
}

/// Decodes `pieces` one by one.
fn unescaped<'a>(pieces: impl IntoIterator<Item = &'a str>) -> String {
    let (mut decoder, mut out) = (Unescape::default(), String::new());
    for piece in pieces {
        decoder.push(piece, &mut out);
    }
    decoder.finish(&mut out);
    out
}

/// Each character on its own.
fn characters(text: &str) -> impl Iterator<Item = &str> {
    text.char_indices().map(|(at, character)| &text[at..at + character.len_utf8()])
}

#[test]
fn escaping_touches_only_what_json_forbids() {
    assert_eq!(
        escaped("a\"b\\c/é😀\u{7f}\n\r\t\u{8}\u{c}\u{1}\u{1f}"),
        "a\\\"b\\\\c/é😀\u{7f}\\n\\r\\t\\b\\f\\u0001\\u001f"
    );
}

#[test]
fn every_escape_is_decoded_even_cut_at_every_byte() {
    let text = r#"\"\\\/\b\f\n\r\t\u0041\u00e9\uD83D\uDE00é"#;
    assert_eq!(unescaped(characters(text)), "\"\\/\u{8}\u{c}\n\r\tAé😀é");
    assert_eq!(unescaped([text]), unescaped(characters(text)));
}

#[test]
fn what_is_no_valid_escape_is_kept_as_it_stands() {
    for text in
        [r"\x", r"\u12G", r"\u12é", r"\uD83D", r"\uD83Dx", r"\uDE00", r"\uD83D\x", r"\u", "\\", "a\"b\nc"]
    {
        assert_eq!(unescaped(characters(text)), text, "{text}");
    }
}

#[test]
fn what_follows_a_broken_escape_is_still_decoded() {
    for (text, decoded) in [
        (r"\uD83D\n", "\\uD83D\n"),
        (r"\uD83D\u0041", "\\uD83DA"),
        (r"\uD83D\uD83D\uDE00", "\\uD83D😀"),
        (r"\u12\n", "\\u12\n"),
        (r"\uD83D\u00\n", "\\uD83D\\u00\n"),
    ] {
        assert_eq!(unescaped(characters(text)), decoded, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn escaped_text_is_a_json_string_and_comes_back(text in any::<String>()) {
        let inside = escaped(&text);
        prop_assert_eq!(serde_json::from_str::<String>(&format!("\"{inside}\"")).unwrap(), &*text);
        prop_assert_eq!(unescaped(characters(&inside)), text);
    }

    #[test]
    fn decoding_does_not_depend_on_the_cuts(fragments in prop::collection::vec(prop::sample::select(
        &["\\", "u", "D83D", "\\uDE00", "\\uD83D", "00", "é", "n", "\"", "x"][..]), 0..12)) {
        let text = fragments.concat();
        prop_assert_eq!(unescaped(characters(&text)), unescaped([&*text]));
        prop_assert_eq!(unescaped(fragments), unescaped([&*text]));
    }
}
