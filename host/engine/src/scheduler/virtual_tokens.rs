//! How many tokens each principal was given, for the sake of comparison: virtual token counters (Sheng et al. 2024, "Fairness in serving
//! large language models").
//!
//! Tokens of prompts count when a request begins, without those that the prefix cache had; generated ones when they come. One who
//! comes back after a while is lifted to the least of those who wait: time that it didn't use isn't saved up.

use std::collections::HashMap;

/// Principals that are remembered in any case; where there are more, those that a lift would forget are forgotten.
const REMEMBERED: usize = 1024;

/// The counters.
#[derive(Debug, Default)]
pub(super) struct VirtualTokens {
    accounts: HashMap<u64, Account>,
    /// The counter of the principal whose request began last. Who isn't known has so many.
    floor: u64,
    /// Requests that began.
    served: u64,
}

/// What a principal was given, and when it was last served. Of two, the lesser one is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Account {
    pub(super) tokens: u64,
    /// Which request of all its last one was; 0: none.
    served: u64,
}

impl VirtualTokens {
    /// A principal's account.
    pub(super) fn of(&self, principal: u64) -> Account {
        let unknown = Account { tokens: self.floor, served: 0 };
        self.accounts.get(&principal).copied().unwrap_or(unknown)
    }

    /// A principal that had nothing waiting has something, beside others of which the least has so many tokens.
    pub(super) fn join(&mut self, principal: u64, least: Option<u64>) {
        if self.accounts.len() >= REMEMBERED {
            let floor = self.floor;
            self.accounts.retain(|_, account| account.tokens > floor);
        }
        let least = least.unwrap_or(self.floor);
        let account = self.of(principal);
        self.accounts.insert(principal, Account { tokens: least.max(account.tokens), ..account });
    }

    /// A principal's request begins.
    pub(super) fn serve(&mut self, principal: u64) {
        let account = self.of(principal);
        self.floor = self.floor.max(account.tokens);
        self.served += 1;
        self.accounts.insert(principal, Account { served: self.served, ..account });
    }

    /// A principal was given tokens.
    pub(super) fn charge(&mut self, principal: u64, tokens: usize) {
        let account = self.of(principal);
        let tokens = account.tokens.saturating_add(tokens as u64);
        self.accounts.insert(principal, Account { tokens, ..account });
    }
}
