//! The least speed of a connection: a sender that drips would hold a download for ever, since each
//! byte ends a silence.

use std::time::{Duration, Instant};

use reqwest::Response;

use super::tries::Fault;
use net::connection_words;

/// Bytes that have to come within the longest silence of a connection, unless the body ends. A
/// modem's speed at the usual minute.
const LEAST: u64 = 64 << 10;

/// Reader of a body that comes with at least the least speed.
pub(super) struct PacedBody {
    response: Response,
    window: Duration,
    /// Begin of the present window, and bytes that came in it.
    began: Instant,
    bytes: u64,
}

impl PacedBody {
    /// Reads `response`, of which `window` is the longest silence.
    pub(super) fn new(response: Response, window: Duration) -> Self {
        Self { response, window, began: Instant::now(), bytes: 0 }
    }

    /// The next bytes; `None` at the end.
    pub(super) async fn chunk(&mut self) -> Result<Option<bytes::Bytes>, Fault> {
        let left = self.window.saturating_sub(self.began.elapsed());
        let slow =
            |_| Fault::Temporary(format!("less than {LEAST} bytes came in {} s", self.window.as_secs()));
        let chunk = tokio::time::timeout(left, self.response.chunk()).await.map_err(slow)?;
        let chunk = chunk.map_err(|error| Fault::Temporary(connection_words(&error)))?;
        self.bytes += chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
        if self.bytes >= LEAST {
            (self.began, self.bytes) = (Instant::now(), 0);
        }
        Ok(chunk)
    }
}
