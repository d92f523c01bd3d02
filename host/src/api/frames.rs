//! Server-sent events as bytes: each frame is one whole event, so that no write ends inside one.

use bytes::Bytes;
use serde::Serialize;

/// Largest capacity of a buffer that is kept for the next events. A response object at the end of a long answer may need more.
const KEPT_CAPACITY: usize = 16 << 10;

/// Comment that keeps an idle connection open; clients skip it.
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// Encoded events waiting to be written, in one buffer.
#[derive(Debug, Default)]
pub struct Frames {
    buffer: Vec<u8>,
    /// Offset in `buffer` of each event's end.
    ends: Vec<usize>,
    /// Whether events are dropped without being encoded, as for non-streaming answers.
    discard: bool,
}

impl Frames {
    /// An empty buffer that encodes events.
    pub fn new() -> Self {
        Self::default()
    }

    /// A buffer that drops all events.
    pub fn discarding() -> Self {
        Self { discard: true, ..Self::default() }
    }

    /// Appends `event: NAME` (where given) and `data: JSON`.
    ///
    /// # Panics
    /// If `data` doesn't serialise, which would be a fault of this server: all protocol types serialise.
    pub fn push(&mut self, event: Option<&str>, data: &impl Serialize) {
        if self.discard {
            return;
        }
        if let Some(name) = event {
            self.buffer.extend_from_slice(b"event: ");
            self.buffer.extend_from_slice(name.as_bytes());
            self.buffer.extend_from_slice(b"\n");
        }
        self.buffer.extend_from_slice(b"data: ");
        serde_json::to_writer(&mut self.buffer, data).expect("protocol types serialise");
        self.end_event();
    }

    /// Appends `data: [DONE]`.
    pub fn push_done(&mut self) {
        if !self.discard {
            self.buffer.extend_from_slice(b"data: [DONE]");
            self.end_event();
        }
    }

    fn end_event(&mut self) {
        self.buffer.extend_from_slice(b"\n\n");
        self.ends.push(self.buffer.len());
    }

    /// Encoded bytes of all waiting events.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Offset in [`Self::bytes`] of each event's end.
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// Removes all events.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_CAPACITY);
    }

    /// Takes the waiting events out, as one write; empty if there are none.
    pub fn take(&mut self) -> Bytes {
        self.ends.clear();
        if self.buffer.capacity() > KEPT_CAPACITY {
            return Bytes::from(std::mem::take(&mut self.buffer));
        }
        let bytes = Bytes::copy_from_slice(&self.buffer);
        self.buffer.clear();
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::{Frames, KEPT_CAPACITY};

    #[test]
    fn what_was_pushed_is_taken_once_whatever_its_size() {
        let mut frames = Frames::new();
        for size in [1, KEPT_CAPACITY * 2, 3] {
            let text = "x".repeat(size);
            frames.push(Some("e"), &text);
            frames.push(None, &text);
            let expected = format!("event: e\ndata: \"{text}\"\n\ndata: \"{text}\"\n\n");
            assert!(frames.take() == expected);
            assert!(frames.take().is_empty());
        }
    }

    #[test]
    fn frames_that_go_nowhere_hold_nothing() {
        let mut frames = Frames::discarding();
        frames.push(None, &"x");
        frames.push_done();
        assert!(frames.take().is_empty());
    }
}
