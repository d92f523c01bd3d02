//! A stream that breaks off anywhere: its calls are prefixes of the whole stream's calls. An oracle
//! of property tests and fuzz targets.

use super::case::{MarkerMode, Piece, by_marker};
use super::items::json_calls;
use super::{AT_ONCE, Item, Script};
use contract::{FinishReason, Request};
use parser_sdk::Parser;

/// Breaks `output` off at up to `breaks` places, evenly spread (never inside a marker), as the
/// token limit does: every call with JSON arguments has the name of the whole stream's call, and
/// its arguments are a prefix of that call's. An incomplete last call is exempt: bytes that the
/// parser held undecided, half a fence say, went out with it.
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

/// Checks `script`, broken off at up to `breaks` places: the arguments shown until then lead up to
/// those of the whole stream, and a call that is cut off gets no more at the end than bytes of the
/// stream. Calls inside reasoning count at once, as in [`play_tokens`].
pub(super) fn check_arguments<P: Parser>(script: &Script<'_>, breaks: usize) -> Result<(), String> {
    let request = at_once(script.request);
    let script = &Script { request: &request, ..script.clone() };
    let expected = script.play::<P>(&[usize::MAX], false);
    let expected: Vec<&str> = json_calls(&expected).into_iter().map(|call| call.text.as_str()).collect();
    let places: usize = script.output.iter().map(places).sum();
    for place in (1..=places).step_by(places.div_ceil(breaks.max(1)).max(1)) {
        let part = Script {
            output: break_off(&script.output, place),
            reason: FinishReason::Length,
            ..script.clone()
        };
        let (shown, items) = part.play_shown::<P>();
        let ended = json_calls(&items);
        for (index, shown) in shown.iter().enumerate() {
            let cut_off = ended.get(index).filter(|call| !call.complete);
            let leads_up = expected.get(index).is_some_and(|whole| whole.starts_with(shown.as_str()));
            let added = cut_off.map_or("", |call| &call.text[shown.len()..]);
            // Half an escaped character is replaced.
            let added = added.trim_end_matches('\u{fffd}');
            if !leads_up || !is_left_over(added, &part.text()) {
                let shown = cut_off.map_or(shown, |call| &call.text);
                let whole = expected.get(index).unwrap_or(&"no such call");
                return Err(format!(
                    "cut off after {place} characters\n  call {index} shows: {shown}\n  expected in the end: {whole}"
                ));
            }
        }
    }
    Ok(())
}

/// Whether `added`, which a call got at its end, is no more than bytes at the end of the stream
/// that were held until then: as they are or escaped, and perhaps behind the quote that makes a
/// value a string.
pub fn is_left_over(added: &str, stream: &str) -> bool {
    let added = added.strip_prefix('"').unwrap_or(added);
    let quoted = || serde_json::to_string(stream).expect("text is JSON");
    let is_escaped = |quoted: String| quoted.strip_suffix('"').is_some_and(|inside| inside.ends_with(added));
    stream.ends_with(added) || is_escaped(quoted())
}

/// The items of these pieces, each marker a token of its own. Calls inside reasoning count at once:
/// whether they are drafts is the host's concern, and depends on where the stream ends.
pub(super) fn play_tokens<P: Parser>(request: &Request, prompt: &str, pieces: &[Piece]) -> Vec<Item> {
    let (output, reason) = (pieces.to_vec(), FinishReason::Length);
    Script { request: &at_once(request), prompt, output, markers: MarkerMode::Id, reason }
        .play::<P>(&[usize::MAX], false)
}

/// The request, with calls inside reasoning counting at once.
fn at_once(request: &Request) -> Request {
    let mut request = request.clone();
    request.options.push(AT_ONCE.map(String::from).into());
    request
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

#[cfg(test)]
mod tests {
    use super::is_left_over;

    #[test]
    fn additions_at_a_calls_end_are_what_ended_the_stream() {
        for (added, stream) in
            [("", "a"), ("<", "{1<"), ("\\n", "a\n"), ("\\u00", "a\\u00"), ("\\\"", "say \""), ("\"4", "4")]
        {
            assert!(is_left_over(added, stream), "{added:?} of {stream:?}");
        }
        for (added, stream) in [("}", "{1"), ("\"}", "{\"a\": \"b"), ("{}", "")] {
            assert!(!is_left_over(added, stream), "{added:?} of {stream:?}");
        }
    }
}
