//! The switches of `host serve`, and what a server takes from them.

use std::path::PathBuf;

use accounts::AccountLimits;
use api::limits::RequestLimits;
use api::seal::Seal;
use api::{Defaults, ReasoningEvents};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args as _, FromArgMatches as _};
use model::limits::ModelLimits;
use parsers::ParserLimits;
use prompt::PromptLimits;
use server::accept::largest_body;
use server::{HttpLimits, ServerLimits};

use super::access::AccessArguments;
use super::config::ConfigArguments;
use super::limits::Switches;
use super::listen::ListenAddress;
use super::log::LogLevel;
use super::mcp::McpArguments;
use super::models::ModelArguments;
use super::record::RecordArguments;
use super::store::StoreArguments;
use super::telemetry::TelemetryArguments;
use super::tls::TlsArguments;

#[derive(clap::Args)]
pub(super) struct ServeArguments {
    #[command(flatten)]
    pub(super) config: ConfigArguments,
    #[command(flatten)]
    pub(super) models: ModelArguments,
    #[command(flatten)]
    parser_limits: Switches<ParserLimits>,
    /// Template argument that requests may set in `chat_template_kwargs` (repeatable).
    #[arg(long, value_name = "NAME", default_values = ["enable_thinking", "reasoning_effort"], value_parser = NonEmptyStringValueParser::new())]
    template_argument: Vec<String>,
    /// How the Responses API shows reasoning if the request doesn't choose.
    #[arg(long, value_parser = super::values::reasoning_events(), default_value = "text")]
    reasoning_events: ReasoningEvents,
    /// File of the key that encrypts reasoning which clients store for this server; it is created
    /// if missing. `none` uses a key that lasts as long as the process [default: sluice/seal.key in
    /// the user's data folder; if that isn't possible, `none`, with a warning].
    #[arg(long, value_name = "FILE|none")]
    pub(super) seal_key: Option<PathBuf>,
    /// File with the prompt by which the model writes the summary when a conversation is compacted
    /// [default: the server's own].
    #[arg(long, value_name = "FILE")]
    pub(super) compaction_prompt: Option<PathBuf>,
    #[command(flatten)]
    pub(super) store: StoreArguments,
    #[command(flatten)]
    pub(super) mcp: McpArguments,
    /// Address to listen on. A port alone means the loopback interface; a host name is looked up.
    #[arg(long, value_name = "[HOST:]PORT", default_value = "127.0.0.1:8000")]
    pub(super) listen: ListenAddress,
    /// Address for operators: metrics, list and reload of parsers [default: none]. It requires the
    /// same API keys; don't expose it.
    #[arg(long, value_name = "[HOST:]PORT")]
    pub(super) admin_listen: Option<ListenAddress>,
    #[command(flatten)]
    pub(super) tls: TlsArguments,
    #[command(flatten)]
    pub(super) record: RecordArguments,
    #[command(flatten)]
    pub(super) access: AccessArguments,
    /// Check every stream against the event grammar while it is sent. Costs CPU; on in debug
    /// builds.
    #[arg(long, default_value_t = cfg!(debug_assertions))]
    pub(super) check_streams: bool,
    #[command(flatten)]
    pub(super) telemetry: TelemetryArguments,
    /// Write logs as JSON lines.
    #[arg(long)]
    pub(super) log_json: bool,
    /// Least level of the log's lines [default: what `RUST_LOG` says, else info].
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(super) log_level: Option<LogLevel>,
    #[command(flatten)]
    http_limits: Switches<HttpLimits>,
    #[command(flatten)]
    request_limits: Switches<RequestLimits>,
    #[command(flatten)]
    account_limits: Switches<AccountLimits>,
    #[command(flatten)]
    prompt_limits: Switches<PromptLimits>,
    #[command(flatten)]
    model_limits: Switches<ModelLimits>,
}

impl ServeArguments {
    /// Arguments of a server inside another command: the defaults of `serve`, on a free port of the
    /// loopback interface, for whoever has `key`; it stores nothing that outlives it.
    pub(super) fn in_process(models: ModelArguments, key: &str) -> Result<Self, clap::Error> {
        let command = Self::augment_args(clap::Command::new("serve").no_binary_name(true));
        let switches = [
            "--listen",
            "127.0.0.1:0",
            "--store",
            "memory",
            "--seal-key",
            "none",
            "--no-page",
            "--api-key",
            key,
        ];
        let mut arguments = Self::from_arg_matches(&command.try_get_matches_from(switches)?)?;
        arguments.models = models;
        Ok(arguments)
    }

    /// Defaults for requests under these limits, with this seal.
    pub(super) fn defaults(&self, limits: &ServerLimits, seal: Seal) -> anyhow::Result<Defaults> {
        Ok(Defaults {
            template_arguments: self.template_argument.clone(),
            reasoning_events: self.reasoning_events,
            limits: limits.request.clone(),
            mcp: self.mcp.servers(&limits.mcp)?,
            seal,
            compaction_prompt: super::compaction::prompt(self.compaction_prompt.as_deref())?,
            ..Defaults::default()
        })
    }

    /// The limits, with what `owners` of keys share.
    pub(super) fn limits(&self, owners: usize) -> anyhow::Result<ServerLimits> {
        let (http, request) = (self.http_limits.0.clone(), self.request_limits.0.clone());
        let model = ModelLimits {
            accounts: self.account_limits.0.clone(),
            prompt: self.prompt_limits.0.clone(),
            parser: self.parser_limits.0.clone(),
            remote: self.models.remote_limits(),
            ..self.model_limits.0.clone()
        };
        let (sequences, waiting) = (request.sequences, model.waiting_requests);
        let (places, whose) = if owners > 1 { (waiting / 2, "half of ") } else { (waiting, "") };
        anyhow::ensure!(
            sequences <= places,
            "--max-sequences {sequences} is more than {whose}--max-waiting {waiting}: no such request could be sure of its place"
        );
        let largest = largest_body(&model.accounts, owners);
        anyhow::ensure!(
            http.body_bytes <= largest,
            "--max-body {} is more than --request-memory {} has room for: set --max-body {} or less, or a larger --request-memory",
            http.body_bytes >> 20,
            model.accounts.memory >> 20,
            largest >> 20
        );
        Ok(ServerLimits { http, request, model, mcp: self.mcp.limits() })
    }
}
