//! What a failed request means, and whether it is tried again.

use std::time::Duration;

use super::{HubError, HubName};

/// Tries of a request, the pause after the first that failed, and how often the hub may ask to
/// wait.
const TRIES: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const MAX_WAITS: u32 = 4;
/// Time to wait if the hub asks for less speed and doesn't say until when, and the longest.
const WAIT: Duration = Duration::from_mins(1);
const MAX_WAIT: Duration = Duration::from_mins(10);

/// Why a request failed.
pub(super) enum Fault {
    /// It would fail again.
    Final(HubError),
    /// Nothing answers.
    Unreachable(String),
    /// It may succeed if it is tried again.
    Temporary(String),
    /// The hub asks to wait.
    Busy(Duration),
    /// The file has no such range.
    Range,
}

impl From<HubError> for Fault {
    fn from(error: HubError) -> Self {
        Self::Final(error)
    }
}

/// Count of what failed, which decides whether to try again.
#[derive(Default)]
pub(super) struct Tries {
    failed: u32,
    waits: u32,
}

impl Tries {
    /// Waits before the next try.
    ///
    /// # Errors
    /// It would fail again, or has failed too often.
    pub(super) async fn wait(&mut self, fault: Fault, hub: &str, name: &HubName) -> Result<(), HubError> {
        let reason = match fault {
            Fault::Final(error) => return Err(error),
            Fault::Busy(time) if self.waits < MAX_WAITS => {
                self.waits += 1;
                let seconds = time.as_secs();
                tracing::warn!(
                    seconds,
                    "the hub takes no more requests for now: waiting; HF_TOKEN raises its limit"
                );
                tokio::time::sleep(time).await;
                return Ok(());
            }
            Fault::Busy(_) => "it takes no more requests; HF_TOKEN raises its limit".to_owned(),
            Fault::Range => "it has no such range of the file".to_owned(),
            Fault::Temporary(reason) => reason,
            Fault::Unreachable(reason) => {
                self.failed += 1;
                reason
            }
        };
        self.failed += 1;
        if self.failed >= TRIES {
            return Err(HubError::Unavailable { name: name.to_string(), hub: hub.to_owned(), reason });
        }
        tracing::info!(reason, "the hub is asked again");
        tokio::time::sleep(FIRST_PAUSE * 2_u32.pow(self.failed - 1)).await;
        Ok(())
    }
}

/// Time that the hub asks to wait: `RateLimit: "api";r=0;t=SECONDS`, or `Retry-After`.
pub(super) fn wait_time(rate_limit: &str, retry_after: &str) -> Duration {
    let reset = rate_limit.split(';').find_map(|part| part.trim().strip_prefix("t="));
    let seconds = reset.unwrap_or(retry_after).trim().parse().map(Duration::from_secs);
    seconds.unwrap_or(WAIT).min(MAX_WAIT)
}

#[cfg(test)]
mod tests {
    use super::wait_time;

    #[test]
    fn wait_is_what_the_hub_says_within_bounds() {
        let wait = |limit, after| wait_time(limit, after).as_secs();
        assert_eq!(wait("\"api\";r=0;t=55", ""), 55);
        assert_eq!(wait("", "7"), 7);
        assert_eq!(wait("\"api\";r=0", "Wed, 21 Oct"), 60);
        assert_eq!(wait("\"api\";r=0;t=999999", ""), 600);
    }
}
