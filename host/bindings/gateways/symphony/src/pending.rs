//! Bytes whose route was told, and which no event has yet.

use std::collections::VecDeque;

use contract::Route;

/// Bytes of one route.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) text: String,
    pub(crate) route: Route,
    /// Whether the output doesn't have it.
    pub(crate) is_hidden: bool,
}

impl Segment {
    /// Whether it is a message's or reasoning's.
    pub(crate) fn is_prose(&self) -> bool {
        matches!(self.route, Route::Content | Route::Reasoning)
    }
}

/// Segments in the stream's order.
#[derive(Debug, Default)]
pub(crate) struct Pending(VecDeque<Segment>);

impl Pending {
    pub(crate) fn push(&mut self, segment: Segment) {
        self.0.push_back(segment);
    }

    pub(crate) fn pop(&mut self) -> Option<Segment> {
        self.0.pop_front()
    }

    /// Puts back what is left of the segment that was taken last.
    pub(crate) fn put_back(&mut self, segment: Segment) {
        if !segment.text.is_empty() {
            self.0.push_front(segment);
        }
    }

    /// Number of the segments up to the last one of this route.
    pub(crate) fn up_to(&self, route: Route) -> usize {
        self.0.iter().rposition(|segment| segment.route == route).map_or(0, |last| last + 1)
    }

    /// Splits behind the first occurrence of `literal` in markup behind reasoning, and returns the
    /// number of segments up to there; 0 if there is none.
    pub(crate) fn split_behind(&mut self, literal: &str) -> usize {
        let from = self.up_to(Route::Reasoning);
        let found = self
            .0
            .iter()
            .enumerate()
            .skip(from)
            .find_map(|(index, segment)| Some((index, segment.text.find(literal)? + literal.len())));
        found.map_or(0, |(index, end)| self.split(index, end))
    }

    /// Splits before the last `bytes` bytes, and returns the number of segments up to there.
    pub(crate) fn split_before_last(&mut self, bytes: usize) -> usize {
        let all: usize = self.0.iter().map(|segment| segment.text.len()).sum();
        let mut ahead = all.saturating_sub(bytes);
        for index in 0..self.0.len() {
            let length = self.0[index].text.len();
            if ahead < length {
                return if ahead == 0 { index } else { self.split(index, ahead) };
            }
            ahead -= length;
        }
        self.0.len()
    }

    /// Splits a segment, and returns the number of segments up to the place.
    fn split(&mut self, index: usize, at: usize) -> usize {
        let segment = &mut self.0[index];
        let text = segment.text.split_off(at);
        let rest = Segment { text, ..*segment };
        if !rest.text.is_empty() {
            self.0.insert(index + 1, rest);
        }
        index + 1
    }

    /// Takes all that is left, without what the output doesn't have.
    pub(crate) fn take_text(&mut self) -> String {
        self.0.drain(..).filter(|segment| !segment.is_hidden).map(|segment| segment.text).collect()
    }
}
