//! What requests may use of the server before an answer begins: memory for their bodies, and CPU time for reading them and making
//! their prompts. Each request has an [`Account`]; the accounts of one principal, and of all, are bounded together.
//!
//! Invariant: what an account holds of memory goes back when it is dropped, and no request gets more than its principal has left.
//! The transport opens accounts; this room knows neither HTTP nor models.

mod cpu;
mod memory;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub use cpu::CpuMeter;

use cpu::CpuShare;
use memory::Memory;

use crate::limits::Limits;

/// Who a request is from: an API key by its place among the keys, never the key itself; without keys everybody is the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Principal(pub usize);

impl Principal {
    /// Keeps its blocks of the prefix cache apart from those of others: how long an answer takes would tell what they asked.
    pub fn cache_salt(self) -> u64 {
        self.0 as u64
    }
}

/// Why a request gets nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Overdrawn {
    /// The memory for request bodies is in use.
    #[error("the server's memory for requests is in use")]
    Memory,
    /// This principal's part of it is.
    #[error("this key's requests hold all the memory that they may")]
    PrincipalMemory,
    /// The principal's requests have used their CPU time.
    #[error("this key's requests have used their CPU time for now")]
    Cpu {
        /// Until there is some again.
        retry_after: Duration,
    },
}

impl Overdrawn {
    /// What there is too little of, in a word for metrics.
    pub fn what(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::PrincipalMemory => "key_memory",
            Self::Cpu { .. } => "key_cpu",
        }
    }
}

/// The accounts of one server.
pub struct Accounts {
    memory: Arc<Memory>,
    cpu: CpuShare,
    principal_memory: usize,
    principals: Mutex<HashMap<Principal, Arc<PrincipalUsage>>>,
}

/// What the requests of one principal use together.
struct PrincipalUsage {
    memory: Arc<Memory>,
    cpu: CpuMeter,
}

impl Accounts {
    /// For `principals` of them. With several, each may hold half of the memory.
    pub fn new(limits: &Limits, principals: usize) -> Self {
        Self {
            memory: Arc::new(Memory::new(limits.request_memory)),
            cpu: CpuShare::new(limits.request_cpu),
            principal_memory: principal_memory(limits, principals),
            principals: Mutex::default(),
        }
    }

    /// An account for one request, which holds nothing yet.
    pub fn open(&self, principal: Principal) -> Account {
        let mut principals = self.principals.lock().unwrap_or_else(PoisonError::into_inner);
        let usage = principals.entry(principal).or_insert_with(|| {
            let memory = Arc::new(Memory::new(self.principal_memory));
            let bucket = Arc::new(Mutex::new(self.cpu.bucket(Instant::now())));
            Arc::new(PrincipalUsage { memory, cpu: CpuMeter::new(bucket) })
        });
        Account { principal, server: Arc::clone(&self.memory), usage: Arc::clone(usage), held: 0 }
    }

    /// Bytes that all requests hold now.
    pub fn memory_held(&self) -> usize {
        self.memory.held()
    }
}

/// Bytes that each of `principals` may hold.
fn principal_memory(limits: &Limits, principals: usize) -> usize {
    if principals > 1 { limits.request_memory / 2 } else { limits.request_memory }
}

/// Bytes that one request may hold when nobody else holds any.
pub fn largest_account(limits: &Limits, principals: usize) -> usize {
    memory::most_of_one(principal_memory(limits, principals))
}

/// What one request uses.
pub struct Account {
    principal: Principal,
    server: Arc<Memory>,
    usage: Arc<PrincipalUsage>,
    held: usize,
}

impl Account {
    /// Holds `bytes` more.
    ///
    /// # Errors
    /// There is no room for them; the account holds what it held.
    pub fn hold(&mut self, bytes: usize) -> Result<(), Overdrawn> {
        if !self.usage.memory.take(self.held, bytes) {
            return Err(Overdrawn::PrincipalMemory);
        }
        if !self.server.take(self.held, bytes) {
            self.usage.memory.give_back(bytes);
            return Err(Overdrawn::Memory);
        }
        self.held += bytes;
        Ok(())
    }

    /// Whose it is.
    pub fn principal(&self) -> Principal {
        self.principal
    }

    /// Bytes that it holds.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Books the CPU time of this request, for as long as that takes: also that of prompts made after the account is closed.
    pub fn meter(&self) -> CpuMeter {
        self.usage.cpu.clone()
    }

    /// Says whether the principal has CPU time left.
    ///
    /// # Errors
    /// It has none; what was under way was booked.
    pub fn check_cpu(&self) -> Result<(), Overdrawn> {
        self.usage.cpu.check().map_err(|retry_after| Overdrawn::Cpu { retry_after })
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.usage.memory.give_back(self.held);
        self.server.give_back(self.held);
    }
}

#[cfg(test)]
mod tests;
