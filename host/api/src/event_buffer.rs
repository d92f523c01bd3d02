//! Events of one answer as its machine yields them: names and JSON, in one buffer. Readers frame
//! them (`frames`).

use serde::Serialize;

use super::obfuscation;

/// Largest capacity of a buffer that is kept for the next events. A response object at the end of a
/// long answer may need more.
const KEPT_CAPACITY: usize = 16 << 10;

/// Encoded events waiting to be taken, in order.
#[derive(Debug, Default)]
pub struct EventBuffer {
    json: Vec<u8>,
    entries: Vec<Entry>,
    /// Whether events are dropped without being encoded, as for non-streaming answers.
    discard: bool,
}

/// What is known of an event beside its JSON.
#[derive(Debug, Clone, Copy)]
struct Entry {
    /// Offset in the buffer of the end of the event's JSON.
    end: usize,
    label: Label,
}

/// An event's name and padding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Label {
    /// The event's name, in protocols whose events have names.
    pub name: Option<&'static str>,
    /// Number of characters of padding that a reader adds, if the request asks for padding; else 0.
    pub padding: usize,
}

impl EventBuffer {
    /// An empty buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// A buffer that drops all events.
    pub fn discarding() -> Self {
        Self { discard: true, ..Self::default() }
    }

    /// Appends an event.
    ///
    /// # Panics
    /// If `data` doesn't serialise, which would be a fault of this server: all protocol types
    /// serialise.
    pub fn push(&mut self, name: Option<&'static str>, data: &impl Serialize) {
        self.append(Label { name, padding: 0 }, data);
    }

    /// Appends an event that carries `secret` bytes of text whose length padding hides.
    ///
    /// # Panics
    /// As [`Self::push`].
    pub(crate) fn push_padded(&mut self, name: Option<&'static str>, secret: usize, data: &impl Serialize) {
        self.append(Label { name, padding: obfuscation::length_for(secret) }, data);
    }

    /// Appends an event that was encoded before. If `secret` is given, it carries that many bytes
    /// of text whose length padding hides.
    pub(crate) fn push_encoded(&mut self, name: Option<&'static str>, secret: Option<usize>, json: &[u8]) {
        if self.discard {
            return;
        }
        self.json.extend_from_slice(json);
        let padding = secret.map_or(0, obfuscation::length_for);
        self.entries.push(Entry { end: self.json.len(), label: Label { name, padding } });
    }

    fn append(&mut self, label: Label, data: &impl Serialize) {
        if self.discard {
            return;
        }
        serde_json::to_writer(&mut self.json, data).expect("protocol types serialise");
        self.entries.push(Entry { end: self.json.len(), label });
    }

    /// Takes back the last event, if one waits.
    pub fn take_back(&mut self) {
        self.entries.pop();
        self.json.truncate(self.entries.last().map_or(0, |entry| entry.end));
    }

    /// Number of events that wait.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no event waits.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// JSON of all waiting events, one after the other.
    pub fn json(&self) -> &[u8] {
        &self.json
    }

    /// Offset in [`Self::json`] of each event's end, and the event's label.
    pub fn ends(&self) -> impl ExactSizeIterator<Item = (usize, Label)> {
        self.entries.iter().map(|entry| (entry.end, entry.label))
    }

    /// The waiting events: label and JSON.
    pub fn iter(&self) -> impl Iterator<Item = (Label, &[u8])> {
        let mut begin = 0;
        self.ends().map(move |(end, label)| (label, &self.json[std::mem::replace(&mut begin, end)..end]))
    }

    /// Removes all events.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.json.clear();
        self.json.shrink_to(KEPT_CAPACITY);
    }
}

#[cfg(test)]
mod tests {
    use super::{EventBuffer, KEPT_CAPACITY, Label};

    #[test]
    fn pushed_events_stay_until_they_are_cleared() {
        let mut buffer = EventBuffer::new();
        for size in [1, KEPT_CAPACITY * 2, 3] {
            let text = "x".repeat(size);
            buffer.push(Some("e"), &text);
            buffer.push_padded(None, size, &text);
            let json = format!("\"{text}\"");
            let labels =
                [Label { name: Some("e"), padding: 0 }, Label { name: None, padding: 32 - size % 32 }];
            let expected: Vec<(Label, &[u8])> =
                labels.into_iter().map(|label| (label, json.as_bytes())).collect();
            assert!(buffer.iter().collect::<Vec<_>>() == expected);
            buffer.clear();
            assert!(buffer.is_empty() && buffer.json().is_empty() && buffer.iter().next().is_none());
            assert!(buffer.json.capacity() <= KEPT_CAPACITY);
        }
    }

    #[test]
    fn a_buffer_that_discards_holds_nothing() {
        let mut buffer = EventBuffer::discarding();
        buffer.push(None, &"x");
        buffer.push_padded(None, 1, &"x");
        assert!(buffer.is_empty() && buffer.json().is_empty());
    }
}
