//! Reads of the store for requests. Few are made at a time, and keys take turns, so that the many
//! reads of one key keep no other waiting.
//!
//! Invariant: what a request reads is paid for before it is read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store::{Budget, Payer, StoreError};

use crate::accept::app::App;
use crate::accept::body;
use crate::state::store_error;
use accounts::{Account, CpuMeter, Overdrawn};
use api::error::ApiError;

/// Makes a read that `account` pays for, `copies` times the size of each body, with its CPU time.
/// Returns what was read and the account.
///
/// # Errors
/// The refusal of an overdrawn account, and those of the store.
pub(crate) async fn paid<T, R: Future<Output = store::Result<T>>>(
    app: &App,
    account: Account,
    copies: usize,
    read: impl FnOnce(Budget) -> R,
) -> Result<(T, Account), ApiError> {
    paid_or(app, account, copies, read, store_error::refusal).await
}

/// As [`paid`], with the words that this kind of request has for the store's errors.
///
/// # Errors
/// The refusal of an overdrawn account, and what `refusal` makes of the store's.
pub(crate) async fn paid_or<T, R: Future<Output = store::Result<T>>>(
    app: &App,
    account: Account,
    copies: usize,
    read: impl FnOnce(Budget) -> R,
    refusal: fn(StoreError) -> ApiError,
) -> Result<(T, Account), ApiError> {
    account.check_cpu().map_err(body::refusal)?;
    let turn = app.reads.ask(account.principal()).await;
    let _turn = turn.map_err(|_| ApiError::unavailable("The server is stopping."))?;
    let purse = Arc::new(Purse::new(account, copies));
    let read = read(Budget::of(purse.clone())).await;
    let Held { account, overdrawn } = std::mem::take(&mut *purse.held());
    match (read, overdrawn, account) {
        (Ok(read), None, Some(account)) => Ok((read, account)),
        (Err(StoreError::Unpaid), Some(overdrawn), _) => Err(body::refusal(overdrawn)),
        (Err(error), ..) => Err(refusal(error)),
        (Ok(_), ..) => Err(ApiError::internal("The server failed to pay for what it read.")),
    }
}

/// An account in the hands of the store.
struct Purse {
    copies: usize,
    meter: CpuMeter,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    /// None once the read is over.
    account: Option<Account>,
    /// Why the account couldn't pay.
    overdrawn: Option<Overdrawn>,
}

impl Purse {
    fn new(account: Account, copies: usize) -> Self {
        let meter = account.meter();
        Self { copies, meter, held: Mutex::new(Held { account: Some(account), overdrawn: None }) }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Payer for Purse {
    fn pay(&self, bytes: u64) -> bool {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).saturating_mul(self.copies);
        let mut held = self.held();
        let Held { account: Some(account), overdrawn } = &mut *held else { return false };
        *overdrawn = account.hold(bytes).err();
        overdrawn.is_none()
    }

    fn run(&self, work: Box<dyn FnOnce() + '_>) {
        self.meter.run(work);
    }
}
