//! Two keys: one asks for more long answers than the engine generates at a time, with the most
//! urgent priority. The other asks for a token.

use std::time::{Duration, Instant};

use serde_json::json;
use tests::post::post_with_key;
use tests::process::ServerProcess;

use super::row::{Bars, Row, deadline};

/// The answers themselves take CPU time and blocks.
const BARS: Bars = Bars { cpu: Duration::MAX, peak_mib: f64::INFINITY, kept_mib: f64::INFINITY };
/// Bar for the other key's slowest request.
const OTHER_BAR: Duration = Duration::from_millis(500);
/// Long answers; the engine generates 64 at a time.
const LONG: usize = 160;
/// Time between two requests of the other key.
const PAUSE: Duration = Duration::from_millis(20);
/// Token that ends an answer, which long answers never take.
const END: &str = "706";
const PATH: &str = "/v1/completions";

/// Runs the attack if it is asked.
pub(crate) fn run(is_asked: &impl Fn(&str) -> bool) {
    let name = "160 long answers of another key";
    if !is_asked(name) {
        return;
    }
    let keys = ["--api-key", "one", "--api-key", "two"];
    let server = ServerProcess::start_with_engine("local", &[&keys[..], &["--parser", "none"]].concat());
    let ask = |key: &str, tokens: u32, priority: i32, at_once| {
        let body = json!({"model": "bench", "prompt": "Hi", "max_tokens": tokens, "priority": priority, "logit_bias": {END: -100}});
        post_with_key(server.address, PATH, key, body.to_string().as_bytes(), at_once, deadline())
    };
    let mut slowest = Duration::ZERO;
    let attack = || {
        std::thread::scope(|scope| {
            let long = scope.spawn(|| ask("one", 1500, -1_000_000, LONG));
            let mut answers = Vec::new();
            while !long.is_finished() {
                let began = Instant::now();
                answers.extend(ask("two", 1, 0, 1));
                slowest = slowest.max(began.elapsed());
                std::thread::sleep(PAUSE);
            }
            answers.extend(long.join().expect("clients don't panic"));
            answers
        })
    };
    let row = Row::measure(&server, attack);
    row.with_other(slowest, OTHER_BAR).print(name, BARS);
}
