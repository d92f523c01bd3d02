//! Cuts a turn of the model out of a chat template's output: from the generation prompt to what
//! ends the turn.

use std::ops::Range;

use jinja::{Origin, Text};

/// What ends a turn.
pub(crate) struct Ends<'a> {
    /// Stop markers of the parser, which it has to see.
    pub(crate) stops: Vec<&'a str>,
    /// Tokens that end the turn before any parser sees them.
    pub(crate) tokens: Vec<&'a str>,
    /// What the template writes behind any turn; it counts where none of the others is.
    pub(crate) wrapper: Option<String>,
}

/// A turn as the template writes it.
#[derive(Debug, Clone)]
pub(crate) struct Cut {
    /// What the generation prompt writes of it; of a turn with another opening what both have.
    pub(crate) opening: String,
    /// What the generation prompt writes beyond that.
    pub(crate) lacking: String,
    /// What the model writes.
    pub(crate) output: Text,
}

/// Why a turn can't be compared.
#[derive(Debug, Clone)]
pub(crate) enum NoCut {
    /// The turn doesn't begin with the generation prompt: the turn from where they differ on.
    Unopened(Cut),
    /// The place where it ends is uncertain.
    Unended,
    /// The template leaves some of its words out.
    Unshown,
}

/// Cuts the turn with these words out of `[before, prompt, whole]`. `is_followed` says that it
/// isn't the last message.
pub(crate) fn cut(
    [before, prompt, whole]: &[Text; 3],
    words: &[&str],
    ends: &Ends,
    is_followed: bool,
) -> Result<Cut, NoCut> {
    let (before, prompt, text) = (before.as_str(), prompt.as_str(), whole.as_str());
    if said(&text[shared(before, text)..], words).is_none() {
        return Err(NoCut::Unshown);
    }
    let is_opened = text.starts_with(prompt);
    let start = if is_opened { prompt.len() } else { boundary(prompt, shared(prompt, text)) };
    let output = whole.slice(start..text.len());
    let said = said(output.as_str(), words).ok_or(NoCut::Unshown)?;
    let limit = output.as_str().len();
    let end = match end(&output, said..limit, ends) {
        Some(end) => end,
        None if is_followed => return Err(NoCut::Unended),
        None => limit,
    };
    let opening = prompt.get(shared(before, prompt)..start).unwrap_or_default();
    let cut = Cut {
        opening: opening.to_owned(),
        lacking: prompt[start..].to_owned(),
        output: output.slice(0..end),
    };
    if is_opened { Ok(cut) } else { Err(NoCut::Unopened(cut)) }
}

/// The last place up to `at` where a token, a tag or a line begins or ends.
fn boundary(text: &str, at: usize) -> usize {
    let is_boundary = |place: &usize| {
        text.is_char_boundary(*place)
            && (text[..*place].ends_with(['>', ']', '\n']) || text[*place..].starts_with(['<', '[']))
    };
    (0..=at).rev().find(is_boundary).unwrap_or(0)
}

/// What stands behind the last of these words.
pub(crate) fn tail<'a>(whole: &'a Text, words: &[&str]) -> Option<&'a str> {
    let text = whole.as_str();
    let last = words.last()?;
    Some(&text[text.rfind(last)? + last.len()..])
}

/// What two turns end with, the first of which has nothing but a text: all that stands behind the
/// text, or the common end from a token or tag on.
pub(crate) fn wrapper(behind_text: &str, behind_call: &str) -> Option<String> {
    if !behind_text.is_empty() && behind_call.ends_with(behind_text) {
        return Some(behind_text.to_owned());
    }
    let same =
        behind_text.chars().rev().zip(behind_call.chars().rev()).take_while(|(one, other)| one == other);
    let length: usize = same.map(|(character, _)| character.len_utf8()).sum();
    let common = &behind_text[behind_text.len() - length..];
    common.find(['<', '[']).map(|at| common[at..].to_owned())
}

/// The place behind the last of these words, which have to stand in this order.
fn said(text: &str, words: &[&str]) -> Option<usize> {
    words.iter().try_fold(0, |from, word| text[from..].find(word).map(|at| from + at + word.len()))
}

/// The first end that the template itself wrote in this range: behind a stop marker, before any
/// other token; where there is none, before what it writes behind any turn.
fn end(output: &Text, within: Range<usize>, ends: &Ends) -> Option<usize> {
    let stops = ends.stops.iter().map(|stop| (*stop, stop.len()));
    let literals: Vec<_> = stops.chain(ends.tokens.iter().map(|token| (*token, 0))).collect();
    first_of(&literals, output, within.clone())
        .or_else(|| first_of(&[(ends.wrapper.as_deref()?, 0)], output, within))
}

/// The end of the first of these literals that the template itself wrote in this range. Each comes
/// with how much of it belongs to the turn; of two at one place the first one counts.
fn first_of(literals: &[(&str, usize)], output: &Text, within: Range<usize>) -> Option<usize> {
    let mut start = 0;
    let mut first: Option<(usize, usize)> = None;
    for (origin, run) in output.runs() {
        let offset = start;
        start += run.len();
        if origin != Origin::Template {
            continue;
        }
        for (literal, kept) in literals {
            let places = run.match_indices(literal).map(|(at, _)| offset + at);
            let found = places.filter(|at| within.contains(at)).min().map(|at| (at, at + kept));
            first = match (first, found) {
                (Some(known), Some(found)) if found.0 < known.0 => Some(found),
                (None, found) => found,
                (known, _) => known,
            };
        }
    }
    first.map(|(_, end)| end)
}

/// Length of the common beginning.
fn shared(one: &str, other: &str) -> usize {
    let differs = one.char_indices().zip(other.chars()).find(|((_, a), b)| a != b).map(|((at, _), _)| at);
    differs.unwrap_or_else(|| one.len().min(other.len()))
}
