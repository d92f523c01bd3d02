//! Silent connections, more than the server may have: `/health` on new ones is answered.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;
use tests::post::get;
use tests::process::ServerProcess;

use super::row::{Bars, Row};

const BARS: Bars = Bars { cpu: Duration::from_secs(1), peak_mib: 64.0, kept_mib: 64.0 };
const ALLOWED: &str = "64";
const SILENT: usize = 300;
const CHECKS: usize = 20;
/// Time for an answer of `/health`, below the time after which the server closes silent
/// connections.
const TIME: Duration = Duration::from_secs(1);

/// Runs the attack if it is asked.
pub(crate) fn run(is_asked: &impl Fn(&str) -> bool) {
    let name = "300 silent connections, 64 allowed";
    if !is_asked(name) {
        return;
    }
    let server = ServerProcess::start(
        &json!([{"text": "Hello."}]),
        &["--parser", "none", "--max-connections", ALLOWED],
    );
    let attack = || {
        let _silent: Vec<_> = (0..SILENT).map(|_| TcpStream::connect(server.address)).collect();
        (0..CHECKS).map(|_| get(server.address, "/health", Instant::now() + TIME)).collect()
    };
    Row::measure(&server, attack).print(name, BARS);
}
