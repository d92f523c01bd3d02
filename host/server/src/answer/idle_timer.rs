//! What a stream sends while the model generates nothing: comments often, so that dead connections
//! are noticed and proxies keep the connection open, and now and then a heartbeat event, because
//! some clients' idle timers ignore comments.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// Timer of comments and heartbeats.
pub(crate) struct IdleTimer {
    keep_alive: Duration,
    heartbeat: Duration,
    last_event: Instant,
    last_output: Instant,
    /// Timer, reset only when it fires: resetting it for each event would cost more than the event.
    /// So it may fire too early.
    sleep: Pin<Box<Sleep>>,
}

/// What to send next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    Comment,
    Heartbeat,
}

impl IdleTimer {
    pub(crate) fn new(keep_alive: Duration, heartbeat: Duration) -> Self {
        let now = Instant::now();
        let sleep = Box::pin(sleep_until(now + keep_alive.min(heartbeat)));
        Self { keep_alive, heartbeat, last_event: now, last_output: now, sleep }
    }

    /// Records that events were sent.
    pub(crate) fn events_sent(&mut self) {
        self.last_event = Instant::now();
        self.last_output = self.last_event;
    }

    /// Ready with what to send, as soon as it is due.
    pub(crate) fn poll_due(&mut self, cx: &mut Context<'_>) -> Poll<Due> {
        loop {
            ready!(self.sleep.as_mut().poll(cx));
            let (at, due) = self.next();
            let now = Instant::now();
            if at <= now {
                self.record(due, now);
                return Poll::Ready(due);
            }
            self.sleep.as_mut().reset(at);
        }
    }

    /// Time and kind of what is due next. If both are due, the heartbeat comes first, since it
    /// serves as a comment, too.
    fn next(&self) -> (Instant, Due) {
        let comment = self.last_output + self.keep_alive;
        let heartbeat = self.last_event + self.heartbeat;
        if heartbeat <= comment { (heartbeat, Due::Heartbeat) } else { (comment, Due::Comment) }
    }

    fn record(&mut self, due: Due, now: Instant) {
        self.last_output = now;
        if due == Due::Heartbeat {
            self.last_event = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn comments_come_often_and_heartbeats_now_and_then() {
        let mut idle_timer = IdleTimer::new(Duration::from_secs(5), Duration::from_secs(15));
        let mut said = Vec::new();
        for _ in 0..6 {
            let (at, due) = idle_timer.next();
            idle_timer.record(due, at);
            said.push(due);
        }
        let round = [Due::Comment, Due::Comment, Due::Heartbeat];
        assert_eq!(said, [round, round].concat());
    }
}
