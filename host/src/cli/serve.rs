//! `host serve`: starts the server from its arguments.

use std::path::PathBuf;
use std::process::ExitCode;

use accounts::AccountLimits;
use anyhow::Context;
use api::limits::RequestLimits;
use api::seal::Seal;
use api::{Defaults, ReasoningEvents};
use clap::builder::NonEmptyStringValueParser;
use clap::{Args as _, FromArgMatches as _};
use model::limits::{ModelLimits, PROMPT_THREADS};
use model::{LoadProgress, Models};
use parsers::ParserLimits;
use prompt::PromptLimits;
use server::accept::{App, largest_body};
use server::http::{Server, install_metrics};
use server::{HttpLimits, Limits};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use super::access::AccessArguments;
use super::config::ConfigArguments;
use super::ending::{StopSignals, run_until_stopped};
use super::limits::Switches;
use super::listen::{ListenAddress, listen};
use super::load::with_switch;
use super::log::{LogLevel, log_to_stderr};
use super::mcp::McpArguments;
use super::models::ModelArguments;
use super::progress::LoadingLine;
use super::record::RecordArguments;
use super::reload::{LEAST_LEVEL, Reload, Running};
use super::stderr;
use super::store::StoreArguments;
use super::summary::announce;
use super::telemetry::TelemetryArguments;

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
    pub(super) record: RecordArguments,
    #[command(flatten)]
    pub(super) access: AccessArguments,
    /// Check every stream against the event grammar while it is sent. Costs CPU; on in debug
    /// builds.
    #[arg(long, default_value_t = cfg!(debug_assertions))]
    check_streams: bool,
    #[command(flatten)]
    telemetry: TelemetryArguments,
    /// Write logs as JSON lines.
    #[arg(long)]
    log_json: bool,
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
        let switches =
            ["--listen", "127.0.0.1:0", "--store", "memory", "--seal-key", "none", "--api-key", key];
        let mut arguments = Self::from_arg_matches(&command.try_get_matches_from(switches)?)?;
        arguments.models = models;
        Ok(arguments)
    }

    /// Defaults for requests under these limits, with this seal.
    pub(super) fn defaults(&self, limits: &Limits, seal: Seal) -> anyhow::Result<Defaults> {
        Ok(Defaults {
            template_arguments: self.template_argument.clone(),
            reasoning_events: self.reasoning_events,
            limits: limits.request.clone(),
            prompt_limits: limits.model.prompt.clone(),
            mcp: self.mcp.servers(&limits.mcp)?,
            seal,
            compaction_prompt: super::compaction::prompt(self.compaction_prompt.as_deref())?,
            ..Defaults::default()
        })
    }

    /// The limits, with what `owners` of keys share.
    pub(super) fn limits(&self, owners: usize) -> anyhow::Result<Limits> {
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
        Ok(Limits { http, request, model, mcp: self.mcp.limits() })
    }
}

/// Serves until a signal ends it; `reload` reads the arguments and their file again.
pub(super) fn run(arguments: ServeArguments, reload: Reload) -> anyhow::Result<ExitCode> {
    log_to_stderr(arguments.log_json, arguments.log_level, LEAST_LEVEL);
    let runtime = runtime()?;
    let result = runtime.block_on(serve(arguments, reload));
    // A parser may still be compiling, which takes seconds; its result is not needed.
    runtime.shutdown_background();
    result?;
    Ok(ExitCode::SUCCESS)
}

/// The runtime of a process that serves.
pub(super) fn runtime() -> anyhow::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(PROMPT_THREADS)
        .build()
        .context("can't start the runtime")
}

/// Models and settings of a server, and the server itself, which listens and isn't run yet.
pub(super) struct ListeningServer {
    pub(super) running: Running,
    pub(super) server: Server,
    /// Where the store is, for the summary.
    stored: String,
    /// The server's parts, whose records are closed at its end.
    app: App,
}

/// Loads the models, and binds the addresses first, so that an operator who forgot a running server
/// sees the error at once.
///
/// `may_change` says that a signal may bring other settings.
pub(super) async fn prepare(arguments: &ServeArguments, may_change: bool) -> anyhow::Result<ListeningServer> {
    install_metrics(arguments.telemetry.metrics_prefix.as_deref());
    let exporter = arguments.telemetry.exporter()?;
    arguments.record.check(arguments.admin_listen.is_some())?;
    let access = arguments.access.access(may_change)?;
    let limits = arguments.limits(access.keys.owners())?;
    let defaults = arguments.defaults(&limits, super::seal::load(arguments.seal_key.as_deref())?)?;
    let records = arguments.record.open()?;
    let (first, others) = arguments.models.models()?;
    let shared = arguments.models.shared(access.keys.owners());
    let socket = arguments.listen.bind("--listen").await?;
    let admin_socket = match &arguments.admin_listen {
        Some(address) => Some(address.bind("--admin-listen").await?),
        None => None,
    };
    let (store, stored) = tokio::task::block_in_place(|| arguments.store.open())?;
    let mut line = LoadingLine::default();
    let show = &mut |model: &str, progress: LoadProgress<'_>| line.show(model, progress);
    let load = || Models::load(&first, &others, &shared, &limits.model, show);
    let models = tokio::task::block_in_place(load).map_err(with_switch)?;
    if records.is_some() {
        // The digests of files are made once.
        models.iter().for_each(|model| drop(model.record_line()));
    }
    let running = Running { models: models.clone(), keys: access.keys.clone(), named: access.named.clone() };
    let app = App::new(models.clone(), limits, access, &defaults, arguments.check_streams, store)
        .observed(records, arguments.record.inspect);
    let app = match exporter {
        Some(exporter) => app.traced(exporter),
        None => app,
    };
    let server = Server::on(listen(socket)?, admin_socket.map(listen).transpose()?, app.clone());
    Ok(ListeningServer { running, server, stored, app })
}

async fn serve(arguments: ServeArguments, reload: Reload) -> anyhow::Result<()> {
    // This comes first: until a handler is installed, the signal ends the process.
    let hangup = signal(SignalKind::hangup()).context("can't wait for SIGHUP")?;
    let ListeningServer { running, server, stored, app } = prepare(&arguments, reload.has_file()).await?;
    let (models, keyed) = (running.models.clone(), !running.keys.is_empty());
    let mut addresses = vec![("address", server.address()?)];
    addresses.extend(server.admin_address()?.map(|address| ("admin", address)));
    // Warnings come before the summary, which is what an operator reads.
    let follow_plugin_files = models.follow_plugin_files();
    let warnings = if keyed { Vec::new() } else { super::access::warn_of_public(&addresses) };
    stderr::flush();
    let mut signals = StopSignals::catch().context("can't wait for SIGTERM")?;
    announce(&models, &stored, &addresses, keyed, &warnings);
    let ended = tokio::select! {
        ended = run_until_stopped(|stop| server.run(stop), models.lost(), async || signals.next().await) => ended.map_err(anyhow::Error::msg),
        () = follow_plugin_files => Ok(()),
        () = running.reload_on(hangup, reload) => Ok(()),
    };
    if let Some(records) = &app.records {
        tokio::task::block_in_place(|| records.close());
    }
    ended
}
