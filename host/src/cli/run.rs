//! `host run`: one question, its answer on stdout, and how it ended as the exit status.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use serde_json::{Map, Value, json};
use system::bounded;
use tokio::task::JoinSet;

use super::client::{
    AskArguments, Asked, Ending, Finished, INTERRUPTED, Interrupts, REPEATS, ask, json_file, set,
};
use super::log::log_to_stderr;
use super::serve::runtime;

#[derive(clap::Args)]
pub(super) struct RunArguments {
    /// The question. What is piped into stdin comes before it.
    prompt: Option<String>,
    #[command(flatten)]
    pub(super) ask: AskArguments,
    /// JSON schema that the answer follows.
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// Print the response object instead of its text.
    #[arg(long)]
    json: bool,
}

/// Exit status of an answer that ended before its end, such as at the limit of its tokens.
const INCOMPLETE: u8 = 3;
/// Exit status of an answer that failed.
const FAILED: u8 = 4;
/// Largest stdin, in bytes: more than any request may have.
const MAX_STDIN: u64 = 1 << 30;

pub(super) fn run(arguments: RunArguments) -> anyhow::Result<ExitCode> {
    log_to_stderr(false, None, "warn");
    let body = arguments.body()?;
    let runtime = runtime()?;
    let code = runtime.block_on(answer(arguments, body));
    runtime.shutdown_background();
    code
}

async fn answer(arguments: RunArguments, body: Map<String, Value>) -> anyhow::Result<ExitCode> {
    let RunArguments { ask: arguments, json, .. } = arguments;
    let (mut screen, verbose) = (arguments.screen(!json), arguments.verbose);
    let target = arguments.target.reach(None).await?;
    let mut interrupts = Interrupts::catch()?;
    let mut impatience = JoinSet::new();
    impatience.spawn(Interrupts::catch()?.leave_at_second());
    let asked = ask(&target, body, &mut screen, &mut interrupts);
    let finished = match asked.await? {
        Asked::Ended(finished) => finished,
        Asked::Stopped(_) => return Ok(ExitCode::from(INTERRUPTED)),
        Asked::Repeating(_) => {
            screen.remark(&format!("incomplete: {REPEATS}"))?;
            return Ok(ExitCode::from(INCOMPLETE));
        }
    };
    let Finished { ending, response, items, .. } = &*finished;
    if json && !response.is_empty() {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", serde_json::to_string(response)?)?;
        out.flush()?;
    } else if !json {
        for call in items.iter().filter(|item| is_call(item)) {
            screen.remark(&format!("call {}", call_words(call)))?;
        }
    }
    if verbose {
        screen.remark(&finished.figures.to_string())?;
    }
    match ending {
        Ending::Completed => Ok(ExitCode::SUCCESS),
        Ending::Incomplete(reason) => {
            screen.remark(&format!("incomplete: {reason}"))?;
            Ok(ExitCode::from(INCOMPLETE))
        }
        Ending::Failed(message) => {
            screen.remark(&format!("error: {message}"))?;
            Ok(ExitCode::from(FAILED))
        }
    }
}

/// Whether an item is a call that the client answers.
pub(super) fn is_call(item: &Value) -> bool {
    matches!(item["type"].as_str(), Some("function_call" | "custom_tool_call"))
}

/// A call in words: its name and what it is called with.
pub(super) fn call_words(call: &Value) -> String {
    let text = |name: &str| call[name].as_str().unwrap_or_default();
    format!("{}({}{})", text("name"), text("arguments"), text("input"))
}

impl RunArguments {
    /// The request, without its model.
    fn body(&self) -> anyhow::Result<Map<String, Value>> {
        let mut body = self.ask.fields();
        if let Some(system) = &self.ask.system {
            body.insert("instructions".to_owned(), system.as_str().into());
        }
        if let Some(file) = &self.schema {
            set(&mut body, &("text.format".to_owned(), format_of(file)?));
        }
        let parts: Vec<String> = piped()?.into_iter().chain(self.prompt.clone()).collect();
        ensure!(
            parts.iter().any(|part| !part.trim().is_empty()),
            "no question: give one (`{} run \"Why?\"`), or pipe it into stdin",
            system::program::name()
        );
        body.insert("input".to_owned(), parts.join("\n\n").into());
        Ok(body)
    }
}

/// What stdin holds, unless it is a terminal or empty.
fn piped() -> anyhow::Result<Option<String>> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Ok(None);
    }
    let bytes = bounded::bytes(stdin.lock(), MAX_STDIN).context("stdin")?;
    match String::from_utf8(bytes) {
        Ok(text) if text.is_empty() => Ok(None),
        Ok(text) => Ok(Some(text)),
        Err(error) => {
            let place = error.utf8_error().valid_up_to();
            bail!("stdin is no text: byte {place} isn't UTF-8")
        }
    }
}

/// The format of an answer that follows the schema in `file`.
fn format_of(file: &Path) -> anyhow::Result<Value> {
    let schema = json_file(file).context("--schema")?;
    ensure!(schema.is_object(), "--schema {}: a schema is a JSON object", file.display());
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = stem.chars().map(plain).take(64).collect();
    let name = if name.is_empty() { "answer".to_owned() } else { name };
    Ok(json!({"type": "json_schema", "name": name, "schema": schema, "strict": true}))
}
