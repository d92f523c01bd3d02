//! Bounds of what requests may use before an answer begins, with their default values, and the rows of
//! those that the operator can change.

use bounds::Field::{U32, Usize};
use bounds::Unit::{Count, Mib};
use bounds::{Bound, Bounded, bound};

/// Bounds of what requests may use before an answer begins.
#[derive(Debug, Clone)]
pub struct AccountLimits {
    /// Bytes of memory that all requests may hold while their bodies are read and their prompts are
    /// made.
    pub memory: usize,
    /// CPU time for reading and prompts that the requests of one key may use, in percent of all
    /// cores.
    pub cpu: u32,
}

impl Default for AccountLimits {
    fn default() -> Self {
        Self { memory: 256 << 20, cpu: 50 }
    }
}

impl Bounded for AccountLimits {
    const HEADING: &'static str = "Limits";
    #[rustfmt::skip] // A row per bound.
    const BOUNDS: &'static [Bound<Self>] = &[
        bound("request-memory", Mib, 16..=1_048_576, "Memory for reading requests, all together, at three times the size of their bodies; further requests get 503", |l| Usize(&mut l.memory)),
        bound("request-cpu", Count("PERCENT"), 1..=100, "Share of all cores that reading one key's requests and preparing their prompts may use; further requests get 429 for a while", |l| U32(&mut l.cpu)),
    ];
}
