//! Logs of the commands that load models, on stderr.

use std::io::IsTerminal as _;

/// Sends logs to stderr, filtered by `RUST_LOG`, else from level `least` on. Prompt text is logged at no level.
pub(super) fn log_to_stderr(json: bool, least: &str) {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| least.into());
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    if json {
        subscriber.json().init();
    } else {
        subscriber.init();
    }
}
