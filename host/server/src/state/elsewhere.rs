//! Logs that other hosts of the store write and somebody here waits for: one question for all.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use store::{LogPosition, Store};
use tokio::sync::{Notify, oneshot};

/// Logs of one question.
const LOGS: usize = 1000;

/// Those who wait for logs that grow elsewhere.
#[derive(Default)]
pub(crate) struct Elsewhere {
    waiting: Mutex<HashMap<LogPosition, Vec<oneshot::Sender<()>>>>,
    has_come: Notify,
}

impl Elsewhere {
    /// Waits until a log has more events, has ended or is gone, or can't be looked at.
    pub(crate) async fn grown(&self, log: LogPosition) {
        let (told, waits) = oneshot::channel();
        self.lock().entry(log).or_default().push(told);
        self.has_come.notify_one();
        let _ = waits.await;
    }

    /// Waits for somebody who comes to wait.
    pub(crate) async fn has_come(&self) {
        self.has_come.notified().await;
    }

    /// Tells those whose logs have grown. Returns whether there were any.
    pub(crate) async fn look(&self, store: &dyn Store) -> bool {
        let mut has_grown = false;
        for logs in self.waited_for().chunks(LOGS) {
            // Those of a store that can't be read find out why.
            let grown = store.grown(logs.to_vec()).await.unwrap_or_else(|_| logs.to_vec());
            has_grown |= !grown.is_empty();
            self.tell(&grown);
        }
        has_grown
    }

    /// The logs that somebody still waits for.
    fn waited_for(&self) -> Vec<LogPosition> {
        let mut waiting = self.lock();
        waiting.retain(|_, waits| {
            waits.retain(|told| !told.is_closed());
            !waits.is_empty()
        });
        waiting.keys().copied().collect()
    }

    /// Tells those who wait for these logs.
    fn tell(&self, logs: &[LogPosition]) {
        let mut waiting = self.lock();
        for told in logs.iter().filter_map(|log| waiting.remove(log)).flatten() {
            // Who has left hears nothing.
            let _ = told.send(());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<LogPosition, Vec<oneshot::Sender<()>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
