//! `host serve`: from arguments to a running server.

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::builder::NonEmptyStringValueParser;
use engine::cpu::MAX_THREADS;
use engine::models::{self, Progress};
use host::api::{Defaults, ReasoningEvents};
use host::http::{App, Server, largest_body};
use host::limits::{Limits, ParserLimits};
use host::model::{EngineChoice, Model, ModelLoadError, ModelOptions, Pin};
use host::turn::FaultPolicy;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::access::AccessArguments;
use super::cache;
use super::limits::Switches;
use super::listen::{ListenAddress, listen};
use super::mcp::McpArguments;
use super::values::number;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Model: a directory in Hugging Face's layout, or ORG/NAME from the local Hugging Face cache
    /// [default: the tiny test model inside the binary].
    #[arg(long, value_name = "DIR|ORG/NAME", value_parser = NonEmptyStringValueParser::new())]
    model: Option<String>,
    /// Output parser: `auto` takes the one that claims the model; else a file, or a name in the plugins folder or among the
    /// shipped ones; `none` treats all text as content.
    #[arg(long, value_name = "auto|[MODEL=]FILE|NAME|none", default_value = "auto")]
    parser: String,
    /// Folder that parsers are looked up in; a file that changes there is loaded anew while the server runs.
    #[arg(long, value_name = "DIR", default_value = "plugins")]
    plugins: PathBuf,
    /// Setting handed to the parser (repeatable).
    #[arg(long, value_name = "KEY=VALUE", value_parser = super::values::key_value)]
    parser_option: Vec<(String, String)>,
    /// SHA-256 that the parser of this file or name must have (repeatable).
    #[arg(long, value_name = "NAME=HEX")]
    parser_sha256: Vec<Pin>,
    /// Folder for compiled parsers, or `none` [default: sluice/parsers in the user's cache folder].
    #[arg(long, value_name = "DIR|none")]
    parser_cache: Option<PathBuf>,
    #[command(flatten)]
    parser_limits: Switches<ParserLimits>,
    /// When a parser fails outside a tool call: go on with the rest as text, or fail the response.
    #[arg(long, value_parser = super::values::fault_policy(), default_value = "continue")]
    parser_fault: FaultPolicy,
    /// What generates: `cpu`, or `replay:FILE` for scripted outputs.
    #[arg(long, default_value = "cpu", value_name = "cpu|replay:FILE")]
    engine: EngineChoice,
    /// Threads of the CPU engine, 1 to 512 [default: all cores].
    #[arg(long, value_name = "THREADS", value_parser = number::<usize>(1..=MAX_THREADS as u64))]
    threads: Option<usize>,
    /// Memory of the KV cache in MiB.
    #[arg(long, default_value = "1024", value_name = "MIB", value_parser = number::<usize>(1..=MAX_KV_CACHE_MIB))]
    kv_cache: usize,
    /// Tokens of prompt and answer together, no more than the model has [default: what it has].
    #[arg(long, value_name = "TOKENS", value_parser = number::<usize>(1..=MAX_CONTEXT))]
    context: Option<usize>,
    /// Chat template to use instead of the model's.
    #[arg(long, value_name = "FILE")]
    chat_template: Option<PathBuf>,
    /// Template argument that requests may set in `chat_template_kwargs` (repeatable).
    #[arg(long, value_name = "NAME", default_values = ["enable_thinking", "reasoning_effort"], value_parser = NonEmptyStringValueParser::new())]
    template_argument: Vec<String>,
    /// Name that clients ask for (repeatable) [default: the model's].
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    served_model_name: Vec<String>,
    /// How the Responses API shows reasoning where the request doesn't say.
    #[arg(long, value_parser = super::values::reasoning_events(), default_value = "text")]
    reasoning_events: ReasoningEvents,
    /// File of the key that seals what clients keep for this server (encrypted reasoning), made if it isn't there; `none`: a key
    /// of this process alone [default: sluice/seal.key in the user's data folder, or a key of this process alone, with a warning,
    /// where there can be no such file].
    #[arg(long, value_name = "FILE|none")]
    seal_key: Option<PathBuf>,
    #[command(flatten)]
    mcp: McpArguments,
    /// Address to listen on: a port alone is one of the loopback interface, a host's name is looked up.
    #[arg(long, value_name = "[HOST:]PORT", default_value = "127.0.0.1:8000")]
    listen: ListenAddress,
    /// Address for operators: parsers and their reload, metrics [default: none]. It asks for the same keys; keep it local.
    #[arg(long, value_name = "[HOST:]PORT")]
    admin_listen: Option<ListenAddress>,
    #[command(flatten)]
    access: AccessArguments,
    /// Check every stream against the event grammar while it is sent (costs CPU; on in debug builds).
    #[arg(long, default_value_t = cfg!(debug_assertions))]
    check_streams: bool,
    /// Log as JSON lines.
    #[arg(long)]
    log_json: bool,
    #[command(flatten)]
    limits: Switches<Limits>,
}

