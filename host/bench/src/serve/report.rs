//! Results of a load: tokens, failures, and quantiles of times.

use std::collections::BTreeMap;
use std::time::Duration;

use super::failure::RequestFailure;
use super::record::{self, Figures, RequestRecord, Tokens};
use crate::csv::Csv;

/// Results of a load.
#[derive(Debug, Clone)]
pub struct ServeReport {
    /// Title for people: the server, the model and the load.
    pub title: String,
    /// Duration of the load.
    pub took: Duration,
    /// Records in the order in which the requests ended.
    pub records: Vec<RequestRecord>,
}

/// Quantiles of a set of times, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantiles {
    /// Number of times.
    pub count: usize,
    /// Mean of the times.
    pub mean: f64,
    /// Median: half of the times are at most this long.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// Results of one turn over all conversations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TurnReport {
    /// Number of answers.
    pub answers: usize,
    /// Tokens of all answers.
    pub tokens: Tokens,
    /// Times to the first token.
    pub ttft: Option<Quantiles>,
}

impl Tokens {
    /// Share of prompt tokens that were cached, 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "tokens are far below 2⁵³")]
    pub fn hit_rate(self) -> f64 {
        if self.prompt == 0 { 0.0 } else { self.cached as f64 / self.prompt as f64 }
    }

    fn sum(all: impl Iterator<Item = Self>) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            prompt: sum.prompt + one.prompt,
            cached: sum.cached + one.cached,
            output: sum.output + one.output,
        })
    }
}

impl Quantiles {
    /// Quantiles of `times`; none if there are no times.
    #[expect(clippy::cast_precision_loss, reason = "there are far fewer than 2⁵³")]
    pub(super) fn of(times: impl Iterator<Item = Duration>) -> Option<Self> {
        let mut times: Vec<f64> = times.map(|time| time.as_secs_f64()).collect();
        times.sort_unstable_by(f64::total_cmp);
        let count = times.len();
        // The smallest time such that at least `percent` of all times are not above it.
        let at = |percent: usize| times[(count * percent).div_ceil(100).max(1) - 1];
        (count > 0).then(|| Self {
            count,
            mean: times.iter().sum::<f64>() / count as f64,
            p50: at(50),
            p90: at(90),
            p99: at(99),
        })
    }
}

impl ServeReport {
    /// Figures of the requests that succeeded.
    pub fn answers(&self) -> impl Iterator<Item = &Figures> {
        self.records.iter().filter_map(|record| record.result.as_ref().ok())
    }

    /// Number of failed requests, by kind.
    pub fn failures(&self) -> BTreeMap<RequestFailure, usize> {
        let mut failures = BTreeMap::new();
        for failure in self.records.iter().filter_map(|record| record.result.as_ref().err()) {
            *failures.entry(*failure).or_default() += 1;
        }
        failures
    }

    /// Tokens of all answers for which the server counted them.
    pub fn tokens(&self) -> Tokens {
        Tokens::sum(self.answers().filter_map(|figures| figures.tokens))
    }

    /// Number of answers for which the server counted no tokens.
    pub fn uncounted(&self) -> usize {
        self.answers().filter(|figures| figures.tokens.is_none()).count()
    }

