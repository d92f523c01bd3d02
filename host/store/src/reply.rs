//! The answer of a transaction, which is measured, whatever store makes it: how long it takes, and
//! how it fails.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use crate::{Result, StoreError};

system::declare_metrics! {
    histogram TRANSACTIONS = "sluice_store_transaction_seconds", "Time of transactions of the store, by kind.";
    counter ERRORS = "sluice_store_errors_total", "Transactions that the store didn't make, by reason.";
}

/// Makes the metrics of transactions that haven't happened yet.
pub fn register_metrics() {
    for kind in [Kind::Read, Kind::Write] {
        let _ = metrics::histogram!(TRANSACTIONS.name(), "kind" => kind.word());
    }
    for reason in REASONS {
        let _ = metrics::counter!(ERRORS.name(), "reason" => reason);
    }
}

/// Whether a transaction writes.
#[derive(Clone, Copy)]
enum Kind {
    Read,
    Write,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

const REASONS: [&str; 8] =
    ["duplicate", "locked", "full", "queue_full", "too_long", "unpaid", "lease_lost", "unavailable"];

/// Word for an error; none where what was asked for isn't there, or is there already, which is an
/// answer.
fn reason(error: &StoreError) -> Option<&'static str> {
    match error {
        StoreError::NotFound | StoreError::DuplicateItem(_) | StoreError::Nul => None,
        StoreError::Duplicate | StoreError::Conflict { .. } => Some("duplicate"),
        StoreError::Locked | StoreError::Continued { .. } => Some("locked"),
        StoreError::Full(_) => Some("full"),
        StoreError::QueueFull(_) => Some("queue_full"),
        StoreError::TooLong(_) => Some("too_long"),
        StoreError::Unpaid => Some("unpaid"),
        StoreError::LeaseLost | StoreError::Sequence { .. } => Some("lease_lost"),
        StoreError::Unavailable(_) => Some("unavailable"),
    }
}

/// The answer of a transaction, which begins when it is first polled.
#[must_use = "nothing is read or written before it is polled"]
pub struct Reply<T>(Pin<Box<dyn Future<Output = Result<T>> + Send>>);

impl<T> Reply<T> {
    /// The answer of one that only reads.
    pub fn read(transaction: impl Future<Output = Result<T>> + Send + 'static) -> Self {
        Self::measured(Kind::Read, transaction)
    }

    /// The answer of one that writes.
    pub fn write(transaction: impl Future<Output = Result<T>> + Send + 'static) -> Self {
        Self::measured(Kind::Write, transaction)
    }

    fn measured(kind: Kind, transaction: impl Future<Output = Result<T>> + Send + 'static) -> Self {
        Self(Box::pin(async move {
            let begun = Instant::now();
            let result = transaction.await;
            metrics::histogram!(TRANSACTIONS.name(), "kind" => kind.word()).record(begun.elapsed());
            if let Some(reason) = result.as_ref().err().and_then(reason) {
                metrics::counter!(ERRORS.name(), "reason" => reason).increment(1);
            }
            result
        }))
    }
}

impl<T> Future for Reply<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}