impl Arguments {
    fn limits(&self) -> anyhow::Result<Limits> {
        let limits = self.limits.0.clone();
        let Limits { sequences, waiting_requests: waiting, body_bytes: body, request_memory: memory, .. } =
            limits;
        anyhow::ensure!(
            sequences <= waiting,
            "--max-sequences {sequences} is more than --max-waiting {waiting}: no such request could be sure of its place"
        );
        let largest = largest_body(&limits, self.access.access().keys.count());
        anyhow::ensure!(
            body <= largest,
            "--max-body {} is more than --request-memory {} has room for: set --max-body {} or less, or a larger --request-memory",
            body >> 20,
            memory >> 20,
            largest >> 20
        );
        Ok(Limits { parser: self.parser_limits.0.clone(), mcp: self.mcp.limits(), ..limits })
    }
}

/// The largest KV cache, 16 TiB: more memory than machines have, and far from what a number of bytes can be.
const MAX_KV_CACHE_MIB: u64 = 1 << 24;
/// The longest context that may be asked for, beyond that of any model; the model's own is known once it is loaded.
const MAX_CONTEXT: u64 = 1 << 24;
/// Threads that make prompts at one time: more would only take the cores from each other and from the engine.
const PROMPT_THREADS: usize = 16;

pub(super) fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    log_to_stderr(arguments.log_json);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(PROMPT_THREADS)
        .build()
        .context("can't start the runtime")?;
    let result = runtime.block_on(serve(arguments));
    // A parser may be compiling, for seconds: nobody waits for it any more.
    runtime.shutdown_background();
    result?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(arguments: Arguments) -> anyhow::Result<()> {
    // First of all: until somebody waits for it, the signal ends the process.
    let hangup = signal(SignalKind::hangup()).context("can't wait for SIGHUP")?;
    let limits = arguments.limits()?;
    let mcp = arguments.mcp.servers(&limits.mcp)?;
    let seal = super::seal::load(arguments.seal_key.as_deref())?;
    let options = model_options(&arguments)?;
    // Taken before weights are read: whoever forgot a running server hears of it at once.
    let socket = arguments.listen.bind("--listen").await?;
    let admin_socket = match &arguments.admin_listen {
        Some(address) => Some(address.bind("--admin-listen").await?),
        None => None,
    };
    let model = tokio::task::block_in_place(|| Model::load(&options, &limits, &mut show_progress))
        .map_err(with_switch)?;
    let (temperature, top_p) = model.default_sampling();
    let defaults = Defaults {
        template_arguments: arguments.template_argument.clone(),
        reasoning_events: arguments.reasoning_events,
        limits: limits.clone(),
        mcp,
        temperature: temperature.into(),
        top_p: top_p.into(),
        seal,
        context: model.context(),
    };
    let summary = model.summary();
    let name = model.names()[0].clone();
    let access = arguments.access.access();
    let keyed = !access.keys.is_empty();
    let app = App::new(model.clone(), limits, access, defaults, arguments.check_streams);
    let server = Server::on(listen(socket)?, admin_socket.map(listen).transpose()?, app);
    let mut addresses = vec![("address", server.address()?)];
    addresses.extend(server.admin_address()?.map(|address| ("admin", address)));
    // Whatever it warns of is said before the summary, which is what an operator looks at.
    let follow_plugin_files = model.follow_plugin_files();
    if !keyed {
        super::access::warn_of_public(&addresses)?;
    }
    announce(&summary, &name, &addresses, keyed)?;
    tokio::select! {
        () = run_until_told(server) => {}
        () = follow_plugin_files => {}
        () = reload_on_hangup(&model, hangup) => {}
    }
    Ok(())
}

