//! Loads a served model: what is `prepared` of its files, and its engine.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use engine::runner::Runner as _;
use engine::{
    ConstraintSupport, EngineInfo, LocalEngine, LocalOptions, LocalRunner, ModelFiles, WaitingRoom,
};

use super::context_cut::ContextCut;
use super::load_error::ModelLoadError;
use super::load_progress::LoadProgress;
use super::options::{KvCacheBytes, LoadFormat, ModelOptions};
use super::prepared::Prepared;
use super::runner::RunnerOptions;
use super::served::{Model, Served};
use super::shared::SharedParts;
use super::source::{EngineChoice, TokenSource};
use crate::limits::ModelLimits;
use crate::observe::ModelMetrics;
use crate::replay::{ReplayScript, Vocabulary};
use grammar::CallForm;
use mask::Grammars;
use prompt::Tokenizer;
use remote::{EngineList, RemoteEngine, RemoteModel, RemoteOptions};

/// Line on a model whose calls have no form.
const UNHELD: &str = "calls of tools that aren't strict may come malformed";

impl Model {
    /// Loads the model that `options` describe; what the cache lacks of a model of the hub is
    /// downloaded first. `progress` is called with the model's label.
    pub(super) fn load(
        options: &ModelOptions,
        shared: &SharedParts,
        limits: &ModelLimits,
        progress: &mut dyn FnMut(&str, LoadProgress<'_>),
    ) -> Result<Self, ModelLoadError> {
        hub::fetch_missing(options.model.as_deref(), options.need(), &mut |download| {
            progress(&download.model.to_string(), LoadProgress::Download(download));
        })?;
        let prepared = Prepared::read(options, shared, limits)?;
        let label = Arc::clone(&prepared.label);
        let elsewhere = source_elsewhere(options, &prepared, limits)?;
        let (source, context_cut) = if let Some(elsewhere) = elsewhere {
            elsewhere
        } else {
            if options.load_format == LoadFormat::Dummy {
                tracing::warn!(model = %label, "weights are random: what the model says means nothing");
            }
            let progress = &mut |parts| progress(&label, LoadProgress::Engine(parts));
            let runner = load_runner(options, shared, &prepared.files, progress)?;
            let KvCacheBytes { cpu, cpu_most, .. } = options.kv_cache_bytes;
            let kv_cache_bytes = matches!(runner, LocalRunner::Cpu(_)).then_some(cpu.max(cpu_most));
            let cut = ContextCut::local(runner.shape(), kv_cache_bytes);
            (start_engine(runner, options, shared, limits), cut)
        };
        if let Some(cut) = &context_cut {
            tracing::warn!(model = %label, "{cut}");
        }
        if let Some(unshown) = prepared.unshown() {
            tracing::warn!(model = %label, "{unshown}");
        }
        let Prepared { files, name, names, tokenizer, chat, format, defaults, parsers, .. } = prepared;
        let grammars = Grammars::new(Arc::clone(&tokenizer), limits.mask_time, Arc::clone(&shared.grammars));
        let grammars = Arc::new(grammars);
        if options.call_form != CallForm::Free && source.info().constraints.masks && source.generates() {
            let parser = parsers.current();
            match parser.call_form(options.call_form) {
                Ok(()) => {
                    let model = Arc::clone(&label);
                    grammars.prepare(move |error| tracing::info!(%model, %error, "{UNHELD}"));
                }
                Err(_) if parser.is_none() => {}
                Err(error) => tracing::info!(model = %label, error, "{UNHELD}"),
            }
        }
        let created = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Ok(Self::new(Served {
            name,
            metrics: Arc::new(ModelMetrics::new(Arc::clone(&label))),
            label,
            names,
            created,
            context_cut,
            chat,
            format: format.with_context(&limits.prompt, source.info().context),
            grammars,
            tokenizer,
            parsers,
            fault_policy: options.fault_policy,
            call_form: options.call_form,
            reasoning_budgets: options.reasoning_budgets.clone(),
            engine_keeps_budgets: options.engine_keeps_budgets
                && matches!(options.engine, EngineChoice::Remote(_)),
            source,
            defaults,
            limits: limits.clone(),
            constrained: shared.constrained.clone(),
            files,
            digests: OnceLock::new(),
            waiting_room: WaitingRoom::new(limits.waiting_requests, shared.principals),
            is_slow: AtomicBool::new(false),
            is_shared: shared.principals > 1,
            is_remote: matches!(options.engine, EngineChoice::Remote(_)),
        }))
    }
}

/// The source of tokens of an engine that computes none on this machine, and how much shorter its
/// context is; `None` if the engine is local. Remote engines are probed.
pub(super) fn source_elsewhere(
    options: &ModelOptions,
    prepared: &Prepared,
    limits: &ModelLimits,
) -> Result<Option<(TokenSource, Option<ContextCut>)>, ModelLoadError> {
    let Prepared { name, names, label, tokenizer, context, .. } = prepared;
    match &options.engine {
        EngineChoice::Local => Ok(None),
        EngineChoice::None => {
            let info = script_info("none".to_owned(), *context, tokenizer);
            Ok(Some((TokenSource::Replay { script: ReplayScript::default(), info }, None)))
        }
        EngineChoice::Replay(file) => Ok(Some((load_script(file, name, *context, tokenizer)?, None))),
        EngineChoice::Remote(engines) => {
            let model = RemoteModel {
                label: Arc::clone(label),
                names: names.iter().chain([name]).cloned().collect(),
                tokenizer: Arc::clone(tokenizer),
                context: *context,
            };
            let source = start_remote(engines, options, model, limits)?;
            let cut = ContextCut::remote(source.info().context, *context);
            Ok(Some((source, cut)))
        }
    }
}

fn load_runner(
    options: &ModelOptions,
    shared: &SharedParts,
    files: &ModelFiles,
    progress: &mut dyn FnMut(engine::models::EngineProgress),
) -> Result<LocalRunner, ModelLoadError> {
    let runner = RunnerOptions {
        load_format: options.load_format,
        device: options.device,
        kv_cache_bytes: options.kv_cache_bytes,
        context: options.context,
        numerics: options.numerics,
    };
    Ok(runner.load(files, &shared.devices, progress)?)
}

fn start_engine(
    runner: LocalRunner,
    options: &ModelOptions,
    shared: &SharedParts,
    limits: &ModelLimits,
) -> TokenSource {
    let local = LocalOptions {
        batch_tokens: runner.shape().batch_tokens,
        sequences: options.sequences.unwrap_or_else(|| runner.sequences()),
        waiting: limits.waiting_requests,
        principals: shared.principals,
        queue_timeout: options.queue_timeout,
        speculation: options.speculation,
        prefix_cache: options.prefix_cache,
    };
    TokenSource::Engine(Box::new(LocalEngine::start(Box::new(runner), local)))
}

/// Starts the remote engine, which probes all engines first. Blocks, which is allowed on the
/// threads that load models.
fn start_remote(
    engines: &EngineList,
    options: &ModelOptions,
    model: RemoteModel,
    limits: &ModelLimits,
) -> Result<TokenSource, ModelLoadError> {
    let options = RemoteOptions {
        engines: engines.clone(),
        kind: options.engine_kind,
        key: options.engine_key.clone(),
        ca_file: options.engine_ca.clone(),
    };
    let started = RemoteEngine::start(options, model, limits.remote.clone());
    let engine = tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(started))?;
    Ok(TokenSource::Remote(Box::new(engine)))
}

/// Facts about a source of scripted tokens.
fn script_info(name: String, context: usize, tokenizer: &Tokenizer) -> EngineInfo {
    let constraints = ConstraintSupport { masks: true, ..ConstraintSupport::default() };
    EngineInfo { name, context, vocab: tokenizer.vocab_size(), constraints }
}

/// Loads a script, encoded with the tokenizer of the model `name`.
fn load_script(
    file: &Path,
    name: &str,
    context: usize,
    tokenizer: &Tokenizer,
) -> Result<TokenSource, ModelLoadError> {
    let engine = format!("replay of {}, in the words of {name}", file.display());
    let info = script_info(engine, context, tokenizer);
    let encode = |text: &str| tokenizer.encode_with_added(text).map_err(|error| error.to_string());
    let script = ReplayScript::load(file, &Vocabulary { encode: &encode, size: info.vocab })?;
    Ok(TokenSource::Replay { script, info })
}
