//! The agents: how each is told of a server and its model.

use std::path::Path;

use net::printable::printable;
use serde_json::{Value, json};

/// Tokens of context that Codex needs: its first prompt takes half of them.
pub(in crate::cli) const CODEX_CONTEXT: u32 = 32_768;
/// What agents send that insist on a key, where the server wants none.
pub(super) const NO_KEY: &str = "none";
/// What opencode replaces in its configuration, wherever it stands.
const SUBSTITUTED: [&str; 2] = ["{env:", "{file:"];
/// What to do about a name that an agent can't be given.
const OTHER_NAME: &str =
    "choose another model with --model, or serve this one under another name (--served-model-name)";
/// Variable with the key, for agents whose configuration names one.
const KEY: &str = "SLUICE_KEY";

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
}

/// What an agent is told: the server's base URL without `/v1`, the model, and its context, if it is
/// known.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    pub(super) url: String,
    pub(super) model: String,
    pub(super) context: Option<u64>,
}

/// An agent's command, without the user's arguments.
#[derive(Debug)]
pub(super) struct AgentCommand {
    pub(super) program: &'static str,
    pub(super) arguments: Vec<String>,
    pub(super) variables: Vec<(&'static str, Setting)>,
}

/// The value of a variable.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Setting {
    Text(String),
    /// The server's key.
    Key,
}

impl Agent {
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Claude => "claude",
            Self::Qwen => "qwen",
            Self::Opencode => "opencode",
        }
    }

    /// How to get the agent.
    pub(super) fn advice(self) -> String {
        let package = match self {
            Self::Codex => "@openai/codex",
            Self::Claude => "@anthropic-ai/claude-code",
            Self::Qwen => "@qwen-code/qwen-code",
            Self::Opencode => "opencode-ai",
        };
        format!("`npm install -g {package}` gets it")
    }

    /// Checks that the agent can work with the model, whose name may be a server's word.
    ///
    /// # Errors
    /// The agent would take the name for something else than a name, or the context is too short.
    pub(super) fn check(self, endpoint: &Endpoint) -> anyhow::Result<()> {
        let shown = printable(&endpoint.model);
        anyhow::ensure!(
            !endpoint.model.starts_with('-'),
            "the model's name {shown} begins with a dash, so {} would read it as a switch: {OTHER_NAME}",
            self.program()
        );
        anyhow::ensure!(
            self != Self::Opencode || !SUBSTITUTED.iter().any(|begin| endpoint.model.contains(begin)),
            "opencode would put a variable or a file in place of a part of the model's name {shown}: {OTHER_NAME}"
        );
        let Endpoint { model, context: Some(context), .. } = endpoint else { return Ok(()) };
        anyhow::ensure!(
            self != Self::Codex || *context >= CODEX_CONTEXT.into(),
            "codex needs {CODEX_CONTEXT} tokens of context, and {model} has {context}: raise the server's --context \
             (and --kv-cache, where that is what bounds it), or choose a model with a longer one"
        );
        Ok(())
    }

    /// The command; `catalog` is a file for Codex that describes the model.
    pub(super) fn command(self, endpoint: &Endpoint, catalog: Option<&Path>) -> AgentCommand {
        let (arguments, variables) = match self {
            Self::Codex => codex(endpoint, catalog),
            Self::Claude => claude(endpoint),
            Self::Qwen => qwen(endpoint),
            Self::Opencode => opencode(endpoint),
        };
        AgentCommand { program: self.program(), arguments, variables }
    }
}

type Told = (Vec<String>, Vec<(&'static str, Setting)>);

fn text(value: impl Into<String>) -> Setting {
    Setting::Text(value.into())
}

/// A provider beside the user's own. A text in JSON is one in TOML, too.
fn codex(Endpoint { url, model, .. }: &Endpoint, catalog: Option<&Path>) -> Told {
    let quoted = |text: &str| Value::from(text).to_string();
    let provider = format!(
        "model_providers.sluice={{name=\"Sluice\",base_url={},wire_api=\"responses\",env_key=\"{KEY}\"}}",
        quoted(&format!("{url}/v1"))
    );
    let mut settings = vec!["model_provider=\"sluice\"".to_owned(), provider];
    settings.push(format!("model={}", quoted(model)));
    settings.extend(catalog.map(|file| format!("model_catalog_json={}", quoted(&file.to_string_lossy()))));
    let arguments = settings.into_iter().flat_map(|setting| ["-c".to_owned(), setting]).collect();
    (arguments, vec![(KEY, Setting::Key)])
}

/// Every role has the model, and the key of an Anthropic account is not sent.
fn claude(Endpoint { url, model, context }: &Endpoint) -> Told {
    let mut variables = vec![
        ("ANTHROPIC_BASE_URL", text(url)),
        ("ANTHROPIC_AUTH_TOKEN", Setting::Key),
        ("ANTHROPIC_API_KEY", text("")),
        // A line at the head of each prompt that differs each time: no prefix would be cached.
        ("CLAUDE_CODE_ATTRIBUTION_HEADER", text("0")),
    ];
    let roles = [
        "ANTHROPIC_MODEL",
        "ANTHROPIC_DEFAULT_OPUS_MODEL",
        "ANTHROPIC_DEFAULT_SONNET_MODEL",
        "ANTHROPIC_DEFAULT_HAIKU_MODEL",
        "CLAUDE_CODE_SUBAGENT_MODEL",
    ];
    variables.extend(roles.map(|role| (role, text(model))));
    // It takes an unknown model's context for a million tokens, and would compact too late.
    variables.extend(context.map(|context| ("CLAUDE_CODE_MAX_CONTEXT_TOKENS", text(context.to_string()))));
    (vec!["--model".to_owned(), model.clone()], variables)
}

fn qwen(Endpoint { url, model, .. }: &Endpoint) -> Told {
    let variables = vec![
        ("OPENAI_BASE_URL", text(format!("{url}/v1"))),
        ("OPENAI_API_KEY", Setting::Key),
        ("OPENAI_MODEL", text(model)),
    ];
    // The user's settings come before the variable of the model, and not before its argument.
    (["--auth-type", "openai", "--model", model].map(str::to_owned).to_vec(), variables)
}

/// A provider beside the user's own; the configuration in the variable is merged over the files.
fn opencode(Endpoint { url, model, context }: &Endpoint) -> Told {
    let server = json!({"baseURL": format!("{url}/v1"), "apiKey": format!("{{env:{KEY}}}")});
    // opencode needs both bounds or none; it reserves the second for the answer.
    let limit = context.map(|context| json!({"context": context, "output": (context / 4).max(1)}));
    let about = limit.map_or_else(|| json!({}), |limit| json!({"limit": limit}));
    let chosen = format!("sluice/{model}");
    let config = json!({
        "provider": {"sluice": {
            "npm": "@ai-sdk/openai-compatible", "name": "Sluice", "options": server, "models": {model.as_str(): about},
        }},
        "model": chosen, "small_model": chosen,
    });
    (Vec::new(), vec![("OPENCODE_CONFIG_CONTENT", text(config.to_string())), (KEY, Setting::Key)])
}
