//! Counters of the tokens that each principal was given, which the queue compares: virtual token
//! counters (Sheng et al. 2024, "Fairness in serving large language models").
//!
//! Prompt tokens count when a request begins, without those that the prefix cache had; generated
//! tokens count when they come. The counter of a principal that comes back after a while is lifted
//! to the least of those that wait or, where none waits, of those with sequences that have begun,
//! so that unused time isn't saved up.

use std::collections::HashMap;

/// Number of accounts below which none is dropped. Beyond it, accounts at or below `floor` are
/// dropped, which count as `floor` anyway.
const REMEMBERED: usize = 1024;

/// The counters.
#[derive(Debug, Default)]
pub(super) struct VirtualTokens {
    accounts: HashMap<u64, Account>,
    /// Highest counter of a principal at the time when a request of it began; the counter of a
    /// principal without an account.
    floor: u64,
    /// Number of requests that began.
    served: u64,
}

/// Tokens that a principal was given, and when it was last served. Of two accounts, the lesser one
/// is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Account {
    pub(super) tokens: u64,
    /// Number of requests, of all principals, that had begun when the last one of this principal
    /// did; 0: none of it has begun.
    served: u64,
}

impl VirtualTokens {
    /// A principal's account.
    pub(super) fn of(&self, principal: u64) -> Account {
        let unknown = Account { tokens: self.floor, served: 0 };
        self.accounts.get(&principal).copied().unwrap_or(unknown)
    }

    /// Lifts the counter of a principal that begins to wait to the least counter of those that wait
    /// already; if none does, to that of the principals of `begun` or to `floor`, whichever is
    /// more.
    pub(super) fn join(
        &mut self,
        principal: u64,
        waiting: impl Iterator<Item = u64>,
        begun: impl Iterator<Item = u64>,
    ) {
        if self.accounts.len() >= REMEMBERED {
            let floor = self.floor;
            self.accounts.retain(|_, account| account.tokens > floor);
        }
        let tokens = |principal| self.of(principal).tokens;
        let least = waiting.map(tokens).min();
        let least = least.unwrap_or_else(|| begun.map(tokens).min().unwrap_or(0).max(self.floor));
        let account = self.of(principal);
        self.accounts.insert(principal, Account { tokens: least.max(account.tokens), ..account });
    }

    /// Records that a request of a principal begins.
    pub(super) fn serve(&mut self, principal: u64) {
        let account = self.of(principal);
        self.floor = self.floor.max(account.tokens);
        self.served += 1;
        self.accounts.insert(principal, Account { served: self.served, ..account });
    }

    /// Adds tokens that a principal was given to its counter.
    pub(super) fn charge(&mut self, principal: u64, tokens: usize) {
        let account = self.of(principal);
        let tokens = account.tokens.saturating_add(tokens as u64);
        self.accounts.insert(principal, Account { tokens, ..account });
    }
}
