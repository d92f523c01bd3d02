//! What tests found: rates, what was read for them, and where the time went; as rows of CSV.

use std::fmt::Display;
use std::time::Duration;

use engine::models::{Op, OpCosts};

use super::plan::Test;
use crate::bench::csv::Csv;

/// One test's figures.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Which.
    pub test: Test,
    /// Of each repetition; at least one.
    pub times: Vec<Duration>,
    /// One more repetition.
    pub counted: Counted,
}

/// A repetition whose operations were counted.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    /// Of the whole.
    pub time: Duration,
    /// Of choosing tokens.
    pub sampling: Duration,
    /// Of the model's operations.
    pub ops: OpCosts,
}

/// All tests of one model.
#[derive(Debug, Clone)]
pub struct Report {
    /// What the model is called.
    pub model: String,
    /// What it ran on.
    pub engine: String,
    /// Bytes per second that the same threads read of memory.
    pub read_bandwidth: f64,
    /// Its tests.
    pub tests: Vec<Measured>,
}

/// Names of a step's parts, in the order of [`Counted::parts`].
pub const PARTS: [&str; Op::ALL.len() + 2] = {
    let mut names = [""; Op::ALL.len() + 2];
    let mut i = 0;
    while i < Op::ALL.len() {
        names[i] = Op::ALL[i].name();
        i += 1;
    }
    names[i] = "sampling";
    names[i + 1] = "other";
    names
};

impl Counted {
    /// Time of each part of the steps; `other` is what no operation took.
    pub fn parts(&self) -> [Duration; PARTS.len()] {
        let mut parts = [Duration::ZERO; PARTS.len()];
        for (part, op) in parts.iter_mut().zip(Op::ALL) {
            *part = self.ops.of(op).time;
        }
        let known = self.ops.total().time + self.sampling;
        parts[Op::ALL.len()] = self.sampling;
        parts[Op::ALL.len() + 1] = self.time.saturating_sub(known);
        parts
    }

    /// The same as shares of the whole.
    pub fn shares(&self) -> [f64; PARTS.len()] {
        let whole = self.time.as_secs_f64().max(f64::MIN_POSITIVE);
        self.parts().map(|part| part.as_secs_f64() / whole)
    }
}

#[expect(clippy::cast_precision_loss, reason = "tokens and bytes are far below 2⁵³")]
impl Measured {
    /// The shortest time.
    pub fn best(&self) -> Duration {
        self.times.iter().copied().min().unwrap_or_default()
    }

    /// The time in the middle.
    pub fn median(&self) -> Duration {
        let mut times = self.times.clone();
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    }

    /// Tokens per second, at that time.
    pub fn rate(&self, time: Duration) -> f64 {
        self.test.tokens() as f64 / time.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Bytes of weights that were read for each token, and of the KV cache.
    pub fn bytes_per_token(&self) -> (f64, f64) {
        let (total, tokens) = (self.counted.ops.total(), self.test.tokens() as f64);
        (total.weight_bytes as f64 / tokens, total.cache_bytes as f64 / tokens)
    }

    /// Bytes of both that were read per second, at the shortest time.
    pub fn bandwidth(&self) -> f64 {
        let (weights, cache) = self.bytes_per_token();
        (weights + cache) * self.rate(self.best())
    }
}

impl Report {
    /// A row for each test. Times are in seconds.
    pub fn csv(&self) -> Csv {
        let mut columns = vec![
            "model",
            "engine",
            "test",
            "parallel",
            "n_depth",
            "tokens",
            "repetitions",
            "median_seconds",
            "best_seconds",
            "tokens_per_second",
            "best_tokens_per_second",
            "weight_bytes",
            "cache_bytes",
            "bytes_per_second",
            "read_bandwidth",
            "share_of_read_bandwidth",
            "counted_seconds",
        ];
        let parts: Vec<String> = PARTS.iter().map(|part| format!("{part}_seconds")).collect();
        columns.extend(parts.iter().map(String::as_str));
        let mut csv = Csv::new(&columns);
        for measured in &self.tests {
            self.row(measured, &mut csv);
        }
        csv
    }

    fn row(&self, measured: &Measured, csv: &mut Csv) {
        let Measured { test, times, counted } = measured;
        let (median, best) = (measured.median(), measured.best());
        let total = counted.ops.total();
        let figures = [median.as_secs_f64(), best.as_secs_f64(), measured.rate(median), measured.rate(best)];
        let bandwidth = measured.bandwidth();
        let share = bandwidth / self.read_bandwidth;
        let counts = [test.parallel(), test.depth(), test.tokens(), times.len()];
        let bytes = [total.weight_bytes, total.cache_bytes];
        let rest = [bandwidth, self.read_bandwidth, share, counted.time.as_secs_f64()];
        let parts = counted.parts().map(|part| part.as_secs_f64());
        let mut cells: Vec<&dyn Display> = vec![&self.model, &self.engine, test];
        cells.extend(counts.iter().map(|cell| cell as &dyn Display));
        cells.extend(figures.iter().map(|cell| cell as &dyn Display));
        cells.extend(bytes.iter().map(|cell| cell as &dyn Display));
        cells.extend(rest.iter().chain(&parts).map(|cell| cell as &dyn Display));
        csv.row(cells);
    }
}
