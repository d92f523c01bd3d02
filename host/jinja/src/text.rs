//! Strings of a template's run. A string knows for each of its characters whether the template or
//! the request wrote it.
//!
//! Invariant: every operation keeps the origin of the characters that it copies, and what it makes
//! out of a request's characters (an escape, another case) is the request's. So whatever a template
//! does to a request's text, that text never counts as the template's.

use std::ops::Range;
use std::sync::Arc;

/// Writer of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The template's own text: raw text and string constants.
    Template,
    /// The request, or a value that was printed (numbers, JSON, lists).
    Request,
    /// A part of the request, by the number that the caller gave it.
    RequestPart(u8),
}

/// Immutable string whose characters have origins. Copies share their memory. Strings are equal if
/// their characters are.
#[derive(Debug, Clone)]
pub struct Text {
    inner: Arc<Inner>,
    /// Whether it is markup that needs no escaping (markupsafe's `Markup`).
    pub(crate) is_markup: bool,
}

#[derive(Debug)]
struct Inner {
    string: String,
    /// Runs of one origin, in order; neighbours differ. Empty for an empty string.
    runs: Runs,
}

#[derive(Debug)]
enum Runs {
    /// The whole string has one origin.
    One(Origin),
    Many(Vec<OriginRun>),
}

#[derive(Debug, Clone, Copy)]
struct OriginRun {
    end: usize,
    origin: Origin,
}

impl Text {
    /// Makes a string of one origin.
    pub fn new(origin: Origin, string: impl Into<String>) -> Self {
        let inner = Inner { string: string.into(), runs: Runs::One(origin) };
        Self { inner: Arc::new(inner), is_markup: false }
    }

    /// Characters of the string.
    pub fn as_str(&self) -> &str {
        &self.inner.string
    }

    /// Maximal parts of one origin, in order.
    pub fn runs(&self) -> impl Iterator<Item = (Origin, &str)> {
        self.runs_of(0..self.as_str().len())
    }

    /// The parts of one origin within a range of bytes.
    pub(crate) fn runs_of(&self, range: Range<usize>) -> impl Iterator<Item = (Origin, &str)> {
        let (one, many): (_, &[OriginRun]) = match &self.inner.runs {
            Runs::One(origin) => (Some(*origin), &[]),
            Runs::Many(runs) => (None, &runs[runs.partition_point(|run| run.end <= range.start)..]),
        };
        let string = self.as_str();
        let whole = one.filter(|_| !range.is_empty()).map(|origin| (origin, &string[range.clone()]));
        let mut start = range.start;
        whole.into_iter().chain(many.iter().map_while(move |run| {
            let part = start..run.end.min(range.end);
            start = run.end;
            (!part.is_empty()).then(|| (run.origin, &string[part]))
        }))
    }

    /// Joins strings.
    pub fn concat(parts: &[Self]) -> Self {
        let mut builder = TextBuilder::default();
        for part in parts {
            builder.push_text(part);
        }
        builder.finish()
    }

    /// Copies a range of bytes. It panics if an end isn't at a character's boundary.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        if range == (0..self.as_str().len()) {
            return self.clone();
        }
        let mut builder = TextBuilder::new(self.is_markup);
        builder.push_slice(self, range);
        builder.finish()
    }

    /// Applies `map` to each part of one origin; it appends what becomes of the part.
    pub(crate) fn map(&self, mut map: impl FnMut(&str, &mut String)) -> Self {
        let mut builder = TextBuilder::new(self.is_markup);
        for (origin, part) in self.runs() {
            builder.write(origin, |out| map(part, out));
        }
        builder.finish()
    }

    /// The string between fillings of so many characters.
    pub(crate) fn padded(&self, left: usize, right: usize, fill: char) -> Self {
        let mut builder = TextBuilder::new(self.is_markup);
        builder.write(Origin::Request, |out| out.extend(std::iter::repeat_n(fill, left)));
        builder.push_text(self);
        builder.write(Origin::Request, |out| out.extend(std::iter::repeat_n(fill, right)));
        builder.finish()
    }

    /// The same characters as markup or as plain text.
    pub(crate) fn with_markup(mut self, is_markup: bool) -> Self {
        self.is_markup = is_markup;
        self
    }

    /// Number of characters.
    pub(crate) fn char_count(&self) -> usize {
        let string = self.as_str();
        if string.is_ascii() { string.len() } else { string.chars().count() }
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Text {}

/// Builder of a string.
#[derive(Debug, Default)]
pub(crate) struct TextBuilder {
    string: String,
    runs: Vec<OriginRun>,
    is_markup: bool,
}

impl TextBuilder {
    /// Makes a builder of markup or of plain text.
    pub(crate) fn new(is_markup: bool) -> Self {
        Self { is_markup, ..Self::default() }
    }

    /// Number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.string.len()
    }

    pub(crate) fn push(&mut self, origin: Origin, part: &str) {
        self.write(origin, |out| out.push_str(part));
    }

    pub(crate) fn push_text(&mut self, text: &Text) {
        self.push_slice(text, 0..text.as_str().len());
    }

    pub(crate) fn push_slice(&mut self, text: &Text, range: Range<usize>) {
        let mut end = self.string.len();
        self.string.push_str(&text.as_str()[range.clone()]);
        for (origin, part) in text.runs_of(range) {
            end += part.len();
            self.mark(origin, end);
        }
    }

    /// Appends what `write` appends, as characters of `origin`.
    pub(crate) fn write(&mut self, origin: Origin, write: impl FnOnce(&mut String)) {
        let start = self.string.len();
        write(&mut self.string);
        if self.string.len() > start {
            self.mark(origin, self.string.len());
        }
    }

    /// Gives the characters up to `end` their origin.
    fn mark(&mut self, origin: Origin, end: usize) {
        match self.runs.last_mut() {
            Some(run) if run.origin == origin => run.end = end,
            _ => self.runs.push(OriginRun { end, origin }),
        }
    }

    pub(crate) fn finish(self) -> Text {
        let runs = match self.runs[..] {
            [] => Runs::One(Origin::Template),
            [OriginRun { origin, .. }] => Runs::One(origin),
            _ => Runs::Many(self.runs),
        };
        let inner = Inner { string: self.string, runs };
        Text { inner: Arc::new(inner), is_markup: self.is_markup }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixed() -> Text {
        let mut builder = TextBuilder::default();
        for (origin, part) in [
            (Origin::Template, "ab"),
            (Origin::Request, "cdé"),
            (Origin::Request, "f"),
            (Origin::Template, "g"),
        ] {
            builder.push(origin, part);
        }
        builder.finish()
    }

    #[test]
    fn runs_are_maximal_and_slices_keep_them() {
        let text = mixed();
        let runs: Vec<_> = text.runs().collect();
        assert_eq!(runs, [(Origin::Template, "ab"), (Origin::Request, "cdéf"), (Origin::Template, "g")]);
        let slice = text.slice(1..4);
        assert_eq!(slice.runs().collect::<Vec<_>>(), [(Origin::Template, "b"), (Origin::Request, "cd")]);
        assert_eq!(text.slice(2..2).runs().count(), 0);
        let upper = text.map(|part, out| out.push_str(&part.to_uppercase()));
        assert_eq!(upper.runs().nth(1), Some((Origin::Request, "CDÉF")));
    }
}
