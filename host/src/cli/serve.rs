//! `host serve`: from arguments to a running server.

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use engine::models::Progress;
use host::api::{Defaults, ReasoningEvents};
use host::http::{App, Keys, Server};
use host::limits::{Limits, ParserLimits};
use host::model::{EngineChoice, Model, ModelOptions, Pin};
use host::turn::FaultPolicy;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::limits::Switches;
use super::mcp::McpArguments;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Model: a directory in Hugging Face's layout, or ORG/NAME from the local Hugging Face cache
    /// [default: the tiny test model inside the binary].
    #[arg(long, value_name = "DIR|ORG/NAME")]
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
    /// Threads of the CPU engine [default: all cores].
    #[arg(long)]
    threads: Option<usize>,
    /// Memory of the KV cache in MiB.
    #[arg(long, default_value_t = 1024, value_name = "MIB")]
    kv_cache: usize,
    /// Tokens of prompt and answer together [default: what the model has].
    #[arg(long, value_name = "TOKENS")]
    context: Option<usize>,
    /// Chat template to use instead of the model's.
    #[arg(long, value_name = "FILE")]
    chat_template: Option<PathBuf>,
    /// Template argument that requests may set in `chat_template_kwargs` (repeatable).
    #[arg(long, value_name = "NAME", default_values_t = ["enable_thinking".to_owned(), "reasoning_effort".to_owned()])]
    template_argument: Vec<String>,
    /// Name that clients ask for (repeatable) [default: the model's].
    #[arg(long, value_name = "NAME")]
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
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1:8000")]
    listen: SocketAddr,
    /// Address for operators: parsers and their reload, metrics [default: none]. It asks for the same keys; keep it local.
    #[arg(long, value_name = "ADDRESS")]
    admin_listen: Option<SocketAddr>,
    /// Key that clients must send as `Authorization: Bearer KEY` (repeatable).
    #[arg(long, env = "SLUICE_API_KEY", hide_env_values = true, value_delimiter = ',')]
    api_key: Vec<String>,
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
        let Limits { sequences, waiting_requests: waiting, .. } = limits;
        anyhow::ensure!(
            sequences <= waiting,
            "--max-sequences {sequences} is more than --max-waiting {waiting}: no such request could be sure of its place"
        );
        Ok(Limits { parser: self.parser_limits.0.clone(), mcp: self.mcp.limits(), ..limits })
    }
}

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
    let model = tokio::task::block_in_place(|| Model::load(&options, &limits, &mut show_progress))?;
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
    let keyed = !arguments.api_key.is_empty();
    let app =
        App::new(model.clone(), limits, Keys::new(&arguments.api_key), defaults, arguments.check_streams);
    let cannot_listen = |address| format!("can't listen on {address}");
    let listen = arguments.listen;
    let mut server = Server::bind(listen, app).await.with_context(|| cannot_listen(listen))?;
    let mut addresses = vec![("address", server.address()?)];
    if let Some(listen) = arguments.admin_listen {
        addresses.push(("admin", server.bind_admin(listen).await.with_context(|| cannot_listen(listen))?));
    }
    announce(&summary, &name, &addresses, keyed)?;
    tokio::select! {
        () = run_until_told(server) => {}
        () = model.follow_plugin_files() => {}
        () = reload_on_hangup(&model, hangup) => {}
    }
    Ok(())
}

/// SIGHUP loads the parser again; never ready.
async fn reload_on_hangup(model: &Model, mut hangup: Signal) {
    while hangup.recv().await.is_some() {
        model.reload_parsers("signal").await;
    }
}

/// Where compiled parsers are kept: where the operator says, else in the user's cache folder if there is one.
fn parser_cache(given: Option<&Path>) -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    match given {
        Some(folder) if folder.as_os_str() == "none" => None,
        Some(folder) => Some(folder.to_owned()),
        None => variable("XDG_CACHE_HOME")
            .or_else(|| variable("HOME").map(|home| home.join(".cache")))
            .map(|cache| cache.join("sluice/parsers")),
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
        parser_cache: parser_cache(arguments.parser_cache.as_deref()),
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
