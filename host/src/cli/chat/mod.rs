//! `host chat`: a conversation on a terminal, or of lines that are piped in.
//!
//! Invariant: the conversation is kept here, and sent whole with every turn. So it goes on after a
//! broken connection or with a server that stores nothing, and a turn can be taken back.

mod command;
mod conversation;
mod input;
mod local_tools;
mod stats;
mod turn;

use std::process::ExitCode;

use serde_json::{Value, json};

use super::client::{
    AskArguments, INTERRUPTED, Interrupts, ModelServer, Screen, field, json_file, set, shown,
};
use super::log::log_to_stderr;
use super::mcp::McpArguments;
use super::serve::runtime;
use command::{Command, HELP};
use conversation::Conversation;
use input::{ChatInput, Line};
use local_tools::LocalTools;
use stats::Stats;

#[derive(clap::Args)]
pub(super) struct ChatArguments {
    #[command(flatten)]
    pub(super) ask: AskArguments,
    #[command(flatten)]
    mcp: McpArguments,
}

/// What a session needs besides its input.
struct Chat {
    target: ModelServer,
    conversation: Conversation,
    local_tools: LocalTools,
    /// Most turns of the model with calls of local tools for one question.
    tool_turns: usize,
    screen: Screen,
    interrupts: Interrupts,
    verbose: bool,
    stats: Stats,
}

pub(super) fn run(arguments: ChatArguments) -> anyhow::Result<ExitCode> {
    log_to_stderr(false, None, "warn");
    let runtime = runtime()?;
    let code = runtime.block_on(chat(arguments));
    runtime.shutdown_background();
    code
}

async fn chat(arguments: ChatArguments) -> anyhow::Result<ExitCode> {
    let ChatArguments { ask, mcp } = arguments;
    let (screen, verbose, fields, system) = (ask.screen(true), ask.verbose, ask.fields(), ask.system);
    let limits = mcp.limits();
    let local_tools = match ask.target.url {
        Some(_) => LocalTools::of(&mcp.servers(&limits)?).await?,
        None => LocalTools::none(),
    };
    let target = ask.target.reach(Some(mcp)).await?;
    let hosted = target.tool_servers.iter().map(|label| json!({"type": "mcp", "server_label": label}));
    let declared = hosted.chain(local_tools.declarations()).collect();
    let conversation = Conversation::new(fields, system, declared);
    let (interrupts, tool_turns) = (Interrupts::catch()?, limits.turns);
    let stats = Stats::default();
    let mut chat = Chat { target, conversation, local_tools, tool_turns, screen, interrupts, verbose, stats };
    let mut input = ChatInput::open()?;
    if input.is_terminal() {
        chat.screen.remark(&format!("{}; /help lists commands, Ctrl-D leaves", chat.target.model))?;
    }
    let mut is_interrupted = false;
    loop {
        match input.read(&mut chat.interrupts).await? {
            Line::End => return Ok(ExitCode::SUCCESS),
            Line::Interrupted if is_interrupted || !input.is_terminal() => {
                return Ok(ExitCode::from(INTERRUPTED));
            }
            Line::Interrupted => {
                is_interrupted = true;
                chat.screen.remark("Ctrl-C once more or Ctrl-D leaves")?;
            }
            Line::Text(text) => {
                is_interrupted = false;
                chat.take(&text, &mut input).await?;
            }
        }
    }
}

impl Chat {
    /// Handles what the user typed. Only an output that can't be written ends the session.
    async fn take(&mut self, text: &str, input: &mut ChatInput) -> anyhow::Result<()> {
        match command::parse(text) {
            Ok(None) if text.trim().is_empty() => Ok(()),
            Ok(None) => self.turn(text.to_owned(), input).await,
            Ok(Some(command)) => self.obey(command, input).await,
            Err(reason) => Ok(self.screen.remark(&reason)?),
        }
    }

    async fn obey(&mut self, command: Command<'_>, input: &mut ChatInput) -> anyhow::Result<()> {
        let done = match command {
            Command::Help => Ok(HELP.trim_end().to_owned()),
            Command::Retry => match self.conversation.take_back() {
                Some(text) => return self.turn(text, input).await,
                None => Err(anyhow::anyhow!("there is no question to ask again")),
            },
            Command::Edit => match self.conversation.take_back() {
                Some(text) => {
                    input.begin_with(text);
                    return Ok(());
                }
                None => Err(anyhow::anyhow!("there is no question to edit")),
            },
            Command::System(text) => Ok(self.conversation.instruct(text)),
            Command::Tools(file) => self.tools(file),
            Command::Set(given) => self.set(given),
            Command::Stats => Ok(self.stats.to_string()),
            Command::Save(file) => self.conversation.save(file, &self.target.model),
        };
        let said = done.unwrap_or_else(|error| super::one_line(&error));
        for line in said.lines() {
            self.screen.remark(line)?;
        }
        Ok(())
    }

    fn tools(&mut self, file: &str) -> anyhow::Result<String> {
        let tools = match file {
            "" => return Ok(self.conversation.tool_names()),
            "none" => Vec::new(),
            file => match json_file(file.as_ref())? {
                Value::Array(tools) => tools,
                tool @ Value::Object(_) => vec![tool],
                _ => anyhow::bail!("{file}: tools are a JSON list, as in a request"),
            },
        };
        self.conversation.set_tools(tools);
        Ok(self.conversation.tool_names())
    }

    fn set(&mut self, given: &str) -> anyhow::Result<String> {
        if !given.is_empty() {
            let field = field(given).map_err(anyhow::Error::msg)?;
            set(&mut self.conversation.fields, &field);
        }
        Ok(shown(&Value::Object(self.conversation.fields.clone()).to_string()))
    }
}
