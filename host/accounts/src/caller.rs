//! The request for which work is done, as the threads see it that do the work.

use tokio_util::sync::{CancellationToken, DropGuard};

use super::{CpuMeter, Principal};

/// The request for which work is done: whose it is, who pays the CPU time, and whether its client
/// still waits.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// Principal of the request.
    pub principal: Principal,
    /// Meter of its CPU time.
    pub meter: CpuMeter,
    left: CancellationToken,
}

impl Caller {
    /// A caller whose client waits.
    pub fn new(principal: Principal, meter: CpuMeter) -> Self {
        Self { principal, meter, left: CancellationToken::new() }
    }

    /// Guard of the future that waits for the work: when it is dropped, the client has left.
    pub fn waits(&self) -> DropGuard {
        self.left.clone().drop_guard()
    }

    /// Whether the client has left, so that nobody needs the work any more.
    pub fn has_left(&self) -> bool {
        self.left.is_cancelled()
    }
}
