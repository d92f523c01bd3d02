//! Logs that can't be written: stderr is a pipe that nobody reads, or one that is closed. Requests
//! follow one another.

use std::time::{Duration, Instant};

use serde_json::json;
use tests::post::post;
use tests::process::{ServerProcess, Stderr};

use super::row::{Bars, Row};

/// Bars of the memory; what CPU time many requests take is no question here.
const BARS: Bars = Bars { cpu: Duration::MAX, peak_mib: 64.0, kept_mib: 64.0 };
/// Time for all requests together.
const TIME: Duration = Duration::from_secs(30);

/// Runs the asked attacks, each against a server of its own.
pub(crate) fn run(is_asked: &impl Fn(&str) -> bool) {
    let body = json!({"model": "bench", "messages": [{"role": "user", "content": "Hi"}]}).to_string();
    let attacks = [
        ("stderr that nobody reads, 3,000 requests", Stderr::Unread, 3000),
        ("stderr that is closed, 500 requests", Stderr::Closed, 500),
    ];
    for (name, stderr, requests) in attacks.into_iter().filter(|(name, ..)| is_asked(name)) {
        let server =
            ServerProcess::start_with_stderr(&json!([{"text": "Hello."}]), &["--parser", "none"], stderr);
        let until = Instant::now() + TIME;
        let ask = |_| post(server.address, "/v1/chat/completions", body.as_bytes(), 1, until);
        Row::measure(&server, || (0..requests).flat_map(ask).collect()).print(name, BARS);
    }
}
