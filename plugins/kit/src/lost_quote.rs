//! Quotes that a model leaves out: a marker behind a call, as a token of its own, breaks the call
//! off where it comes inside a string of the call's JSON, and what follows is read as it is behind
//! the whole call. Native tests and `host parser test` check it by the same streams.

use super::Item;
use super::case::Piece;
use super::items::json_calls;

/// Most strings' places of one call at which its rest is left out.
const PLACES: usize = 16;

/// A stream in which the rest of a call's JSON is left out, from a place inside a string on.
#[derive(Debug, Clone)]
pub struct LostQuote {
    /// What the model writes.
    pub output: Vec<Piece>,
    /// The items of it.
    pub expected: Vec<Item>,
}

/// The streams that come of `output`, whose markers are tokens and which gives `items`: for each
/// complete call that stands in it with its arguments to the byte and only the ends of its JSON
/// between them and the next marker.
pub fn lost_quotes(output: &[Piece], items: &[Item]) -> Vec<LostQuote> {
    let mut all = Vec::new();
    let mut end = output.len();
    let calls = (0..items.len()).rev().filter(|index| !json_calls(&items[*index..=*index]).is_empty());
    for index in calls {
        let arguments = &items[index].text;
        let Some((piece, at)) = last(&output[..end], arguments) else { continue };
        end = piece;
        let (Piece::Text(text), Some(Piece::Marker(..))) = (&output[piece], output.get(piece + 1)) else {
            continue;
        };
        if !items[index].complete || !text[at + arguments.len()..].chars().all(closes) {
            continue;
        }
        let places = places_in_strings(arguments);
        for place in places.iter().step_by(places.len().div_ceil(PLACES).max(1)) {
            let (mut output, mut expected) = (output.to_vec(), items.to_vec());
            output[piece] = Piece::Text(text[..at + place].to_owned());
            expected[index] =
                Item { text: arguments[..*place].to_owned(), ..items[index].clone() }.incomplete();
            all.push(LostQuote { output, expected });
        }
    }
    all
}

/// The last text that has `part` in it, and where its last occurrence begins.
fn last(output: &[Piece], part: &str) -> Option<(usize, usize)> {
    let place = |(index, piece): (usize, &Piece)| match piece {
        Piece::Text(text) => Some((index, text.rfind(part)?)),
        Piece::Marker(..) => None,
    };
    output.iter().enumerate().rev().find_map(place)
}

/// Whether this may stand between a call's arguments and the marker behind it.
fn closes(c: char) -> bool {
    c.is_whitespace() || "}])`".contains(c)
}

/// Offsets inside the strings of this JSON, none of them inside an escape or behind what may be a
/// fence's end.
fn places_in_strings(json: &str) -> Vec<usize> {
    let (mut places, mut in_string, mut chars) = (Vec::new(), false, json.char_indices());
    while let Some((at, c)) = chars.next() {
        if in_string && !json[..at].ends_with('`') {
            places.push(at);
        }
        match c {
            '"' => in_string = !in_string,
            '\\' if chars.next().is_some_and(|(_, escaped)| escaped == 'u') => {
                chars.nth(3);
            }
            _ => {}
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::{Item, Piece, lost_quotes};

    #[test]
    fn call_rest_is_left_out_in_strings_up_to_next_marker() {
        let arguments = "{\"a\": \"\\u00e9\\\"\", \"b\": 1}";
        let marker = || Piece::Marker(0, "</c>".to_owned());
        let text = |text: &str| Piece::Text(text.to_owned());
        let output = [text("hi"), marker(), text(&format!("f{arguments}}}\n")), marker(), text("bye")];
        let items = [Item::message("hi"), Item::call("f", arguments), Item::message("bye")];
        let lost = lost_quotes(&output, &items);
        let cut: Vec<&str> = lost.iter().map(|lost| lost.expected[1].text.as_str()).collect();
        let expected = ["{\"", "{\"a", "{\"a\": \"", "{\"a\": \"\\u00e9", "{\"a\": \"\\u00e9\\\""];
        assert_eq!(cut[..5], expected);
        assert_eq!(cut.len(), 7);
        assert_eq!(lost[0].output, [text("hi"), marker(), text("f{\""), marker(), text("bye")]);
        assert!(lost.iter().all(|lost| !lost.expected[1].complete && lost.expected[2] == items[2]));
    }

    #[test]
    fn calls_not_ending_before_a_marker_are_left_alone() {
        let arguments = "{\"a\": \"b\"}";
        let items = [Item::call("f", arguments)];
        let marker = Piece::Marker(0, "</c>".to_owned());
        for behind in [", \"name\": \"f\"}", " and prose"] {
            let output = [Piece::Text(format!("{arguments}{behind}")), marker.clone()];
            assert!(lost_quotes(&output, &items).is_empty(), "{behind}");
        }
        assert!(lost_quotes(&[Piece::Text(arguments.to_owned())], &items).is_empty());
        assert!(lost_quotes(&[marker], &items).is_empty());
    }
}
