//! The hostile MCP server over standard input and output.

use std::io::{BufRead, Write};

use serde_json::Value;

use crate::tool_server::{Reply, ToolServer, around_text, message, spam};

/// First line that a chatty child writes to standard error.
pub const CHATTER: &str = "\u{1b}[31mready";

/// Serves one client over standard input and output until the input ends. With the listing `chatty`
/// it repeats every message on standard error, after a first line that would colour a terminal.
///
/// # Errors
/// If they can't be read or written.
pub fn serve_stdio(listing: &str) -> std::io::Result<()> {
    let server = ToolServer::new(listing);
    let mut out = std::io::stdout().lock();
    let is_chatty = listing == "chatty";
    if is_chatty {
        eprintln!("{CHATTER}");
    }
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if is_chatty {
            eprintln!("{line}");
        }
        let Ok(request) = serde_json::from_str::<Value>(&line) else { continue };
        let (id, reply) = (&request["id"], server.reply(&request));
        match reply {
            Reply::Text(bytes) => {
                let (before, behind) = around_text(id);
                out.write_all(before.as_bytes())?;
                let chunk = vec![b'x'; 1 << 20];
                for _ in 0..bytes >> 20 {
                    out.write_all(&chunk)?;
                }
                writeln!(out, "{behind}")?;
            }
            Reply::Garbage => {
                out.write_all(b"Traceback (most recent call last):\n\xff\xfe{]\n{\"jsonrpc\":\n")?;
            }
            Reply::Spam(kind) if kind == "stderr" => {
                let mut error = std::io::stderr().lock();
                loop {
                    writeln!(error, "{}", "x".repeat(1000))?;
                }
            }
            Reply::Spam(kind) => {
                // A failing write ends the process.
                for n in 0.. {
                    writeln!(out, "{}", spam(&kind, n))?;
                }
            }
            Reply::Death => return Ok(()),
            Reply::Silence | Reply::None => {}
            reply => {
                if let Some(message) = message(id, &reply) {
                    writeln!(out, "{message}")?;
                }
            }
        }
        out.flush()?;
    }
    Ok(())
}
