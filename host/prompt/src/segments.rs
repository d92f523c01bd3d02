//! Segments of a rendered prompt: which characters are control tokens of the template, and which
//! are text.
//!
//! The output of a template knows for each character whether the template or the request wrote it.
//! A control token is its literal in characters that are all the template's, whether it wrote the
//! literal as a whole or put it together from parts. The same literal in a request's text, or with
//! a single character of the request in it, is text. Called by `render`.

use aho_corasick::{AhoCorasick, MatchKind};
use jinja::{Origin, Text};

use super::added::AddedToken;

/// Segment of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Segment<'a> {
    /// A control token that the template wrote.
    Control(&'a AddedToken),
    /// Text, of the template or of the request.
    Text(String),
}

impl Segment<'_> {
    /// Returns the segment as text; a control token as its literal.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Control(token) => &token.literal,
            Self::Text(text) => text,
        }
    }
}

/// Control tokens of a model.
#[derive(Debug)]
pub(super) struct ControlTokens {
    tokens: Vec<AddedToken>,
    /// Finder of the literals, in the order of `tokens`.
    literals: AhoCorasick,
}

impl ControlTokens {
    /// Makes the finder of `tokens`. The error is a reason.
    pub(super) fn new(tokens: Vec<AddedToken>) -> Result<Self, String> {
        let literals = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(tokens.iter().map(|token| &token.literal))
            .map_err(|error| format!("added tokens can't be matched: {error}"))?;
        Ok(Self { tokens, literals })
    }

    /// Cuts a template's output into control tokens and text.
    pub(super) fn segments(&self, output: &Text) -> Vec<Segment<'_>> {
        let mut segments = Vec::new();
        for (origin, part) in output.runs() {
            if origin != Origin::Template {
                push_text(part, &mut segments);
                continue;
            }
            let mut start = 0;
            for found in self.literals.find_iter(part) {
                push_text(&part[start..found.start()], &mut segments);
                segments.push(Segment::Control(&self.tokens[found.pattern().as_usize()]));
                start = found.end();
            }
            push_text(&part[start..], &mut segments);
        }
        segments
    }
}

/// Appends text, joined to the text before it, since the tokenizer must see both as one section.
pub(super) fn push_text(text: &str, segments: &mut Vec<Segment<'_>>) {
    match segments.last_mut() {
        _ if text.is_empty() => {}
        Some(Segment::Text(last)) => last.push_str(text),
        _ => segments.push(Segment::Text(text.to_owned())),
    }
}

/// The segments as text.
pub(super) fn text_of(segments: &[Segment<'_>]) -> String {
    segments.iter().map(Segment::text).collect()
}

/// Cuts `segments` behind what they have in common with `other`, within a text at a character
/// boundary.
pub(super) fn split_common<'a>(
    mut segments: Vec<Segment<'a>>,
    other: &[Segment<'_>],
) -> (Vec<Segment<'a>>, Vec<Segment<'a>>) {
    let same = segments.iter().zip(other).take_while(|(a, b)| a == b).count();
    let mut rest = segments.split_off(same);
    if let (Some(Segment::Text(text)), Some(Segment::Text(other))) = (rest.first_mut(), other.get(same)) {
        let tail = text.split_off(common_prefix(text, other));
        let head = std::mem::replace(text, tail);
        push_text(&head, &mut segments);
        if text.is_empty() {
            rest.remove(0);
        }
    }
    (segments, rest)
}

/// Returns the length of the common prefix of `a` and `b` in bytes, at a character boundary.
pub(super) fn common_prefix(a: &str, b: &str) -> usize {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    (0..=same).rev().find(|&end| a.is_char_boundary(end)).unwrap_or(0)
}
