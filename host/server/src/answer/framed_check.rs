//! Check of the stream that a reader would send, against the event grammar.

use bytes::BytesMut;

use api::StreamCheck;
use api::event_buffer::EventBuffer;
use api::frames::Frames;

/// Check of one answer's stream.
pub(crate) struct FramedCheck {
    check: StreamCheck,
    frames: Frames,
    buffer: BytesMut,
}

impl FramedCheck {
    /// A check that frames events before it reads them.
    pub(crate) fn new(check: StreamCheck, frames: Frames) -> Self {
        Self { check, frames, buffer: BytesMut::new() }
    }

    /// Checks further events; `over` says that they are the last.
    ///
    /// # Errors
    /// The first violation, in words.
    pub(crate) fn feed(&mut self, events: &EventBuffer, over: bool) -> Result<(), String> {
        self.frames.events(events, &mut self.buffer);
        if over {
            self.frames.end(&mut self.buffer);
        }
        let fed = self.check.feed(&self.buffer);
        self.buffer.clear();
        fed.and_then(|()| if over { self.check.finish() } else { Ok(()) })
    }
}