    /// `amount` divided by the load's duration in seconds.
    pub fn per_second(&self, amount: f64) -> f64 {
        amount / self.took.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Quantiles by name: time to the first token, time per token after it, time between events,
    /// time to the end.
    pub fn times(&self) -> [(&'static str, Option<Quantiles>); 4] {
        [
            ("TTFT", Quantiles::of(self.answers().filter_map(|figures| figures.ttft))),
            ("TPOT", Quantiles::of(self.answers().filter_map(Figures::time_per_token))),
            ("ITL", Quantiles::of(self.answers().flat_map(|figures| figures.gaps.iter().copied()))),
            ("E2EL", Quantiles::of(self.answers().map(|figures| figures.end))),
        ]
    }

    /// Results of each turn of the conversations; empty if there were only independent requests.
    pub fn turns(&self) -> Vec<TurnReport> {
        let mut by_turn: BTreeMap<usize, Vec<&Figures>> = BTreeMap::new();
        for record in self.records.iter().filter(|record| record.conversation.is_some()) {
            by_turn.entry(record.turn).or_default().extend(&record.result);
        }
        let turn = |figures: &Vec<&Figures>| TurnReport {
            answers: figures.len(),
            tokens: Tokens::sum(figures.iter().filter_map(|figures| figures.tokens)),
            ttft: Quantiles::of(figures.iter().filter_map(|figures| figures.ttft)),
        };
        by_turn.values().map(turn).collect()
    }

    /// A row for each request.
    pub fn csv(&self) -> Csv {
        record::csv(&self.records)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(ttft: u64, tokens: Option<Tokens>) -> Figures {
        let millis = Duration::from_millis;
        Figures { ttft: Some(millis(ttft)), gaps: vec![millis(10); 2], end: millis(ttft + 30), tokens }
    }

    fn record(
        conversation: Option<usize>,
        turn: usize,
        result: Result<Figures, RequestFailure>,
    ) -> RequestRecord {
        RequestRecord { conversation, turn, sent: Duration::ZERO, result }
    }

    #[test]
    fn quantiles_are_times_that_there_were() {
        let of = |count: u64| Quantiles::of((1..=count).rev().map(Duration::from_secs));
        assert_eq!(of(0), None);
        assert_eq!(of(1), Some(Quantiles { count: 1, mean: 1.0, p50: 1.0, p90: 1.0, p99: 1.0 }));
        assert_eq!(of(200), Some(Quantiles { count: 200, mean: 100.5, p50: 100.0, p90: 180.0, p99: 198.0 }));
    }

    #[test]
    fn answers_are_summed_and_failures_counted_by_kind() {
        let tokens = Tokens { prompt: 10, cached: 4, output: 4 };
        let records = vec![
            record(Some(0), 0, Ok(figures(100, Some(tokens)))),
            record(Some(1), 0, Ok(figures(200, Some(tokens)))),
            record(Some(0), 1, Ok(figures(300, None))),
            record(Some(1), 1, Err(RequestFailure::Status(429))),
            record(None, 2, Err(RequestFailure::Status(429))),
            record(None, 3, Err(RequestFailure::Cut)),
        ];
        let report = ServeReport { title: String::new(), took: Duration::from_secs(2), records };
        assert_eq!(report.tokens(), Tokens { prompt: 20, cached: 8, output: 8 });
        assert_eq!(
            report.failures(),
            BTreeMap::from([(RequestFailure::Status(429), 2), (RequestFailure::Cut, 1)])
        );
        assert_eq!((report.answers().count(), report.uncounted()), (3, 1));
        let turns: Vec<_> =
            report.turns().iter().map(|turn| (turn.answers, turn.tokens.hit_rate())).collect();
        assert_eq!(turns, [(2, 0.4), (1, 0.0)]);
        let [(_, ttft), (_, tpot), (_, itl), (_, end)] = report.times();
        assert_eq!((ttft.unwrap().p50, ttft.unwrap().count), (0.2, 3));
        assert_eq!((tpot.unwrap().p50, tpot.unwrap().count), (0.01, 2));
        assert_eq!((itl.unwrap().mean, itl.unwrap().count, end.unwrap().count), (0.01, 6, 3));
    }

    #[test]
    fn a_row_says_what_is_known() {
        let tokens = Tokens { prompt: 10, cached: 4, output: 4 };
        let records = vec![
            record(Some(1), 2, Ok(figures(100, Some(tokens)))),
            record(None, 0, Err(RequestFailure::Timeout)),
        ];
        let csv = ServeReport { title: String::new(), took: Duration::ZERO, records }.csv().to_string();
        let rows: Vec<&str> = csv.lines().skip(1).collect();
        assert_eq!(rows, ["1,2,0,ok,0.1,0.01,0.13,3,10,4,4", ",0,0,timeout,,,,,,,"]);
    }
}
