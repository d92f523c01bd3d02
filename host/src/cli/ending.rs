//! The end of a server: by a signal, or because a device that it computes on is lost.

use std::cell::OnceCell;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Runs a server until it ends. The first signal makes it drain, the second one ends it at once. A
/// lost device counts as the first signal.
///
/// # Errors
/// The reason for which the device was lost.
pub(super) async fn run_until_stopped<S: Future<Output = ()>>(
    run: impl FnOnce(WaitForCancellationFutureOwned) -> S,
    lost: impl Future<Output = String>,
    mut signal: impl AsyncFnMut(),
) -> Result<(), String> {
    let stop = CancellationToken::new();
    let reason = OnceCell::new();
    let impatience = async {
        tokio::select! {
            () = signal() => {}
            why = lost => {
                tracing::error!("{why}");
                let _ = reason.set(why);
            }
        }
        stop.cancel();
        signal().await;
    };
    tokio::select! {
        biased;
        () = impatience => tracing::warn!("told to stop again: streams under way are cut"),
        () = run(stop.clone().cancelled_owned()) => {}
    }
    reason.into_inner().map_or(Ok(()), Err)
}

/// SIGTERM and ctrl-c. Until they are caught they end the process, so they are before anybody is
/// told that it serves.
pub(super) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// Catches the signals from now on.
    ///
    /// # Errors
    /// The system doesn't let them be caught.
    pub(super) fn catch() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn a_lost_device_lets_answers_end_and_is_the_error() {
        let lost = ready("the device is lost".to_owned());
        let end = run_until_stopped(|stop| stop, lost, async || pending().await).await;
        assert_eq!(end, Err("the device is lost".to_owned()));
    }

    #[tokio::test]
    async fn one_signal_drains_a_server_and_two_end_it_at_once() {
        let once = tokio::sync::Semaphore::new(1);
        let signal = async || once.acquire().await.expect("it isn't closed").forget();
        assert_eq!(run_until_stopped(|stop| stop, pending(), signal).await, Ok(()));
        assert_eq!(run_until_stopped(|_| pending(), pending(), async || ready(()).await).await, Ok(()));
    }
}
