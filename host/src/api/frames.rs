//! Server-sent events as bytes: each frame is one whole event, so that no write ends inside one.

use bytes::Bytes;
use serde::Serialize;

/// A buffer that grew beyond this (a response object at the end of a long answer) is given away rather than kept.
const KEPT_CAPACITY: usize = 16 << 10;

/// A comment, which clients skip.
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// Encoded events waiting to be written, in one buffer.
#[derive(Debug, Default)]
pub struct Frames {
    buffer: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
    /// Set where nobody listens (non-streaming answers): events are counted but not encoded.
    discard: bool,
}

impl Frames {
    /// Frames that are encoded.
    pub fn new() -> Self {
        Self::default()
    }

    /// Frames that go nowhere.
    pub fn discarding() -> Self {
        Self { discard: true, ..Self::default() }
    }

    /// Appends `event: NAME` (where given) and `data: JSON`.
    ///
    /// # Panics
    /// If `data` doesn't serialise: a fault of ours, all protocol types do.
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

    /// What has gathered.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Where each event of it ends.
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_CAPACITY);
    }

    /// What has gathered, as one write; empty if nothing has.
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
