//! `host doctor`: what a server with these switches would find here, said before it starts.
//!
//! It takes the switches of `serve`, makes no file but in caches that are there, and reads no weights
//! but their headers.

mod findings;
mod machine;
mod models;
mod service;

use std::process::ExitCode;

use anyhow::Context;

use super::serve_arguments::ServeArguments;
use findings::Findings;

#[derive(clap::Args)]
pub(super) struct DoctorArguments {
    /// Print the findings as one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) serve: ServeArguments,
}

/// Prints the findings; the exit status is 1 if one is a failure.
pub(super) fn run(arguments: &DoctorArguments) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let findings = runtime.context("can't start the runtime")?.block_on(examine(&arguments.serve));
    findings.print(&mut std::io::stdout().lock(), arguments.json)?;
    Ok(if findings.has_failures() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn examine(arguments: &ServeArguments) -> Findings {
    let mut findings = Findings::default();
    machine::examine(&mut findings, &arguments.models);
    service::examine(&mut findings, arguments).await;
    tokio::task::block_in_place(|| models::examine(&mut findings, arguments));
    findings
}
