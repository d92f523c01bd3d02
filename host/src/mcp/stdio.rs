//! A tool server as a child process: started with an environment of its own, ended with the connection. Its standard error goes to
//! the host's.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::bounded::BoundedLines;

/// Variables that a server gets of the host's environment; the host's secrets are not among them.
const INHERITED: [&str; 9] = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "TZ", "SHELL", "TERM"];

/// The transport to a child; dropping it closes the child's input and ends the child. What that has started in turn ends by the end
/// of its input, as the protocol has it.
pub(super) struct ChildTransport {
    lines: AsyncRwTransport<RoleClient, BoundedLines<ChildStdout>, ChildStdin>,
    /// Killed when it is dropped, and reaped by the runtime.
    _child: Child,
}

/// Starts the program. Messages beyond `most` bytes end the connection and set `overflowed`.
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
