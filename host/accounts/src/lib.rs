//! Budgets of what requests may use before an answer begins: memory for their bodies, and CPU time
//! for reading them and making their prompts. Each request has an [`Account`]; the accounts of one
//! principal, and those of all, are bounded together.
//!
//! Invariant: the memory of an account is given back when the account is dropped, and no request
//! gets more than its principal has left. The transport opens accounts; this module knows neither
//! HTTP nor models.
#![doc = include_str!("../DESIGN.md")]

mod caller;
mod cpu;
mod limits;
mod memory;
mod slots;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub use caller::Caller;
pub use cpu::CpuMeter;
pub use slots::{TurnSlot, TurnSlots};

use sha2::{Digest, Sha256};

use cpu::CpuShare;
use memory::Memory;

pub use limits::AccountLimits;

/// Owner of a request, and of what is kept of it: the name of its API key, never the key, nor the
/// key's place in a list. So all keys of one name are one principal, and a new key in place of an
/// old one changes nothing. Without keys every request's owner is [`Principal::LOCAL`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal(Arc<str>);

impl Default for Principal {
    fn default() -> Self {
        Self::new(Self::LOCAL)
    }
}

impl Principal {
    /// Name of the owner of all requests where no key is required. No key can have it.
    pub const LOCAL: &str = "local";

    /// The principal of this name.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// Name of the principal.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Number of the principal, by which engines are fair among principals. It says nothing of the
    /// salts.
    pub fn number(&self) -> u64 {
        leading_bytes(Sha256::new_with_prefix("principal").chain_update(self.name()))
    }

    /// Salt that keeps the principal's blocks of the prefix cache apart from others': the time of
    /// an answer would reveal other principals' prompts.
    pub fn cache_salt(&self) -> u64 {
        leading_bytes(Sha256::new_with_prefix(self.name()))
    }

    /// Salt that keeps blocks apart from those of the principal's other requests, too: of requests
    /// with another `text`, or with none.
    pub fn cache_salt_with(&self, text: &str) -> u64 {
        let mut hash = Sha256::new();
        hash.update(self.cache_salt().to_be_bytes());
        hash.update(text);
        leading_bytes(hash)
    }
}

/// The first 8 bytes of a digest, big endian.
pub fn leading_bytes(hash: Sha256) -> u64 {
    hash.finalize().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Why a request gets no more memory or CPU time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Overdrawn {
    /// The memory for request bodies is in use.
    #[error("the server's memory for requests is in use")]
    Memory,
    /// The principal's part of that memory is in use.
    #[error("this key's requests hold all the memory that they may")]
    PrincipalMemory,
    /// The request takes more than one request may, whatever others hold: waiting doesn't help.
    #[error("one request may hold {most} bytes of the memory for requests")]
    Request {
        /// What one request may hold.
        most: usize,
    },
    /// The principal's requests have used their CPU time.
    #[error("this key's requests have used their CPU time for now")]
    Cpu {
        /// Time until the principal has CPU time again.
        retry_after: Duration,
    },
}

impl Overdrawn {
    /// Name of the exhausted budget, for metrics.
    pub fn what(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::PrincipalMemory => "key_memory",
            Self::Request { .. } => "request",
            Self::Cpu { .. } => "key_cpu",
        }
    }
}

/// Budgets of one server, from which accounts are opened.
pub struct Accounts {
    memory: Arc<Memory>,
    cpu: CpuShare,
    principal_memory: usize,
    principals: Mutex<HashMap<Principal, Arc<PrincipalUsage>>>,
}

/// Use of all requests of one principal.
struct PrincipalUsage {
    memory: Arc<Memory>,
    cpu: CpuMeter,
}

impl Accounts {
    /// Makes the budgets of `principals` principals. If there are several, each may hold half of
    /// the memory.
    pub fn new(limits: &AccountLimits, principals: usize) -> Self {
        Self {
            memory: Arc::new(Memory::new(limits.memory)),
            cpu: CpuShare::new(limits.cpu),
            principal_memory: principal_memory(limits, principals),
            principals: Mutex::default(),
        }
    }

    /// Makes budgets of `bytes` of memory for what is kept for principals between requests. Its CPU
    /// time is never charged.
    pub fn of_kept(bytes: usize, limits: &AccountLimits, principals: usize) -> Self {
        Self::new(&AccountLimits { memory: bytes, cpu: limits.cpu }, principals)
    }

    /// Opens an account for one request; it holds nothing yet.
    pub fn open(&self, principal: Principal) -> Account {
        let mut principals = self.principals.lock().unwrap_or_else(PoisonError::into_inner);
        let usage = principals.entry(principal.clone()).or_insert_with(|| {
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

/// Bytes that each of `principals` principals may hold.
fn principal_memory(limits: &AccountLimits, principals: usize) -> usize {
    if principals > 1 { limits.memory / 2 } else { limits.memory }
}

/// Bytes that one request may hold if no other request holds any.
pub fn largest_account(limits: &AccountLimits, principals: usize) -> usize {
    memory::most_of_one(principal_memory(limits, principals))
}

/// Memory and CPU time of one request.
pub struct Account {
    principal: Principal,
    server: Arc<Memory>,
    usage: Arc<PrincipalUsage>,
    held: usize,
}

impl Account {
    /// Takes `bytes` more memory.
    ///
    /// # Errors
    /// There is no room; the account is unchanged.
    pub fn hold(&mut self, bytes: usize) -> Result<(), Overdrawn> {
        let most = self.server.most_of_one().min(self.usage.memory.most_of_one());
        if self.held.saturating_add(bytes) > most {
            return Err(Overdrawn::Request { most });
        }
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

    /// Principal of the request.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Bytes that the account holds.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Meter that charges this request's principal. It also works after the account is dropped, for
    /// prompts that are made later.
    pub fn meter(&self) -> CpuMeter {
        self.usage.cpu.clone()
    }

    /// Checks that the principal has CPU time left.
    ///
    /// # Errors
    /// The principal has none left: earlier work has used it up.
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
