//! The agent as a child process on the same terminal.
//!
//! Invariant: this process outlives the agent, which needs its server. Ctrl-C and Ctrl-\ reach the
//! agent from the terminal, and end nothing here; SIGTERM and SIGHUP are passed on.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitCode;

use anyhow::Context;
use system::signal::{EndSignal, send};
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};

use super::agents::{AgentCommand, Setting};

/// Whether the program is in a folder of `PATH`.
pub(super) fn is_installed(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

/// Runs the agent to its end; returns its exit status.
pub(super) async fn run(agent: &AgentCommand, arguments: &[OsString], key: &str) -> anyhow::Result<ExitCode> {
    let mut command = Command::new(agent.program);
    command.args(&agent.told.arguments).args(arguments);
    for (name, setting) in &agent.told.variables {
        let value = match setting {
            Setting::Text(text) => text.as_str(),
            Setting::Key => key,
        };
        command.env(name, value);
    }
    let catch = |kind| signal(kind).context("can't wait for signals");
    let (mut interrupt, mut quit) = (catch(SignalKind::interrupt())?, catch(SignalKind::quit())?);
    let (mut terminate, mut hangup) = (catch(SignalKind::terminate())?, catch(SignalKind::hangup())?);
    let mut child = command.spawn().with_context(|| agent.program)?;
    let id = child.id();
    loop {
        let passed = tokio::select! {
            status = child.wait() => {
                let status = status.with_context(|| agent.program)?;
                let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
                return Ok(ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)));
            }
            _ = interrupt.recv() => None,
            _ = quit.recv() => None,
            _ = terminate.recv() => Some(EndSignal::Terminate),
            _ = hangup.recv() => Some(EndSignal::Hangup),
        };
        if let (Some(id), Some(signal)) = (id, passed) {
            // It may have ended meanwhile.
            let _ = send(id, signal);
        }
    }
}
