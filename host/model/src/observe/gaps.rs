//! Histogram of the time between two tokens. Each turn counts in its own memory ([`Gaps`]) and adds
//! that to its model's histogram ([`GapHistogram`]) now and then, since a sample of its own for
//! each token would cost more than the token.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the buckets, in microseconds.
const BOUNDS: [u64; 22] = [
    500, 1_000, 2_500, 5_000, 7_500, 10_000, 15_000, 20_000, 25_000, 30_000, 40_000, 50_000, 75_000, 100_000,
    150_000, 200_000, 300_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000,
];
const BUCKETS: usize = BOUNDS.len() + 1;

/// Gaps of one turn since they were last added to its model's.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    counts: [u32; BUCKETS],
    sum: Duration,
}

impl Gaps {
    /// Counts the gaps of a step that brought `tokens` tokens `time` after the one before it.
    pub(super) fn record(&mut self, time: Duration, tokens: u32) {
        let Some(gap) = time.checked_div(tokens) else { return };
        let micros = u64::try_from(gap.as_micros()).unwrap_or(u64::MAX);
        self.counts[BOUNDS.partition_point(|bound| *bound < micros)] += tokens;
        self.sum += time;
    }
}

/// Gaps of all turns of a model. Counters only grow.
#[derive(Debug, Default)]
pub struct GapHistogram {
    counts: [AtomicU64; BUCKETS],
    sum_nanos: AtomicU64,
}

impl GapHistogram {
    /// Adds a turn's gaps, which are empty afterwards.
    pub(super) fn add(&self, gaps: &mut Gaps) {
        let Gaps { counts, sum } = std::mem::take(gaps);
        for (all, count) in self.counts.iter().zip(counts).filter(|(_, count)| *count > 0) {
            all.fetch_add(count.into(), Ordering::Relaxed);
        }
        let nanos = u64::try_from(sum.as_nanos()).unwrap_or(u64::MAX);
        self.sum_nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// Appends the samples in Prometheus' text format, under the label `model_name`.
    pub fn write(&self, name: &str, model: &str, text: &mut String) {
        let model = model.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n");
        let mut total = 0;
        let bounds = BOUNDS.iter().map(|bound| Duration::from_micros(*bound).as_secs_f64().to_string());
        for (count, bound) in self.counts.iter().zip(bounds.chain(["+Inf".to_owned()])) {
            total += count.load(Ordering::Relaxed);
            let _ = writeln!(text, "{name}_bucket{{model_name=\"{model}\",le=\"{bound}\"}} {total}");
        }
        let sum = Duration::from_nanos(self.sum_nanos.load(Ordering::Relaxed)).as_secs_f64();
        let _ = writeln!(text, "{name}_sum{{model_name=\"{model}\"}} {sum}");
        let _ = writeln!(text, "{name}_count{{model_name=\"{model}\"}} {total}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_of_a_step_share_its_time_and_count_once() {
        let (mut gaps, all) = (Gaps::default(), GapHistogram::default());
        gaps.record(Duration::from_micros(500), 1);
        gaps.record(Duration::from_millis(30), 3);
        gaps.record(Duration::from_mins(1), 1);
        gaps.record(Duration::from_secs(1), 0);
        all.add(&mut gaps);
        all.add(&mut gaps);
        let mut text = String::new();
        all.write("gap", "a\"b", &mut text);
        for line in [
            r#"gap_bucket{model_name="a\"b",le="0.0005"} 1"#,
            r#"gap_bucket{model_name="a\"b",le="0.0075"} 1"#,
            r#"gap_bucket{model_name="a\"b",le="0.01"} 4"#,
            r#"gap_bucket{model_name="a\"b",le="10"} 4"#,
            r#"gap_bucket{model_name="a\"b",le="+Inf"} 5"#,
            r#"gap_sum{model_name="a\"b"} 60.0305"#,
            r#"gap_count{model_name="a\"b"} 5"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
