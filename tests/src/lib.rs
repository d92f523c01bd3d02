//! Shared code of the end-to-end tests and benchmarks: a real server in this process, an HTTP
//! client, hostile guests, scripted outputs.

pub mod client;
pub mod collector;
pub mod fake_engine;
pub mod formats;
pub mod grammars;
pub mod guests;
mod listen;
pub mod load;
pub mod mask;
pub mod measure;
pub mod paced_engine;
pub mod path;
pub mod post;
pub mod postgres;
pub mod process;
pub mod routing;
pub mod sandbox;
pub mod server;
pub mod socket;
pub mod streams;
pub mod tls;
mod tool_lifecycle;
pub mod tool_server;
pub mod tool_server_http;
pub mod tool_server_sse;
pub mod tool_server_stdio;
pub mod tools;
pub mod transcripts;
pub mod watch;

/// Says aloud that a check is left out. What a passing test prints is hidden; what is written past
/// `print` isn't.
pub fn skip(check: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "skipped: {check}");
}
