//! A tool server as a child process. It has an environment of its own and ends with the connection.
//!
//! Its standard error is read to the end and never reaches the host's. What it writes before the
//! connection is open is logged, since it says why a server doesn't start. No request has reached
//! it then; later lines might repeat what requests hold, and are only counted.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinSet;

use super::allowance::Allowance;
use super::bounded::BoundedLines;
use super::client::Connection;
use super::error::McpError;
use crate::limits::McpLimits;

/// Environment variables that a server inherits from the host; none of them holds secrets of the
/// host.
const INHERITED: [&str; 9] = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "TZ", "SHELL", "TERM"];

/// Maximum number of lines of a start's standard error that are logged, and their maximum length in
/// bytes.
const START_LINES: (usize, usize) = (32, 256);

/// Program, arguments and environment.
pub(super) type Program<'a> = (&'a str, &'a [String], &'a [(String, String)]);

/// Transport to a child process. Dropping it closes the child's input and kills the child.
/// Processes that the child started must end at the end of their input, as the protocol requires.
struct ChildTransport {
    lines: AsyncRwTransport<RoleClient, BoundedLines<ChildStdout>, ChildStdin>,
    /// Reader of standard error.
    _stderr: JoinSet<()>,
    /// Child process, killed when it is dropped and reaped by the runtime.
    _child: Child,
}

/// Starts the program and opens a connection to it. `label` is the server's in metrics and logs.
pub(super) async fn open(
    program: Program<'_>,
    label: Arc<str>,
    limits: &McpLimits,
) -> Result<Connection, McpError> {
    let is_open = Arc::new(AtomicBool::new(false));
    let connect = || {
        let allowance = Allowance::new(Arc::clone(&label), limits);
        let stderr = Stderr {
            label: Arc::clone(&label),
            is_open: Arc::clone(&is_open),
            allowance: Arc::clone(&allowance),
        };
        match spawn(program, limits.message_bytes, Arc::clone(&allowance), stderr) {
            Ok(child) => Ok((child, allowance)),
            Err(error) => {
                tracing::warn!(server = %label, %error, "a tool server can't be started");
                Err(McpError::Unreachable)
            }
        }
    };
    let connection = Connection::open(connect, limits.start_time).await?;
    is_open.store(true, Ordering::Relaxed);
    Ok(connection)
}

/// Starts the program. A line above `most` bytes ends the connection.
fn spawn(
    (command, args, env): Program<'_>,
    most: usize,
    allowance: Arc<Allowance>,
    stderr: Stderr,
) -> std::io::Result<ChildTransport> {
    let inherited = INHERITED.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
    let mut child = Command::new(command)
        .args(args)
        .env_clear()
        .envs(inherited)
        .envs(env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut reading = JoinSet::new();
    if let Some(pipe) = child.stderr.take() {
        reading.spawn(stderr.read(pipe));
    }
    let pipes = child.stdout.take().zip(child.stdin.take());
    let (output, input) = pipes.expect("both were asked for");
    let lines = AsyncRwTransport::new_client(BoundedLines::new(output, most, allowance), input)
        .with_max_line_length(most.saturating_add(1));
    Ok(ChildTransport { lines, _stderr: reading, _child: child })
}

/// Reader of a program's standard error.
struct Stderr {
    label: Arc<str>,
    /// Whether requests may have reached the program.
    is_open: Arc<AtomicBool>,
    allowance: Arc<Allowance>,
}

impl Stderr {
    /// Reads to the end, as much as the allowance has room for.
    async fn read(self, mut pipe: impl AsyncRead + Unpin) {
        let (mut chunk, mut line) = ([0; 4096], Vec::new());
        let (mut logged, mut unlogged) = (0, 0);
        while let Ok(count @ 1..) = pipe.read(&mut chunk).await
            && self.allowance.take_bytes(count)
        {
            for part in chunk[..count].split_inclusive(|byte| *byte == b'\n') {
                if self.is_open.load(Ordering::Relaxed) || logged == START_LINES.0 {
                    unlogged += part.len();
                    continue;
                }
                line.extend_from_slice(&part[..part.len().min(START_LINES.1 - line.len())]);
                if part.ends_with(b"\n") {
                    self.log(&line);
                    line.clear();
                    logged += 1;
                }
            }
        }
        if !self.is_open.load(Ordering::Relaxed) {
            self.log(&line);
        }
        if unlogged > 0 {
            tracing::debug!(server = %self.label, bytes = unlogged, "a tool server wrote to stderr");
        }
    }

    fn log(&self, line: &[u8]) {
        let line = line.trim_ascii_end();
        if !line.is_empty() {
            tracing::info!(server = %self.label, "a tool server starts: {}", String::from_utf8_lossy(line));
        }
    }
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
