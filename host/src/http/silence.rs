//! What is said while the model says nothing: a comment often, so that dead connections are noticed (and proxies stay patient),
//! and now and then a protocol event, because some clients' idle timers ignore comments.

use std::time::Duration;

use tokio::time::Instant;

use crate::api::frames::Frames;
use crate::api::machine::Machine;

/// Keeps the time since something was said.
pub(super) struct Silence {
    keep_alive: Duration,
    heartbeat: Duration,
    last_event: Instant,
    last_word: Instant,
}

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Comment,
    Heartbeat,
}

impl Silence {
    pub(super) fn new(keep_alive: Duration, heartbeat: Duration) -> Self {
        let now = Instant::now();
        Self { keep_alive, heartbeat, last_event: now, last_word: now }
    }

    /// Something was sent.
    pub(super) fn broken(&mut self) {
        self.last_event = Instant::now();
        self.last_word = self.last_event;
    }

    /// Waits until something is due. May be dropped while it waits.
    pub(super) async fn due(&mut self) -> Due {
        let (at, due) = self.next();
        tokio::time::sleep_until(at).await;
        self.said(due, Instant::now());
        due
    }

    /// What is due next, and when. A heartbeat is a sign of life, too: it goes before a comment.
    fn next(&self) -> (Instant, Due) {
        let comment = self.last_word + self.keep_alive;
        let heartbeat = self.last_event + self.heartbeat;
        if heartbeat <= comment { (heartbeat, Due::Heartbeat) } else { (comment, Due::Comment) }
    }

    fn said(&mut self, due: Due, now: Instant) {
        self.last_word = now;
        if due == Due::Heartbeat {
            self.last_event = now;
        }
    }
}

impl Due {
    pub(super) fn speak(self, machine: &mut dyn Machine, frames: &mut Frames) {
        match self {
            Self::Comment => frames.push_comment(),
            Self::Heartbeat => machine.heartbeat(frames),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_come_often_and_heartbeats_now_and_then() {
        let mut silence = Silence::new(Duration::from_secs(5), Duration::from_secs(15));
        let mut said = Vec::new();
        for _ in 0..6 {
            let (at, due) = silence.next();
            silence.said(due, at);
            said.push(due);
        }
        let round = [Due::Comment, Due::Comment, Due::Heartbeat];
        assert_eq!(said, [round, round].concat());
    }
}