/// An error of the engine with the switch that it is about.
fn with_switch(error: ModelLoadError) -> anyhow::Error {
    let switch = match &error {
        ModelLoadError::Engine(models::LoadError::Threads { .. }) => "--threads",
        ModelLoadError::Engine(models::LoadError::Context { .. }) => "--context",
        ModelLoadError::Engine(
            models::LoadError::CacheTooSmall { .. } | models::LoadError::CacheTooLarge { .. },
        ) => "--kv-cache",
        _ => return error.into(),
    };
    anyhow::Error::from(error).context(switch)
}

/// SIGHUP loads the parser again; never ready.
async fn reload_on_hangup(model: &Model, mut hangup: Signal) {
    while hangup.recv().await.is_some() {
        model.reload_parsers("signal").await;
    }
}

/// Told once, the server drains; told again, it stops at once.
async fn run_until_told(server: Server) {
    let stop = CancellationToken::new();
    let impatience = async {
        told_to_stop().await;
        stop.cancel();
        told_to_stop().await;
    };
    tokio::select! {
        () = server.run(stop.clone().cancelled_owned()) => {}
        () = impatience => tracing::warn!("told to stop again: streams under way are cut"),
    }
}

fn model_options(arguments: &Arguments) -> anyhow::Result<ModelOptions> {
    let chat_template = match &arguments.chat_template {
        Some(file) => Some(
            std::fs::read_to_string(file).with_context(|| format!("--chat-template {}", file.display()))?,
        ),
        None => None,
    };
    Ok(ModelOptions {
        model: arguments.model.clone(),
        parser: Some(arguments.parser.clone()),
        plugins: arguments.plugins.clone(),
        parser_options: arguments.parser_option.clone(),
        parser_pins: arguments.parser_sha256.clone(),
        parser_cache: cache::folder(arguments.parser_cache.as_deref()),
        fault_policy: arguments.parser_fault,
        engine: arguments.engine.clone(),
        threads: arguments.threads,
        kv_cache_bytes: arguments.kv_cache << 20,
        context: arguments.context,
        chat_template,
        served_names: arguments.served_model_name.clone(),
    })
}

/// Ready at SIGTERM or ctrl-c.
async fn told_to_stop() {
    let mut terminate = signal(SignalKind::terminate()).expect("SIGTERM can be waited for");
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}

/// Logs go to stderr; `RUST_LOG` chooses what. Prompt text is at no level.
fn log_to_stderr(json: bool) {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into());
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    if json {
        subscriber.json().init();
    } else {
        subscriber.init();
    }
}

/// One line that is written over while weights load; nothing where stderr isn't a terminal or loading is instant.
fn show_progress(progress: Progress) {
    let mut error = std::io::stderr();
    let Progress { parts, of, bytes } = progress;
    if !error.is_terminal() {
        return;
    }
    let end = if parts >= of { "\n" } else { "" };
    // Progress is decoration: a closed stderr must not stop the server.
    let _ = write!(error, "\rloading weights: {parts} of {of} parts, {} MiB{end}", bytes >> 20);
    let _ = error.flush();
}

/// What is served, and a line to try.
fn announce(
    summary: &[(&'static str, String)],
    name: &str,
    addresses: &[(&'static str, SocketAddr)],
    keyed: bool,
) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for (what, value) in summary {
        writeln!(out, "{what:8} {value}")?;
    }
    for (what, address) in addresses {
        writeln!(out, "{what:8} http://{address}")?;
    }
    let (_, address) = addresses[0];
    let key = if keyed { " -H 'authorization: Bearer KEY'" } else { "" };
    writeln!(
        out,
        "try      curl -N http://{address}/v1/responses{key} -H 'content-type: application/json' -d \
         '{{\"model\": \"{name}\", \"stream\": true, \"input\": \"Who are you?\"}}'"
    )?;
    out.flush()?;
    Ok(())
}
