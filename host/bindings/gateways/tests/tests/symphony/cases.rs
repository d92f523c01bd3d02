//! Every case of every parser, read through the trait in any pieces.

use gateway_tests::{CUTS, Seen, each_case, read, texts};

use super::seen::{by_text, by_tokens, bytes, seen, started, tokens};

#[test]
fn text_in_any_pieces_gives_what_the_facade_does_and_each_byte_once() {
    let count = each_case(|case| {
        if !case.reads_text {
            return;
        }
        let text = texts(&case.output);
        let opening = texts(&case.opening);
        let expected = read(&case.reader, &case.request, &opening, &case.output, None, case.reason());
        for seed in 0..CUTS {
            let events = by_text(&mut started(case), &text, seed, case.is_whole);
            assert_eq!(bytes(&events), text, "{} cut by {seed}: {events:?}", case.name);
            assert_eq!(seen(&events), expected, "{} cut by {seed}: {events:?}", case.name);
        }
    });
    assert!(count > 800, "{count} cases");
}

fn by_its_tokens(case: &gateway_tests::Output) -> Vec<Seen> {
    let (opening, tokens) = (texts(&case.opening), Some(&case.tokens));
    read(&case.reader, &case.request, &opening, &case.output, tokens, case.reason())
}

#[test]
fn tokens_in_any_groups_give_what_the_facade_does_and_each_byte_and_token_once() {
    each_case(|case| {
        let (text, expected) = (texts(&case.output), by_its_tokens(case));
        for seed in 0..CUTS {
            let events = by_tokens(&mut started(case), &case.output, seed, case.is_whole, |_| false);
            assert_eq!(bytes(&events), text, "{} cut by {seed}: {events:?}", case.name);
            assert_eq!(seen(&events), expected, "{} cut by {seed}: {events:?}", case.name);
            let count = u32::try_from(case.output.len()).expect("few tokens");
            assert_eq!(tokens(&events), Some(count), "{} cut by {seed}: {events:?}", case.name);
        }
    });
}

/// A marker that is shown, as text of a message or an argument, can't be shown where its text is
/// hidden: its bytes are in no event.
#[test]
fn markers_whose_text_the_decoder_hides_are_markers_all_the_same() {
    each_case(|case| {
        let is_marker = |id: u32| case.reader.marker(id).is_some();
        let shown: String =
            case.output.iter().filter(|token| !is_marker(token.id)).map(|token| &*token.text).collect();
        let expected = by_its_tokens(case);
        for seed in 0..CUTS {
            let parser = &mut started(case);
            let events = by_tokens(parser, &case.output, seed, case.is_whole, |token| is_marker(token.id));
            assert_eq!(bytes(&events), shown, "{} cut by {seed}: {events:?}", case.name);
            let markers = &case.reader.plugin().descriptor().markers;
            let has_marker = |seen: &Seen| match seen {
                Seen::Reasoning(text) | Seen::Text(text) => {
                    markers.iter().any(|marker| text.contains(marker))
                }
                Seen::Call { .. } => false,
            };
            if !expected.iter().any(has_marker) {
                assert_eq!(seen(&events), expected, "{} cut by {seed}: {events:?}", case.name);
            }
        }
    });
}
