//! Completes a parser's grammar for one tokenizer: defines the rules that stand for the parser's
//! markers.
//!
//! A template writes `marker_N` for marker N of its descriptor, and nothing about tokenizers. Here
//! each becomes the token that is the literal, or the literal's text, as the turn's marker table
//! matches it.

use std::fmt::Write as _;

/// Appends to `grammar` the rules of each marker: `marker_N`, and `token_N` if it is a token or
/// `MARKER_N` if it is text. `markers` are the literals, each with its id where it is matched as
/// one token; `inner` are the tokens in the literals of the others. `stops` are the indices of the
/// markers that end the turn and that strings of the grammar can spell.
///
/// # Errors
/// A marker that must be a token is none: one of the `stops` (JSON strings are free text, and could
/// end the turn by spelling it), or one that the grammar calls `token_N`. Or a marker that must be
/// text, since the grammar calls it `MARKER_N`, is a token or has one in it.
pub(crate) fn define_markers(
    grammar: &str,
    markers: &[(&str, Option<u32>)],
    inner: &[(&str, u32)],
    stops: &[u32],
) -> Result<String, String> {
    let mut complete = String::with_capacity(grammar.len() + 64 * markers.len());
    complete.push_str(grammar);
    for (index, (literal, id)) in (0_u32..).zip(markers) {
        let must_be = |word: &str| names(grammar, &format!("{word}_{index}"));
        let token_in_it = match id {
            Some(_) => Some(*literal),
            None => inner.iter().map(|(token, _)| *token).find(|token| literal.contains(token)),
        };
        if let (Some(token), true) = (token_in_it, must_be("MARKER")) {
            return Err(format!(
                "the model's tokenizer has a token {token:?}, which this format writes as text: its output can't be constrained"
            ));
        }
        let _ = match id {
            Some(id) => write!(complete, "\nmarker_{index}: <[{id}]>\ntoken_{index}: <[{id}]>"),
            None if stops.contains(&index) || must_be("token") => {
                return Err(no_token(literal));
            }
            None if token_in_it.is_some() => {
                write!(complete, "\nmarker_{index}: {}", composite(literal, inner))
            }
            None => {
                let text = serde_json::Value::from(*literal);
                write!(complete, "\nmarker_{index}: {text}\nMARKER_{index}: {text}")
            }
        };
    }
    complete.push('\n');
    Ok(complete)
}

/// Why a request is refused whose grammar needs this marker as a token.
pub(crate) fn no_token(literal: &str) -> String {
    format!("the model's tokenizer has no token {literal:?}: its output can't be constrained")
}

/// Lark expression of a literal with tokens in it.
fn composite(literal: &str, inner: &[(&str, u32)]) -> String {
    let part = |(id, text): (Option<u32>, &str)| {
        id.map_or_else(|| serde_json::Value::from(text).to_string(), |id| format!("<[{id}]>"))
    };
    token_pieces(literal, inner).into_iter().map(part).collect::<Vec<_>>().join(" ")
}

/// A text as the tokens in it with their ids, of which the first and longest counts, and text
/// between them.
pub fn token_pieces<'t>(text: &'t str, tokens: &[(&str, u32)]) -> Vec<(Option<u32>, &'t str)> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let places = tokens.iter().filter_map(|(token, id)| Some((rest.find(token)?, token.len(), *id)));
        let first = places.min_by_key(|(at, length, _)| (*at, std::cmp::Reverse(*length)));
        let (at, length, id) = first.map_or((rest.len(), 0, None), |(at, length, id)| (at, length, Some(id)));
        let (before, token_and_rest) = rest.split_at(at);
        let (token, behind) = token_and_rest.split_at(length);
        pieces.extend([(None, before), (id, token)].into_iter().filter(|(_, piece)| !piece.is_empty()));
        rest = behind;
    }
    pieces
}

/// Whether `word` occurs in the grammar as a whole word. (Also inside a string: a request can only
/// refuse itself that way.)
fn names(grammar: &str, word: &str) -> bool {
    let is_word = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let mut places = grammar.match_indices(word);
    places
        .any(|(at, _)| !grammar[..at].ends_with(is_word) && !grammar[at + word.len()..].starts_with(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_its_token_or_its_text() {
        let markers = [("<think>", Some(7)), ("say \"hi\"\n", None)];
        let complete = define_markers("start: marker_0 marker_1", &markers, &[], &[]).unwrap();
        assert_eq!(
            complete,
            "start: marker_0 marker_1\nmarker_0: <[7]>\ntoken_0: <[7]>\nmarker_1: \"say \\\"hi\\\"\\n\"\nMARKER_1: \"say \\\"hi\\\"\\n\"\n"
        );
    }

    #[test]
    fn a_comment_at_the_end_takes_no_rule_with_it() {
        let complete = define_markers("start: marker_0 // the end", &[("<a>", None)], &[], &[]).unwrap();
        assert!(complete.contains("// the end\nmarker_0: \"<a>\"\n"));
    }

    #[test]
    fn a_stop_that_is_only_text_is_refused() {
        let error = define_markers("start:", &[("<end>", None)], &[], &[0]).unwrap_err();
        assert!(error.contains("<end>"), "{error}");
    }

    #[test]
    fn a_marker_that_has_to_be_a_token_is_refused_as_text() {
        let markers = [("<a>", None), ("<b>", Some(3))];
        assert!(define_markers("start: token_1 marker_0", &markers, &[], &[]).is_ok());
        let error = define_markers("start: token_1 token_0", &markers, &[], &[]).unwrap_err();
        assert!(error.contains("<a>"), "{error}");
        assert!(define_markers("start: token_01", &markers, &[], &[]).is_ok());
    }

    #[test]
    fn a_marker_that_has_to_be_text_is_refused_as_a_token() {
        let markers = [("<a>", None), ("<b>", Some(3))];
        assert!(define_markers("start: MARKER_0 marker_1", &markers, &[], &[]).is_ok());
        let error = define_markers("start: MARKER_1", &markers, &[], &[]).unwrap_err();
        assert!(error.contains("<b>"), "{error}");
    }

    #[test]
    fn a_marker_with_tokens_in_it_is_these_and_text() {
        let markers = [("<|open|>call name=", None), ("<|open|>x<|sep|>", None), ("<|sep|>", None)];
        let inner = [("<|", 3), ("<|open|>", 4), ("<|sep|>", 5)];
        let complete = define_markers("start: marker_0", &markers, &inner, &[]).unwrap();
        assert_eq!(
            complete,
            "start: marker_0\nmarker_0: <[4]> \"call name=\"\nmarker_1: <[4]> \"x\" <[5]>\nmarker_2: <[5]>\n"
        );
        let error = define_markers("start: MARKER_1", &markers, &inner, &[]).unwrap_err();
        assert!(error.contains("<|"), "{error}");
        assert!(define_markers("start: token_1", &markers, &inner, &[]).is_err());
    }
}
