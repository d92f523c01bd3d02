//! `host serve`: starts the server from its arguments.

use std::process::ExitCode;

use anyhow::Context as _;
use model::limits::PROMPT_THREADS;
use model::{LoadProgress, Models};
use server::accept::{App, Tls};
use server::http::{Server, install_metrics};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use super::ending::{StopSignals, run_until_stopped};
use super::listen::listen;
use super::load::with_switch;
use super::log::log_to_stderr;
use super::parser::{ParserMaker, derive_missing};
use super::progress::LoadingLine;
use super::reload::{LEAST_LEVEL, Reload, Running};
use super::serve_arguments::ServeArguments;
use super::stderr;
use super::summary::{announce, summary};

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
    let tls = arguments.tls.identity()?.map(Tls::new);
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
    let presence = match &store {
        Some(store) => Some(arguments.store.enter(&**store, &defaults.seal).await?),
        None => None,
    };
    let mut line = LoadingLine::default();
    let show = &mut |model: &str, progress: LoadProgress<'_>| line.show(model, progress);
    let load = || Models::load(&first, &others, &shared, &limits.model, show);
    let models = tokio::task::block_in_place(load).map_err(with_switch)?;
    let maker = ParserMaker {
        cache: arguments.models.parser_cache(),
        plugins: arguments.models.plugins().to_owned(),
        limits: limits.model.parser.clone(),
    };
    derive_missing(&models, maker).await;
    if records.is_some() {
        // The digests of files are made once.
        models.iter().for_each(|model| drop(model.record_line()));
    }
    let running = Running {
        models: models.clone(),
        keys: access.keys.clone(),
        named: access.named.clone(),
        tls: tls.clone(),
    };
    let app = App::new(models.clone(), limits, access, &defaults, arguments.check_streams, store)
        .present(presence)
        .observed(records, arguments.record.inspect);
    let app = match exporter {
        Some(exporter) => app.traced(exporter),
        None => app,
    };
    let server =
        Server::on(listen(socket)?, admin_socket.map(listen).transpose()?, app.clone()).with_tls(tls);
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
    let scheme = if running.tls.is_some() { "https" } else { "http" };
    announce(summary(&models, &stored, scheme, &addresses, app.inspects(), keyed, &warnings));
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
