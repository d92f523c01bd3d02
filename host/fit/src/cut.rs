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
}

/// A turn as the template writes it.
#[derive(Debug, Clone)]
pub(crate) struct Cut {
    /// What the generation prompt writes of it.
    pub(crate) opening: String,
    /// What the model writes.
    pub(crate) output: Text,
}

/// Why a turn can't be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoCut {
    /// The place where it begins or ends is uncertain.
    Unopened,
    /// The template leaves some of its words out.
    Unshown,
}

/// Cuts the turn with these words out of `[before, prompt, whole]`. `results_follow` says that it
/// isn't the last message.
pub(crate) fn cut(
    [before, prompt, whole]: &[Text; 3],
    words: &[&str],
    ends: &Ends,
    results_follow: bool,
) -> Result<Cut, NoCut> {
    let behind_before = shared(before.as_str(), whole.as_str());
    if said(&whole.as_str()[behind_before..], words).is_none() {
        return Err(NoCut::Unshown);
    }
    let start = prompt.as_str().len();
    if !whole.as_str().starts_with(prompt.as_str()) {
        return Err(NoCut::Unopened);
    }
    let output = whole.slice(start..whole.as_str().len());
    let said = said(output.as_str(), words).ok_or(NoCut::Unshown)?;
    let limit = output.as_str().len();
    let end = match end(&output, said..limit, ends) {
        Some(end) => end,
        None if results_follow => return Err(NoCut::Unopened),
        None => limit,
    };
    let opened = shared(before.as_str(), prompt.as_str());
    Ok(Cut { opening: prompt.as_str()[opened..].to_owned(), output: output.slice(0..end) })
}

/// The place behind the last of these words, which have to stand in this order.
fn said(text: &str, words: &[&str]) -> Option<usize> {
    words.iter().try_fold(0, |from, word| text[from..].find(word).map(|at| from + at + word.len()))
}

/// The first end that the template itself wrote in this range: behind a stop marker, before any
/// other token.
fn end(output: &Text, within: Range<usize>, ends: &Ends) -> Option<usize> {
    let mut start = 0;
    let mut first: Option<(usize, usize)> = None;
    for (origin, run) in output.runs() {
        let offset = start;
        start += run.len();
        if origin != Origin::Template {
            continue;
        }
        let stops = ends.stops.iter().map(|stop| (*stop, stop.len()));
        for (literal, kept) in stops.chain(ends.tokens.iter().map(|token| (*token, 0))) {
            let places = run.match_indices(literal).map(|(at, _)| offset + at);
            let found = places.filter(|at| within.contains(at)).min().map(|at| (at, at + kept));
            // At one place the stop marker counts, which comes first.
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
