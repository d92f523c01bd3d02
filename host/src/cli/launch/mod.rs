//! `host launch`: a coding agent with a model of this machine, or of a server behind a URL.
//!
//! Invariant: the agent gets all its settings as arguments and variables, so no file of the user's
//! is touched; a file that it needs beside them is a temporary one, which goes when the agent ends.

mod agents;
mod child;
mod file;
mod print;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context, ensure};
use model::Examiner;
use model::limits::ModelLimits;
use net::printable::Escaped;

use super::client::{ModelServer, TargetArguments};
use super::load::with_switch;
use super::log::log_to_stderr;
use super::models::ModelArguments;
use super::serve::runtime;
use super::stderr;
pub(super) use agents::CODEX_CONTEXT;
use agents::{Agent, Endpoint};
use file::TemporaryFile;

#[derive(clap::Args)]
pub(super) struct LaunchArguments {
    /// The agent.
    #[arg(value_enum)]
    agent: Agent,
    #[command(flatten)]
    pub(super) target: TargetArguments,
    /// Print the command with its variables instead of running it. The key is named, not shown;
    /// without `--url` the command is for a server on its usual address.
    #[arg(long)]
    print: bool,
    /// Arguments of the agent.
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<OsString>,
}

/// Where `host serve` listens unless it is told otherwise.
const SERVED: &str = "http://127.0.0.1:8000";

pub(super) fn run(arguments: LaunchArguments) -> anyhow::Result<ExitCode> {
    // The screen is the agent's: less than an error isn't worth a line in the midst of it.
    log_to_stderr(false, None, "error");
    let runtime = runtime()?;
    let code = runtime.block_on(launch(arguments));
    runtime.shutdown_background();
    code
}

async fn launch(arguments: LaunchArguments) -> anyhow::Result<ExitCode> {
    let LaunchArguments { agent, target, print, arguments } = arguments;
    if print {
        let endpoint = match &target.url {
            None => tokio::task::block_in_place(|| examined(&target.models))?,
            Some(_) => endpoint(&target.reach(None).await?),
        };
        agent.check(&endpoint)?;
        let command = agent.command(&endpoint);
        let file = command.told.file.as_ref().map(TemporaryFile::write).transpose()?;
        print::command(&command, &arguments)?;
        if let Some(file) = file {
            file.keep();
        }
        return Ok(ExitCode::SUCCESS);
    }
    ensure!(child::is_installed(agent.program()), "{} is not installed: {}", agent.program(), agent.advice());
    let target = target.reach(None).await?;
    let endpoint = endpoint(&target);
    agent.check(&endpoint)?;
    let command = agent.command(&endpoint);
    let _file = command.told.file.as_ref().map(TemporaryFile::write).transpose()?;
    child::run(&command, &arguments, target.key().unwrap_or(agents::NO_KEY)).await
}

/// The endpoint of a server. An agent says little where the server doesn't know its model, so that a
/// name that the server doesn't list is said here.
fn endpoint(target: &ModelServer) -> Endpoint {
    if let Some(unlisted) = target.unlisted() {
        stderr::write(format!("warning: {}\n", Escaped(unlisted)).as_bytes());
        stderr::flush();
    }
    Endpoint { url: target.url(), model: target.model.clone(), context: target.context }
}

/// The endpoint that `host serve` would have with these switches.
fn examined(models: &ModelArguments) -> anyhow::Result<Endpoint> {
    let (options, others) = models.models()?;
    ensure!(others.is_empty(), "--model: an agent takes one model");
    let examiner = Examiner::new(&models.shared(1), &ModelLimits::default()).map_err(with_switch)?;
    let found = examiner.examine(&options).map_err(with_switch)?;
    let context = u64::try_from(found.context).context("the context")?;
    let model = options.served_names.into_iter().next().unwrap_or(found.name);
    Ok(Endpoint { url: SERVED.to_owned(), model, context: Some(context) })
}
