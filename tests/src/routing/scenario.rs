//! What a simulation runs: sizes, load, and what happens to the engines meanwhile.

/// What a conversation's requests are routed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Each conversation has its own: a hash of what it begins with, and of `prompt_cache_key` where it is sent.
    Conversation,
    /// Where `prompt_cache_key` is sent, it alone is the key, which all conversations of an application share.
    CacheKeyAlone,
}

/// Sizes of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Conversations in all.
    pub conversations: u32,
    /// Engines at most: an eighth of them comes after a quarter of the time and goes after seven tenths.
    pub engines: u32,
    /// Hosts that route, each a share of the turns.
    pub hosts: usize,
    /// Conversations that begin per engine and second.
    pub rate_per_engine: f64,
    /// What requests are routed by.
    pub keys: Keys,
    /// Tokens of KV memory of an engine.
    pub kv_tokens: u64,
}

/// Change of an engine from outside.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    /// It loses its requests and its cache and refuses connections.
    Crash(usize),
    /// It is back, with an empty cache.
    Restart(usize),
    /// It is healthy and refuses each request.
    Fail(usize),
    /// It serves again.
    Recover(usize),
    /// The operator lists engines `0..n`.
    List(usize),
}

impl Scenario {
    /// The large one. The caches hold about what conversations under way need: 60 GB at 131 KB a token, a model of 8 B in bf16.
    pub const LARGE: Self = Self {
        conversations: 100_000,
        engines: 64,
        hosts: 1,
        rate_per_engine: 0.3,
        keys: Keys::Conversation,
        kv_tokens: 450_000,
    };

    /// One that takes a moment.
    pub const SMALL: Self = Self { conversations: 2000, engines: 8, ..Self::LARGE };

    /// Conversations per second.
    pub fn rate(&self) -> f64 {
        self.rate_per_engine * f64::from(self.engines)
    }

    /// Microseconds until about the last conversation begins.
    pub fn duration(&self) -> u64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few hours")]
        let duration = (f64::from(self.conversations) / self.rate() * 1e6) as u64;
        duration
    }

    /// Engines at the beginning and at the end.
    pub fn fewest_engines(&self) -> usize {
        self.engines as usize * 7 / 8
    }

    /// Changes and their times in microseconds: scale up and down, crashes of two minutes, an engine that fails for one.
    pub fn changes(&self) -> Vec<(u64, Change)> {
        let at = |percent: u64| self.duration() / 100 * percent;
        let mut changes = vec![
            (at(25), Change::List(self.engines as usize)),
            (at(60), Change::Fail(3)),
            (at(60) + 60_000_000, Change::Recover(3)),
            (at(70), Change::List(self.fewest_engines())),
        ];
        for (percent, engine) in [(35, 1), (40, 2), (50, 4), (85, 5)] {
            changes.push((at(percent), Change::Crash(engine)));
            changes.push((at(percent) + 120_000_000, Change::Restart(engine)));
        }
        changes
    }
}
