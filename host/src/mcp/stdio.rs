//! A tool server as a child process. It has an environment of its own and ends with the connection. Its standard error is the host's.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::bounded::BoundedLines;

/// Environment variables that a server inherits from the host; none of them holds secrets of the host.
const INHERITED: [&str; 9] = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "TZ", "SHELL", "TERM"];

/// Transport to a child process. Dropping it closes the child's input and kills the child. Processes that the child started must end at the
/// end of their input, as the protocol requires.
pub(super) struct ChildTransport {
    lines: AsyncRwTransport<RoleClient, BoundedLines<ChildStdout>, ChildStdin>,
    /// Child process, killed when it is dropped and reaped by the runtime.
    _child: Child,
}

/// Starts the program. A message above `most` bytes ends the connection and sets `overflowed`.
pub(super) fn spawn(
    (command, args, env): (&str, &[String], &[(String, String)]),
    most: usize,
    overflowed: Arc<AtomicBool>,
) -> std::io::Result<ChildTransport> {
    let inherited = INHERITED.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
    let mut child = Command::new(command)
        .args(args)
        .env_clear()
        .envs(inherited)
        .envs(env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let pipes = child.stdout.take().zip(child.stdin.take());
    let (output, input) = pipes.expect("both were asked for");
    let lines = AsyncRwTransport::new_client(BoundedLines::new(output, most, overflowed), input)
        .with_max_line_length(most.saturating_add(1));
    Ok(ChildTransport { lines, _child: child })
}

impl Transport<RoleClient> for ChildTransport {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.lines.send(message)
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleClient>>> + Send {
        self.lines.receive()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.lines.close()
    }
}
