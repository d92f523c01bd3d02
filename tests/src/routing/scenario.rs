//! Scenario of a simulation: sizes, load, and changes of the engines.

/// Kind of routing key of a conversation's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Each conversation has its own key: a hash of its beginning, and of `prompt_cache_key` where
    /// that is sent.
    Conversation,
    /// Where `prompt_cache_key` is sent, it alone is the key, which all conversations of an
    /// application share.
    CacheKeyAlone,
}

/// Sizes and load of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Total number of conversations.
    pub conversations: u32,
    /// Maximum number of engines: an eighth of them is added after a quarter of the time and
    /// removed after seven tenths.
    pub engines: u32,
    /// Number of hosts, each of which routes a share of the turns.
    pub hosts: usize,
    /// Number of conversations that begin per engine and second.
    pub rate_per_engine: f64,
    /// Kind of routing key.
    pub keys: Keys,
    /// KV memory of an engine, in tokens.
    pub kv_tokens: u64,
}

/// Change of an engine, or of the list of engines, at a given time.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    /// The engine loses its requests and its cache and refuses connections.
    Crash(usize),
    /// The engine accepts connections again, with an empty cache.
    Restart(usize),
    /// The engine is healthy but refuses each request.
    Fail(usize),
    /// The engine serves requests again.
    Recover(usize),
    /// The operator lists engines `0..n`.
    List(usize),
}

impl Scenario {
    /// The large scenario. The caches hold about what running conversations need: 60 GB at 131 KB a
    /// token, for a model of 8 B in bf16.
    pub const LARGE: Self = Self {
        conversations: 100_000,
        engines: 64,
        hosts: 1,
        rate_per_engine: 0.3,
        keys: Keys::Conversation,
        kv_tokens: 450_000,
    };

    /// A small scenario, which is quick to simulate.
    pub const SMALL: Self = Self { conversations: 2000, engines: 8, ..Self::LARGE };

    /// Number of conversations that begin per second.
    pub fn rate(&self) -> f64 {
        self.rate_per_engine * f64::from(self.engines)
    }

    /// Microseconds until about the last conversation begins.
    pub fn duration(&self) -> u64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few hours")]
        let duration = (f64::from(self.conversations) / self.rate() * 1e6) as u64;
        duration
    }

    /// Number of engines at the beginning and at the end.
    pub fn fewest_engines(&self) -> usize {
        self.engines as usize * 7 / 8
    }

    /// Changes and their times in microseconds: scaling up and down, crashes of two minutes each,
    /// an engine that fails for one minute.
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
