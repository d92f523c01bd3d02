//! The agents, each in a file with how it is told of a server and its model: by arguments,
//! variables, and at most one temporary file.

use std::path::PathBuf;

use net::printable::printable;
use system::random::hex;

mod aider;
mod claude;
mod codex;
mod copilot;
mod opencode;
mod pi;
mod qwen;

pub(in crate::cli) use codex::LEAST_CONTEXT as CODEX_CONTEXT;

/// What agents send that insist on a key, where the server wants none.
pub(super) const NO_KEY: &str = "none";
/// What to do about a name that an agent can't be given.
const OTHER_NAME: &str =
    "choose another model with --model, or serve this one under another name (--served-model-name)";
/// Variable with the key, for agents whose configuration names one.
const KEY: &str = "SLUICE_KEY";
/// An answer's share of the context, for agents that must reserve some: a quarter.
const ANSWER_SHARE: u64 = 4;

/// A coding agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Agent {
    /// OpenAI's Codex CLI.
    Codex,
    /// Anthropic's Claude Code.
    Claude,
    /// Qwen Code.
    Qwen,
    /// opencode.
    Opencode,
    /// Kilo Code's CLI.
    Kilo,
    /// GitHub's Copilot CLI.
    Copilot,
    /// pi.
    Pi,
    /// aider.
    Aider,
}

/// How an agent is got and told.
struct About {
    program: &'static str,
    /// Command that installs it.
    install: &'static str,
    /// What it replaces in its settings, wherever that stands.
    substituted: &'static [&'static str],
    /// Fewest tokens of context with which it works.
    least_context: u32,
    tell: fn(&Endpoint) -> Told,
}

impl About {
    const fn new(program: &'static str, install: &'static str, tell: fn(&Endpoint) -> Told) -> Self {
        Self { program, install, substituted: &[], least_context: 0, tell }
    }
}

/// What an agent is told: the server's base URL without `/v1`, the model, and its context, if it is
/// known.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    pub(super) url: String,
    pub(super) model: String,
    pub(super) context: Option<u64>,
}

impl Endpoint {
    /// Base URL of `OpenAI`'s protocols.
    fn openai_url(&self) -> String {
        format!("{}/v1", self.url)
    }

    /// The context, and the part of it that an answer may have.
    fn limits(&self) -> Option<(u64, u64)> {
        self.context.map(|context| (context, (context / ANSWER_SHARE).max(1)))
    }
}

/// An agent's command, without the user's arguments.
#[derive(Debug)]
pub(super) struct AgentCommand {
    pub(super) program: &'static str,
    pub(super) told: Told,
}

/// How an agent is told of its endpoint.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) arguments: Vec<String>,
    pub(super) variables: Vec<(&'static str, Setting)>,
    /// File that it reads, which is there as long as it runs.
    pub(super) file: Option<TextFile>,
}

/// The value of a variable.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Setting {
    Text(String),
    /// The server's key.
    Key,
}

/// A temporary file.
#[derive(Debug)]
pub(super) struct TextFile {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl TextFile {
    /// A file with a name of its own in the temporary folder, for an agent.
    fn new(agent: &str, extension: &str, text: String) -> Self {
        let name = format!("sluice-{agent}-{}.{extension}", hex::<8>());
        Self { path: std::env::temp_dir().join(name), text }
    }

    fn path(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }
}

fn text(value: impl Into<String>) -> Setting {
    Setting::Text(value.into())
}

impl Agent {
    fn about(self) -> &'static About {
        match self {
            Self::Codex => &codex::CODEX,
            Self::Claude => &claude::CLAUDE,
            Self::Qwen => &qwen::QWEN,
            Self::Opencode => &opencode::OPENCODE,
            Self::Kilo => &opencode::KILO,
            Self::Copilot => &copilot::COPILOT,
            Self::Pi => &pi::PI,
            Self::Aider => &aider::AIDER,
        }
    }

    pub(super) fn program(self) -> &'static str {
        self.about().program
    }

    /// How to get the agent.
    pub(super) fn advice(self) -> String {
        format!("`{}` gets it", self.about().install)
    }

    /// Checks that the agent can work with the model, whose name may be a server's word.
    ///
    /// # Errors
    /// The agent would take the name for something else than a name, or the context is too short.
    pub(super) fn check(self, endpoint: &Endpoint) -> anyhow::Result<()> {
        let About { program, substituted, least_context, .. } = self.about();
        let shown = printable(&endpoint.model);
        anyhow::ensure!(
            !endpoint.model.starts_with('-'),
            "the model's name {shown} begins with a dash, so {program} would read it as a switch: {OTHER_NAME}"
        );
        anyhow::ensure!(
            !substituted.iter().any(|begin| endpoint.model.contains(begin)),
            "{program} would put a variable or a file in place of a part of the model's name {shown}: {OTHER_NAME}"
        );
        let Endpoint { model, context: Some(context), .. } = endpoint else { return Ok(()) };
        anyhow::ensure!(
            *context >= u64::from(*least_context),
            "{program} needs {least_context} tokens of context, and {model} has {context}: raise the server's --context \
             (and --kv-cache, where that is what bounds it), or choose a model with a longer one"
        );
        Ok(())
    }

    pub(super) fn command(self, endpoint: &Endpoint) -> AgentCommand {
        let About { program, tell, .. } = self.about();
        AgentCommand { program, told: tell(endpoint) }
    }
}
