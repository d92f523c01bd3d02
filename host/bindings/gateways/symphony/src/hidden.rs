//! Markers that the gateway's decoder hides: it tells their token, and leaves their text out. The
//! parser is fed the text all the same, and it is taken out of what became of the stream.
//!
//! Invariant: bytes are numbered as the turn gets them, from the first one behind the prompt.

use std::collections::VecDeque;
use std::ops::Range;

/// Where text was put in that the output doesn't have.
#[derive(Debug, Default)]
pub(crate) struct Hidden {
    /// Number of bytes that the turn was fed.
    fed: usize,
    /// Number of bytes whose route was told.
    told: usize,
    /// Places of the text, of which the first may be told in part.
    places: VecDeque<Range<usize>>,
}

impl Hidden {
    /// Notes text of the output that the turn is fed.
    pub(crate) fn feed(&mut self, text: &str) {
        self.fed += text.len();
    }

    /// Notes text that the turn is fed, and that the output doesn't have.
    pub(crate) fn feed_hidden(&mut self, text: &str) {
        self.places.push_back(self.fed..self.fed + text.len());
        self.fed += text.len();
    }

    /// The next text whose route is told, in parts: whether each is hidden.
    pub(crate) fn tell<'t>(&mut self, text: &'t str) -> Vec<(&'t str, bool)> {
        let (mut parts, mut rest) = (Vec::new(), text);
        while !rest.is_empty() {
            let (ahead, is_hidden) = match self.places.front() {
                Some(place) if place.start <= self.told => (place.end - self.told, true),
                Some(place) => (place.start - self.told, false),
                None => (rest.len(), false),
            };
            let (part, behind) = rest.split_at(ahead.min(rest.len()));
            self.told += part.len();
            self.places.pop_front_if(|place| place.end <= self.told);
            parts.push((part, is_hidden));
            rest = behind;
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::Hidden;

    #[test]
    fn text_is_told_in_its_parts_however_it_is_cut() {
        let mut hidden = Hidden::default();
        hidden.feed("ab");
        hidden.feed_hidden("<m>");
        hidden.feed("c");
        hidden.feed_hidden("<n>");
        assert_eq!(hidden.tell("ab<"), [("ab", false), ("<", true)]);
        assert_eq!(hidden.tell("m>c<n>"), [("m>", true), ("c", false), ("<n>", true)]);
    }
}
