//! Results of tests: rates, bytes read, and the time of each part of a step; also as rows of CSV.

use std::fmt::Display;
use std::time::Duration;

use engine::models::{OpCosts, OpKind};

use super::plan::Test;
use crate::csv::Csv;

/// Results of one test.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Test that was run.
    pub test: Test,
    /// Timed repetitions, at least one.
    pub timed: Vec<Repetition>,
    /// One more repetition, in which operations were counted.
    pub counted: Counted,
}

/// A repetition that was timed without counting operations.
#[derive(Debug, Clone, Copy)]
pub struct Repetition {
    /// Time of the repetition's steps.
    pub time: Duration,
    /// Bytes per second that the same threads can read from memory: the mean of measurements before
    /// and after the repetition.
    pub read_bandwidth: f64,
}

/// A repetition whose operations were counted.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    /// Time of the whole repetition.
    pub time: Duration,
    /// Time of sampling.
    pub sampling: Duration,
    /// Costs of the model's operations.
    pub ops: OpCosts,
}

/// Results of all tests of one model.
#[derive(Debug, Clone)]
pub struct ModelReport {
    /// Name of the model.
    pub model: String,
    /// Name of the engine.
    pub engine: String,
    /// Results, one per test.
    pub tests: Vec<Measured>,
}

/// Names of a step's parts, in the order of [`Counted::parts`].
pub const PARTS: [&str; OpKind::ALL.len() + 2] = {
    let mut names = [""; OpKind::ALL.len() + 2];
    let mut i = 0;
    while i < OpKind::ALL.len() {
        names[i] = OpKind::ALL[i].name();
        i += 1;
    }
    names[i] = "sampling";
    names[i + 1] = "other";
    names
};

impl Counted {
    /// Time of each part of the steps; `other` is the time outside of operations and sampling.
    pub fn parts(&self) -> [Duration; PARTS.len()] {
        let mut parts = [Duration::ZERO; PARTS.len()];
        for (part, op) in parts.iter_mut().zip(OpKind::ALL) {
            *part = self.ops.of(op).time;
        }
        let known = self.ops.total().time + self.sampling;
        parts[OpKind::ALL.len()] = self.sampling;
        parts[OpKind::ALL.len() + 1] = self.time.saturating_sub(known);
        parts
    }

    /// Time of each part as a share of the whole, 0 to 1.
    pub fn shares(&self) -> [f64; PARTS.len()] {
        let whole = self.time.as_secs_f64().max(f64::MIN_POSITIVE);
        self.parts().map(|part| part.as_secs_f64() / whole)
    }
}

#[expect(clippy::cast_precision_loss, reason = "tokens and bytes are far below 2⁵³")]
impl Measured {
    /// Shortest time of the repetitions.
    pub fn best(&self) -> Duration {
        self.timed.iter().map(|repetition| repetition.time).min().unwrap_or_default()
    }

    /// Median time of the repetitions.
    pub fn median(&self) -> Duration {
        let mut times: Vec<Duration> = self.timed.iter().map(|repetition| repetition.time).collect();
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    }

    /// Tokens per second if the test takes `time`.
    pub fn rate(&self, time: Duration) -> f64 {
        self.test.tokens() as f64 / time.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Bytes of weights and of KV cache that are read per token.
    pub fn bytes_per_token(&self) -> (f64, f64) {
        let (total, tokens) = (self.counted.ops.total(), self.test.tokens() as f64);
        (total.weight_bytes as f64 / tokens, total.cache_bytes as f64 / tokens)
    }

    /// Bytes of weights and KV cache that are read per second, at the shortest time.
    pub fn bandwidth(&self) -> f64 {
        let (weights, cache) = self.bytes_per_token();
        (weights + cache) * self.rate(self.best())
    }

    /// Median of the memory bandwidth that was measured beside the repetitions, in bytes per
    /// second.
    pub fn read_bandwidth(&self) -> f64 {
        middle(self.timed.iter().map(|repetition| repetition.read_bandwidth))
    }

    /// Median share of the memory bandwidth that was used. Each repetition is compared with the
    /// bandwidth measured beside it.
    pub fn share_of_reads(&self) -> f64 {
        let (weights, cache) = self.bytes_per_token();
        let used = |time| (weights + cache) * self.rate(time);
        middle(self.timed.iter().map(|repetition| used(repetition.time) / repetition.read_bandwidth))
    }
}

/// Median of `figures`, or zero if there are none.
fn middle(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

impl ModelReport {
    /// Minimum, median and maximum of the memory bandwidth over all repetitions, in bytes per
    /// second.
    pub fn read_bandwidth(&self) -> [f64; 3] {
        let all =
            || self.tests.iter().flat_map(|test| &test.timed).map(|repetition| repetition.read_bandwidth);
        let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
        [least.min(most), middle(all()), most]
    }

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
        let Measured { test, timed, counted } = measured;
        let (median, best) = (measured.median(), measured.best());
        let total = counted.ops.total();
        let figures = [median.as_secs_f64(), best.as_secs_f64(), measured.rate(median), measured.rate(best)];
        let counts = [test.parallel(), test.depth(), test.tokens(), timed.len()];
        let bytes = [total.weight_bytes, total.cache_bytes];
        let (read, share) = (measured.read_bandwidth(), measured.share_of_reads());
        let rest = [measured.bandwidth(), read, share, counted.time.as_secs_f64()];
        let parts = counted.parts().map(|part| part.as_secs_f64());
        let mut cells: Vec<&dyn Display> = vec![&self.model, &self.engine, test];
        cells.extend(counts.iter().map(|cell| cell as &dyn Display));
        cells.extend(figures.iter().map(|cell| cell as &dyn Display));
        cells.extend(bytes.iter().map(|cell| cell as &dyn Display));
        cells.extend(rest.iter().chain(&parts).map(|cell| cell as &dyn Display));
        csv.row(cells);
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "small whole numbers")]
mod tests {
    use engine::models::OpCosts;

    use super::*;

    #[test]
    fn repetitions_are_compared_with_memory_of_their_time() {
        let repetition = |millis, read_bandwidth| {
            let time = Duration::from_millis(millis);
            Repetition { time, read_bandwidth }
        };
        let mut measured = Measured {
            test: Test::Decode { tokens: 1, parallel: 1, depth: 0 },
            timed: vec![repetition(100, 40.0), repetition(200, 10.0), repetition(125, 80.0)],
            counted: Counted { time: Duration::ZERO, sampling: Duration::ZERO, ops: OpCosts::default() },
        };
        assert_eq!(measured.share_of_reads(), 0.0, "nothing was read");
        measured.counted.ops.of_mut(OpKind::Linear).weight_bytes = 2;
        // The repetitions read 20, 10 and 16 bytes per second, of 40, 10 and 80.
        assert_eq!((measured.share_of_reads(), measured.read_bandwidth()), (0.5, 40.0));
        let report = ModelReport { model: String::new(), engine: String::new(), tests: vec![measured] };
        assert_eq!(report.read_bandwidth(), [10.0, 40.0, 80.0]);
        assert_eq!(ModelReport { tests: Vec::new(), ..report }.read_bandwidth(), [0.0; 3]);
    }
}
