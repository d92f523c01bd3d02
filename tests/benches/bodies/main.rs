//! Benchmark of what bodies of about 30 MiB cost the server and its other clients, with a row for
//! each shape: time to the answer, peak memory beyond the idle server's, the slowest `/health`, the
//! longest gap of a paced stream. Each shape has a server of its own.
//!
//! `cargo bench-dist -p tests --bench bodies [-- SHAPE…]` runs the shapes whose names
//! contain one of these words. The server is the binary that `SLUICE_HOST` names, else the one
//! beside the benchmark.
#![expect(clippy::print_stdout, reason = "its result is what it prints")]

mod shapes;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shapes::{SHAPES, Shape};
use tests::post;
use tests::process::ServerProcess;
use tests::watch::{Health, PacedStream};

/// User message of the paced stream.
const PACED: &str = "A paced answer, please.";
/// Tokens of the paced answer and milliseconds between them: it lasts longer than a shape may, and
/// fits the embedded model's context.
const PACED_TOKENS: usize = 3600;
const PACE_MS: u64 = 20;
/// Maximum time of one shape; a request without an answer by then is given up.
const SHAPE_TIME: Duration = Duration::from_mins(1);
/// Time for which unfinished bodies are held open.
const HOLD: Duration = Duration::from_secs(5);
/// Memory that one body may take in addition to three times its size.
const SPARE_MIB: f64 = 16.0;
/// Memory that concurrent bodies may take: the server's budget for all of them, and a reserve for
/// what the budget doesn't count.
const TOGETHER_MIB: f64 = 256.0 + 64.0;
const HEALTH_BAR: Duration = Duration::from_millis(50);
const GAP_BAR: Duration = Duration::from_millis(100);

/// Measurements of one shape.
struct Row {
    body_mib: f64,
    /// Status codes or faults, with their numbers.
    answers: String,
    /// Whether each request got an answer, whatever the status, or was held open as intended.
    answered: bool,
    time: Duration,
    peak_mib: f64,
    peak_bar_mib: f64,
    health: Duration,
    gap: Duration,
}

impl Row {
    /// Names of the measurements that are over their bars.
    fn over(&self) -> Vec<&'static str> {
        let bars = [
            ("answers", !self.answered),
            ("peak", self.peak_mib > self.peak_bar_mib),
            ("health", self.health > HEALTH_BAR),
            ("gap", self.gap > GAP_BAR),
        ];
        bars.into_iter().filter(|(_, over)| *over).map(|(what, _)| what).collect()
    }

    fn print(&self, name: &str) {
        let over = self.over();
        let verdict = if over.is_empty() { "ok".to_owned() } else { format!("over: {}", over.join(", ")) };
        println!(
            "{name:22}{:9.1}  {:20}{:8.2}{:10.0}{:8.0}{:11.1}{:9.1}  {verdict}",
            self.body_mib,
            self.answers,
            self.time.as_secs_f64(),
            self.peak_mib,
            self.peak_bar_mib,
            self.health.as_secs_f64() * 1e3,
            self.gap.as_secs_f64() * 1e3,
        );
    }
}

/// Replay rules: one answer is paced, all others are short.
fn rules() -> Value {
    json!([
        {
            "when": {"last_user_contains": PACED},
            "text": "<think>\n\n</think>\n\n".to_owned() + &"a ".repeat(PACED_TOKENS),
            "pace_ms": PACE_MS,
        },
        {"text": "<think>\n\n</think>\n\nHello!"},
    ])
}

fn measure(shape: &Shape) -> Row {
    let body = (shape.body)();
    let server = ServerProcess::start(&rules(), &["--store", "none"]);
    let stream = PacedStream::start(server.address, PACED);
    let health = Health::start(server.address);
    let idle = server.resident_mib();
    server.reset_peak();
    stream.reset();
    health.reset();
    let began = Instant::now();
    let deadline = began + SHAPE_TIME;
    let answers = if shape.unfinished {
        post::hold(server.address, shape.path, &body, shape.at_once, HOLD, deadline)
    } else {
        post::post(server.address, shape.path, &body, shape.at_once, deadline)
    };
    let time = began.elapsed();
    let (health, gap) = (health.stop(), stream.stop());
    let peak_mib = (server.peak_mib() - idle).max(0.0);
    let body_mib = shapes::mib(body.len());
    let peak_bar_mib = if shape.at_once > 1 { TOGETHER_MIB } else { 3.0 * body_mib + SPARE_MIB };
    let answered = answers.iter().all(|answer| answer.is_ok() || *answer == Err(post::HELD));
    Row { body_mib, answers: post::summary(&answers), answered, time, peak_mib, peak_bar_mib, health, gap }
}

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    println!(
        "{:22}{:>9}  {:20}{:>8}{:>10}{:>8}{:>11}{:>9}",
        "shape", "body MiB", "answers", "s", "peak MiB", "bar", "health ms", "gap ms"
    );
    for shape in SHAPES {
        if asked.is_empty() || asked.iter().any(|word| shape.name.contains(word.as_str())) {
            measure(shape).print(shape.name);
        }
    }
}
