//! Who pays for a read: memory for each body before it is read, and the reader's CPU time.

use std::sync::Arc;

use crate::{Result, StoreError};

/// Account that pays for reads. A transaction of the store calls it on a thread of the store.
pub trait Payer: Send + Sync {
    /// Takes memory for `bytes` that are about to be read. Without it they aren't read.
    fn pay(&self, bytes: u64) -> bool;
    /// Runs `work` on this thread, and charges its CPU time.
    fn run(&self, work: Box<dyn FnOnce() + '_>);
}

/// Budget of a read. The default is that of the process's own work, which nobody pays for.
#[derive(Clone, Default)]
pub struct Budget(Option<Arc<dyn Payer>>);

impl Budget {
    /// The budget that `payer` pays.
    pub fn of(payer: Arc<dyn Payer>) -> Self {
        Self(Some(payer))
    }

    /// Pays for `bytes` before they are read.
    ///
    /// # Errors
    /// [`StoreError::Unpaid`].
    pub fn pay(&self, bytes: u64) -> Result<()> {
        let is_paid = self.0.as_ref().is_none_or(|payer| payer.pay(bytes));
        if is_paid { Ok(()) } else { Err(StoreError::Unpaid) }
    }

    /// Runs `work`, whose CPU time is charged.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let Some(payer) = &self.0 else { return work() };
        let mut done = None;
        payer.run(Box::new(|| done = Some(work())));
        done.expect("a payer runs the work")
    }
}
