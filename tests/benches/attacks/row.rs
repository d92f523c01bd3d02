//! Measurement of one attack, with its bars.

use std::time::{Duration, Instant};

use tests::post::{self, Answer};
use tests::process::ServerProcess;
use tests::watch::Health;

/// Bar for the slowest `/health`.
const HEALTH_BAR: Duration = Duration::from_millis(50);

/// Bars of an attack.
#[derive(Clone, Copy)]
pub(crate) struct Bars {
    /// CPU time of the server.
    pub(crate) cpu: Duration,
    /// Peak memory beyond that of the idle server.
    pub(crate) peak_mib: f64,
    /// Memory that stays.
    pub(crate) kept_mib: f64,
}

/// Measurement of one attack.
pub(crate) struct Row {
    answers: String,
    answered: bool,
    cpu: Duration,
    peak_mib: f64,
    kept_mib: f64,
    health: Duration,
    /// Slowest request of another key, and its bar.
    other: Option<(Duration, Duration)>,
}

impl Row {
    pub(crate) fn print_header() {
        println!(
            "{:49}{:20}{:>8}{:>10}{:>10}{:>11}{:>10}",
            "attack", "answers", "CPU s", "peak MiB", "kept MiB", "health ms", "other ms"
        );
    }

    /// Measures `attack` against a server that is idle before.
    pub(crate) fn measure(server: &ServerProcess, attack: impl FnOnce() -> Vec<Answer>) -> Self {
        let health = Health::start(server.address);
        let (idle, cpu) = (server.resident_mib(), server.cpu());
        server.reset_peak();
        health.reset();
        let answers = attack();
        Self {
            answers: post::summary(&answers),
            answered: answers.iter().all(Result::is_ok),
            cpu: server.cpu().saturating_sub(cpu),
            peak_mib: (server.peak_mib() - idle).max(0.0),
            kept_mib: (server.resident_mib() - idle).max(0.0),
            health: health.stop(),
            other: None,
        }
    }

    /// Adds the slowest request of another key, with its bar.
    pub(crate) fn with_other(self, slowest: Duration, bar: Duration) -> Self {
        Self { other: Some((slowest, bar)), ..self }
    }

    pub(crate) fn print(&self, name: &str, bars: Bars) {
        let over = [
            ("answers", !self.answered),
            ("CPU", self.cpu > bars.cpu),
            ("peak", self.peak_mib > bars.peak_mib),
            ("kept", self.kept_mib > bars.kept_mib),
            ("health", self.health > HEALTH_BAR),
            ("other", self.other.is_some_and(|(slowest, bar)| slowest > bar)),
        ];
        let over: Vec<_> = over.into_iter().filter_map(|(what, over)| over.then_some(what)).collect();
        let verdict = match &over[..] {
            _ if self.peak_mib.is_infinite() => "the process died".to_owned(),
            [] => "ok".to_owned(),
            over => format!("over: {}", over.join(", ")),
        };
        let other = self.other.map_or("-".to_owned(), |(slowest, _)| format!("{:.1}", milliseconds(slowest)));
        println!(
            "{name:49}{:20}{:8.2}{:10.0}{:10.0}{:11.1}{other:>10}  {verdict}",
            self.answers,
            self.cpu.as_secs_f64(),
            self.peak_mib,
            self.kept_mib,
            milliseconds(self.health),
        );
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Time after which an attack is given up.
pub(crate) fn deadline() -> Instant {
    Instant::now() + Duration::from_mins(2)
}
