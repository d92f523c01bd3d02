//! Server-sent events as bytes: each frame is one whole event, so that no write ends inside one.

use bytes::{Bytes, BytesMut};
use serde::Serialize;

/// Encoded events waiting to be written. One buffer; one call of `take` per socket write.
#[derive(Debug, Default)]
pub struct Frames {
    buffer: BytesMut,
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
        serde_json::to_writer(bytes::BufMut::writer(&mut self.buffer), data).expect("protocol types serialise");
        self.buffer.extend_from_slice(b"\n\n");
    }

    /// Appends `data: [DONE]`.
    pub fn push_done(&mut self) {
        if !self.discard {
            self.buffer.extend_from_slice(b"data: [DONE]\n\n");
        }
    }

    /// What has gathered, as one write; empty if nothing has.
    pub fn take(&mut self) -> Bytes {
        self.buffer.split().freeze()
    }
}
