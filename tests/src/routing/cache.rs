//! Prefix cache of one engine: chains of tokens by key. The least recently used chain is evicted
//! first, from its end.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use super::random::mix;

#[derive(Default)]
pub(super) struct PrefixCache {
    chains: HashMap<u64, Chain, BuildHasherDefault<KeyHasher>>,
    /// Keys with the numbers of their uses, the oldest first. An entry is skipped if its key was
    /// used again later.
    uses: VecDeque<(u64, u64)>,
    used: u64,
    tokens: u64,
}

struct Chain {
    tokens: u32,
    last_use: u64,
}

impl PrefixCache {
    /// Number of cached tokens of the chain `key`.
    pub(super) fn tokens_of(&self, key: u64) -> u32 {
        self.chains.get(&key).map_or(0, |chain| chain.tokens)
    }

    /// Makes the chain `tokens` long and the most recently used.
    pub(super) fn put(&mut self, key: u64, tokens: u32) {
        self.used += 1;
        let chain = Chain { tokens, last_use: self.used };
        let before = self.chains.insert(key, chain).map_or(0, |chain| chain.tokens);
        self.tokens = self.tokens + u64::from(tokens) - u64::from(before);
        self.uses.push_back((key, self.used));
        if self.uses.len() > 64 + 4 * self.chains.len() {
            let chains = &self.chains;
            self.uses.retain(|(key, at)| chains.get(key).is_some_and(|chain| chain.last_use == *at));
        }
    }

    /// Evicts until at most `limit` tokens are left.
    pub(super) fn shrink(&mut self, limit: u64) {
        while self.tokens > limit
            && let Some((key, at)) = self.uses.pop_front()
        {
            let Some(chain) = self.chains.get_mut(&key).filter(|chain| chain.last_use == at) else {
                continue;
            };
            let excess = self.tokens - limit;
            if u64::from(chain.tokens) > excess {
                chain.tokens -= u32::try_from(excess).unwrap_or(0);
                self.tokens -= excess;
                self.uses.push_front((key, at));
            } else {
                self.tokens -= u64::from(chain.tokens);
                self.chains.remove(&key);
            }
        }
    }

    pub(super) fn tokens(&self) -> u64 {
        self.tokens
    }
}

/// Hasher of keys that are numbers.
#[derive(Default)]
pub(super) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = mix(self.0 ^ value);
    }
}
