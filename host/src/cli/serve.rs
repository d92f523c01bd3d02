//! `host serve`: starts the server from its arguments.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use api::{Defaults, ReasoningEvents};
use clap::builder::NonEmptyStringValueParser;
use model::Models;
use model::limits::{Limits, PROMPT_THREADS};
use parsers::ParserLimits;
use server::http::{App, Keys, Server, install_metrics, largest_body};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::access::AccessArguments;
use super::ending::{StopSignals, run_until_stopped};
use super::limits::Switches;
use super::listen::{ListenAddress, listen};
use super::load::with_switch;
use super::log::{LogLevel, log_to_stderr};
use super::mcp::McpArguments;
use super::models::ModelArguments;
use super::progress::show_loading;
use super::stderr;
use super::store::StoreArguments;
use super::summary::announce;
use super::telemetry::TelemetryArguments;

#[derive(clap::Args)]
pub(super) struct ServeArguments {
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
    log_level: Option<LogLevel>,
    #[command(flatten)]
    limits: Switches<Limits>,
}

impl ServeArguments {
    /// The limits, with what `owners` of keys share.
    pub(super) fn limits(&self, owners: usize) -> anyhow::Result<Limits> {
        let limits = self.limits.0.clone();
        let Limits { sequences, waiting_requests: waiting, body_bytes: body, request_memory: memory, .. } =
            limits;
        let (places, whose) = if owners > 1 { (waiting / 2, "half of ") } else { (waiting, "") };
        anyhow::ensure!(
            sequences <= places,
            "--max-sequences {sequences} is more than {whose}--max-waiting {waiting}: no such request could be sure of its place"
        );
        let largest = largest_body(&limits, owners);
        anyhow::ensure!(
            body <= largest,
            "--max-body {} is more than --request-memory {} has room for: set --max-body {} or less, or a larger --request-memory",
            body >> 20,
            memory >> 20,
            largest >> 20
        );
        Ok(Limits {
            parser: self.parser_limits.0.clone(),
            mcp: self.mcp.limits(),
            remote: self.models.remote_limits(),
            ..limits
        })
    }
}

pub(super) fn run(arguments: ServeArguments) -> anyhow::Result<ExitCode> {
    log_to_stderr(arguments.log_json, arguments.log_level, "info");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(PROMPT_THREADS)
        .build()
        .context("can't start the runtime")?;
    let result = runtime.block_on(serve(arguments));
    // A parser may still be compiling, which takes seconds; its result is not needed.
    runtime.shutdown_background();
    result?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(arguments: ServeArguments) -> anyhow::Result<()> {
    // This comes first: until a handler is installed, the signal ends the process.
    let hangup = signal(SignalKind::hangup()).context("can't wait for SIGHUP")?;
    install_metrics(arguments.telemetry.metrics_prefix.as_deref());
    let exporter = arguments.telemetry.exporter()?;
    let access = arguments.access.access()?;
    let limits = arguments.limits(access.keys.owners())?;
    let mcp = arguments.mcp.servers(&limits.mcp)?;
    let compaction_prompt = super::compaction::prompt(arguments.compaction_prompt.as_deref())?;
    let seal = super::seal::load(arguments.seal_key.as_deref())?;
    let (first, others) = arguments.models.models()?;
    let shared = arguments.models.shared(access.keys.owners());
    // The address is bound before weights are read, so that an operator who forgot a running server
    // sees the error at once.
    let socket = arguments.listen.bind("--listen").await?;
    let admin_socket = match &arguments.admin_listen {
        Some(address) => Some(address.bind("--admin-listen").await?),
        None => None,
    };
    let (store, stored) = tokio::task::block_in_place(|| arguments.store.open())?;
    let load = || Models::load(&first, &others, &shared, &limits, &mut show_loading);
    let models = tokio::task::block_in_place(load).map_err(with_switch)?;
    let defaults = Defaults {
        template_arguments: arguments.template_argument.clone(),
        reasoning_events: arguments.reasoning_events,
        limits: limits.clone(),
        mcp,
        seal,
        compaction_prompt,
        ..Defaults::default()
    };
    let keys = access.keys.clone();
    let keyed = !keys.is_empty();
    let app = App::new(models.clone(), limits, access, &defaults, arguments.check_streams, store);
    let app = match exporter {
        Some(exporter) => app.traced(exporter),
        None => app,
    };
    let server = Server::on(listen(socket)?, admin_socket.map(listen).transpose()?, app);
    let mut addresses = vec![("address", server.address()?)];
    addresses.extend(server.admin_address()?.map(|address| ("admin", address)));
    // Warnings come before the summary, which is what an operator reads.
    let follow_plugin_files = models.follow_plugin_files();
    let warnings = if keyed { Vec::new() } else { super::access::warn_of_public(&addresses) };
    stderr::flush();
    let mut signals = StopSignals::catch().context("can't wait for SIGTERM")?;
    announce(&models, &stored, &addresses, keyed, &warnings);
    tokio::select! {
        ended = run_until_stopped(|stop| server.run(stop), models.lost(), async || signals.next().await) => ended.map_err(anyhow::Error::msg),
        () = follow_plugin_files => Ok(()),
        () = reload_on_hangup(&models, &arguments.access, &keys, hangup) => Ok(()),
    }
}

/// Reloads the API keys and the parsers at each SIGHUP; never ready.
async fn reload_on_hangup(models: &Models, access: &AccessArguments, keys: &Keys, mut hangup: Signal) {
    while hangup.recv().await.is_some() {
        tokio::task::block_in_place(|| access.reload(keys));
        models.reload_parsers("signal").await;
    }
}
