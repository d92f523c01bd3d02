//! `host health`: asks a running server's probe, for health checks of containers that have no shell
//! and no other client.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use reqwest::redirect::Policy;
use reqwest::{Client, Url};

use net::tls::with_tls;
use net::{connection_words, read_body};

/// Longest answer of a probe, in bytes.
const MOST: usize = 64 << 10;

#[derive(clap::Args)]
pub(super) struct HealthArguments {
    /// Address of the server.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8000")]
    url: Url,
    /// Ask whether the process works, which it also does while it drains, and not whether it takes
    /// new work.
    #[arg(long)]
    live: bool,
    /// Certificates (PEM) that the server's may be signed by [default: those of the system].
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Time for the answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout_seconds: u64,
}

/// Prints what the probe says; the exit status is 1 unless it is 200.
pub(super) fn run(arguments: &HealthArguments) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("can't start the runtime")?.block_on(ask(arguments))
}

async fn ask(arguments: &HealthArguments) -> anyhow::Result<ExitCode> {
    let HealthArguments { url, live, ca, timeout_seconds } = arguments;
    let probe = url.join(if *live { "/live" } else { "/ready" })?;
    let time = Duration::from_secs(*timeout_seconds);
    let builder = Client::builder().redirect(Policy::none()).no_proxy().timeout(time);
    let client =
        with_tls(builder, url.scheme() == "https", ca.as_deref()).map_err(anyhow::Error::msg)?.build()?;
    let failed = |reason: String| anyhow::anyhow!("{probe}: {reason}");
    let answer = client.get(probe.clone()).send().await.map_err(|error| failed(connection_words(&error)))?;
    let status = answer.status();
    let body = read_body(answer, MOST).await.map_err(failed)?;
    let said = net::printable::Escaped(String::from_utf8_lossy(&body).into_owned()).to_string();
    if status.is_success() {
        use std::io::Write as _;
        writeln!(std::io::stdout().lock(), "{said}")?;
        return Ok(ExitCode::SUCCESS);
    }
    Err(failed(format!("{} {said}", status.as_u16())))
}
