//! Logs of the commands that load models, on stderr.
//!
//! Invariant: a line doesn't act on the terminal that shows it, and quotes nothing that a library
//! logs or that a panic's message holds: the library for MCP logs whole messages of servers, and
//! the message of a panic may have text of a request in it.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, IsTerminal as _, Write};
use std::panic::PanicHookInfo;
use std::sync::OnceLock;

use net::printable::Escaped;
use tracing::Metadata;
use tracing::field::Field;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::filter::{EnvFilter, FilterExt as _, filter_fn};
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::prelude::*;
use tracing_subscriber::{Registry, reload};

use super::stderr;

/// First parts of the targets of this project's own lines.
const OWN: [&str; 11] =
    ["host", "api", "engine", "hub", "mask", "mcp", "model", "parsers", "prompt", "remote", "server"];

/// The filter of this process's log.
static FILTER: OnceLock<reload::Handle<EnvFilter, Registry>> = OnceLock::new();

/// Levels of the log.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl From<LogLevel> for EnvFilter {
    fn from(level: LogLevel) -> Self {
        Self::new(match level {
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
            LogLevel::Trace => "trace",
        })
    }
}

/// Sends logs to stderr, from `level` on; without one filtered by `RUST_LOG`, else from level
/// `least` on. Panics become lines of the log. Text of requests and answers is logged at no level.
pub(super) fn log_to_stderr(json: bool, level: Option<LogLevel>, least: &str) {
    let (filter, reload) = reload::Layer::new(filter(level, least));
    let layer = tracing_subscriber::fmt::layer::<Registry>()
        .with_writer(|| Lines)
        .with_ansi(io::stderr().is_terminal());
    let layer =
        if json { layer.json().boxed() } else { layer.fmt_fields(debug_fn(field).delimited(" ")).boxed() };
    let logged = layer.with_filter(filter.and(filter_fn(is_own)));
    // Both fail only if logs go elsewhere already.
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(logged));
    let _ = FILTER.set(reload);
    std::panic::set_hook(Box::new(log_panic));
}

/// Sets the level of a log that has begun.
pub(super) fn set_level(level: Option<LogLevel>, least: &str) {
    if let Some(reload) = FILTER.get() {
        // Fails only if the log has ended.
        let _ = reload.reload(filter(level, least));
    }
}

fn filter(level: Option<LogLevel>, least: &str) -> EnvFilter {
    let by_environment = || EnvFilter::try_from_default_env().unwrap_or_else(|_| least.into());
    level.map_or_else(by_environment, EnvFilter::from)
}

fn is_own(line: &Metadata<'_>) -> bool {
    OWN.contains(&line.target().split("::").next().unwrap_or_default())
}

fn field(out: &mut Writer<'_>, field: &Field, value: &dyn std::fmt::Debug) -> std::fmt::Result {
    match field.name() {
        "message" => write!(out, "{:?}", Escaped(value)),
        name => write!(out, "{name}={:?}", Escaped(value)),
    }
}

/// Writer of whole lines.
struct Lines;

impl Write for Lines {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        stderr::write(lines);
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Logs where a thread panicked, and the message if it is a literal of the source. The standard
/// hook would wait for stderr. A panic that becomes an error where a library was called is that
/// error alone.
fn log_panic(panic: &PanicHookInfo<'_>) {
    if system::panics::is_caught() {
        return;
    }
    let at = panic.location().map(ToString::to_string).unwrap_or_default();
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("unnamed");
    let literal = panic.payload().downcast_ref::<&'static str>();
    let message = literal.copied().unwrap_or("(the message may quote a request and is left out)");
    tracing::error!(at, thread, "panicked: {message}");
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        tracing::error!("backtrace of the panic: {backtrace}");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::OWN;

    #[test]
    fn every_package_that_logs_is_shown() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let logs = |folder: &Path| {
            let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).ok()?;
            // Lines are told by the name in Rust, which a package on the registry can't always have.
            let named = manifest.split_once("[lib]").map_or(&*manifest, |(_, library)| library);
            let name = named.lines().find_map(|line| line.strip_prefix("name = ")).unwrap().trim_matches('"');
            manifest.contains("\ntracing.workspace").then(|| name.to_owned())
        };
        let rooms = std::fs::read_dir(folder).unwrap().filter_map(|room| logs(&room.unwrap().path()));
        let found: BTreeSet<String> = rooms.chain(logs(folder)).collect();
        assert_eq!(found, OWN.map(str::to_owned).into());
    }
}
