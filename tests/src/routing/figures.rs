//! Figures that a simulation measures.

/// Length in microseconds of a window over which loads are averaged.
pub(super) const WINDOW: u64 = 60_000_000;
/// Number of windows at the beginning that don't count, since the load is still rising.
const WARM_UP: usize = 4;

/// Figures of one policy.
#[derive(Default)]
pub struct Figures {
    /// Number of requests that were admitted to a batch.
    pub requests: u64,
    /// Number of prompt tokens after the system prompts.
    pub own_tokens: u64,
    /// Number of those tokens that were cached.
    pub own_hits: u64,
    /// Number of requests that were queued on an engine, beyond the first of each conversation;
    /// repeated attempts count again.
    pub later_placements: u64,
    /// Number of those requests that were queued on another engine than the request before.
    pub moves: u64,
    /// Number of attempts that failed before their first token, so that other engines were tried.
    pub retries: u64,
    /// Number of answers that were cut off and of requests that no engine took.
    pub failures: u64,
    /// Microseconds from each request's arrival to its first token.
    first_tokens: Vec<u32>,
    /// Loads of the engines.
    pub loads: Loads,
}

impl Figures {
    /// No figures yet.
    pub(super) fn new(engines: usize) -> Self {
        Self {
            loads: Loads { engines: vec![Load::default(); engines], windows: Vec::new() },
            ..Self::default()
        }
    }

    pub(super) fn first_token(&mut self, after: u64) {
        self.first_tokens.push(u32::try_from(after).unwrap_or(u32::MAX));
    }

    /// Share of the prompts' own tokens that were cached.
    pub fn hit_rate(&self) -> f64 {
        share(self.own_hits, self.own_tokens)
    }

    /// Share of the later placements that moved to another engine.
    pub fn move_rate(&self) -> f64 {
        share(self.moves, self.later_placements)
    }

    /// Percentile of the time to the first token, in seconds.
    pub fn first_token_seconds(&mut self, percent: usize) -> f64 {
        let at = (self.first_tokens.len() * percent / 100).min(self.first_tokens.len().saturating_sub(1));
        if self.first_tokens.is_empty() {
            0.0
        } else {
            f64::from(*self.first_tokens.select_nth_unstable(at).1) / 1e6
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Loads of the engines, averaged over windows of time.
#[derive(Default)]
pub struct Loads {
    engines: Vec<Load>,
    /// Loads of each window: the mean over the engines, and the highest relative to the mean.
    windows: Vec<(f64, f64)>,
}

#[derive(Clone, Default)]
struct Load {
    now: usize,
    since: u64,
    /// Integral of the load over this window, in requests × microseconds.
    sum: u64,
    /// Whether the engine was absent for a part of the window.
    was_absent: bool,
    is_absent: bool,
}

impl Loads {
    pub(super) fn set(&mut self, engine: usize, load: usize, now: u64) {
        self.engines[engine].advance(now);
        self.engines[engine].now = load;
    }

    pub(super) fn set_absent(&mut self, engine: usize, is_absent: bool) {
        let engine = &mut self.engines[engine];
        engine.is_absent = is_absent;
        engine.was_absent |= is_absent;
    }

    /// Ends a window, in which only engines count that were present for all of it.
    pub(super) fn end_window(&mut self, now: u64) {
        let mut sums = Vec::new();
        for engine in &mut self.engines {
            engine.advance(now);
            if !engine.was_absent {
                sums.push(engine.sum);
            }
            engine.sum = 0;
            engine.was_absent = engine.is_absent;
        }
        let mean = share(sums.iter().sum(), WINDOW * sums.len() as u64);
        self.windows.push((mean, share(sums.into_iter().max().unwrap_or(0), WINDOW) / mean));
    }

    /// Highest load of an engine in a window, relative to the mean of that window.
    pub fn max_imbalance(&self) -> f64 {
        self.counted().map(|window| window.1).fold(0.0, f64::max)
    }

    /// Highest load of an engine relative to the mean, in the median window.
    pub fn median_imbalance(&self) -> f64 {
        let mut spreads: Vec<f64> = self.counted().map(|window| window.1).collect();
        spreads.sort_by(f64::total_cmp);
        spreads.get(spreads.len() / 2).copied().unwrap_or(0.0)
    }

    /// Mean load of an engine.
    pub fn mean(&self) -> f64 {
        let total: f64 = self.counted().map(|window| window.0).sum();
        #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
        let mean = total / self.counted().count() as f64;
        mean
    }

    fn counted(&self) -> impl Iterator<Item = &(f64, f64)> {
        self.windows.iter().skip(WARM_UP)
    }
}

impl Load {
    fn advance(&mut self, now: u64) {
        self.sum += self.now as u64 * (now - self.since);
        self.since = now;
    }
}
