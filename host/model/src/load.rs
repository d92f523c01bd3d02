//! Loads a served model from its files: tokenizer, template, parser and engine, checked against
//! each other.

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use engine::models::Progress;
use engine::runner::Runner as _;
use engine::{
    ConstraintSupport, EngineInfo, LocalEngine, LocalOptions, LocalRunner, ModelFiles, WaitingRoom,
};

use super::config::Config;
use super::context_cut::ContextCut;
use super::load_error::ModelLoadError;
use super::locate::{Located, locate};
use super::options::{KvCacheBytes, LoadFormat, ModelOptions};
use super::parsers::{ModelFacts, ModelTokens, Parsers};
use super::runner::RunnerOptions;
use super::served::{Model, Served};
use super::shared::SharedParts;
use super::source::{EngineChoice, TokenSource};
use crate::limits::Limits;
use crate::mask::Grammars;
use crate::prompt::{ChatFiles, ChatFormat, GenerationDefaults, Tokenizer};
use crate::remote::{EngineList, RemoteEngine, RemoteModel, RemoteOptions};
use crate::replay::{Script, Vocabulary};

impl Model {
    /// Loads the model that `options` describe. `progress` is called with the model's label and the
    /// progress of its weights.
    pub(super) fn load(
        options: &ModelOptions,
        shared: &SharedParts,
        limits: &Limits,
        progress: &mut dyn FnMut(&str, Progress),
    ) -> Result<Self, ModelLoadError> {
        let Located { files, name } = locate(options.model.as_deref())?;
        let config = Config::load(&files)?;
        let names =
            if options.served_names.is_empty() { vec![name.clone()] } else { options.served_names.clone() };
        let label: Arc<str> = names[0].as_str().into();
        let tokenizer = Arc::new(Tokenizer::load(&files)?);
        let chat = ChatFiles::load(&files, options.chat_template.clone())?;
        let eos_token = chat.special_tokens.iter().find(|(name, _)| name == "eos_token");
        let defaults =
            GenerationDefaults::load(&files, &tokenizer, eos_token.map(|(_, literal)| literal.as_str()))?;
        let context = options.context.or(config.max_position_embeddings).unwrap_or(32_768);
        let format = ChatFormat::load(&files, &chat, Arc::clone(&tokenizer), limits, context)?;
        let facts = ModelFacts::read(&files, &config, &chat, &tokenizer, &format, &defaults.eos_token_ids)?;
        let shows_calls = !facts.turns.is_empty();
        let model_tokens =
            ModelTokens { tokenizer: Arc::clone(&tokenizer), eos: defaults.eos_token_ids.clone() };
        let parsers = Parsers::load(options, shared, Arc::clone(&label), facts, model_tokens)?;
        let mut context_cut = None;
        let source = match &options.engine {
            EngineChoice::Local => {
                if options.load_format == LoadFormat::Dummy {
                    tracing::warn!(model = %label, "weights are random: what the model says means nothing");
                }
                let progress = &mut |parts| progress(&label, parts);
                let runner = load_runner(options, shared, &files, progress)?;
                let KvCacheBytes { cpu, cpu_most, .. } = options.kv_cache_bytes;
                let kv_cache_bytes = matches!(runner, LocalRunner::Cpu(_)).then_some(cpu.max(cpu_most));
                context_cut = ContextCut::local(runner.shape(), kv_cache_bytes);
                start_engine(runner, options, shared, limits)
            }
            EngineChoice::Replay(file) => load_script(file, &name, context, &tokenizer)?,
            EngineChoice::Remote(engines) => {
                let mut known: Vec<String> = names.clone();
                known.push(name.clone());
                let model = RemoteModel {
                    label: Arc::clone(&label),
                    names: known,
                    tokenizer: Arc::clone(&tokenizer),
                    context,
                };
                let source = start_remote(engines, options, model, limits)?;
                context_cut = ContextCut::remote(source.info().context, context);
                source
            }
        };
        if let Some(cut) = &context_cut {
            tracing::warn!(model = %label, "{cut}");
        }
        let format = format.with_context(limits, source.info().context);
        if !format.shows_tools() {
            tracing::warn!(model = %label, "the chat template doesn't show tools: those of requests have no effect; --chat-template gives another");
        } else if !shows_calls {
            tracing::warn!(model = %label, "the chat template shows tools, but not the calls of earlier turns: the model doesn't see what it called; --chat-template gives another");
        }
        let created = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Ok(Self::new(Served {
            name,
            label,
            names,
            created,
            context_cut,
            chat,
            format,
            grammars: Grammars::new(Arc::clone(&tokenizer), limits.mask_time, Arc::clone(&shared.grammars)),
            tokenizer,
            parsers,
            fault_policy: options.fault_policy,
            source,
            defaults,
            limits: limits.clone(),
            constrained: shared.constrained.clone(),
            waiting_room: WaitingRoom::new(limits.waiting_requests, shared.principals),
            is_shared: shared.principals > 1,
            is_remote: matches!(options.engine, EngineChoice::Remote(_)),
        }))
    }
}

fn load_runner(
    options: &ModelOptions,
    shared: &SharedParts,
    files: &ModelFiles,
    progress: &mut dyn FnMut(Progress),
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
    limits: &Limits,
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
    limits: &Limits,
) -> Result<TokenSource, ModelLoadError> {
    let options = RemoteOptions {
        engines: engines.clone(),
        kind: options.engine_kind,
        key: options.engine_key.clone(),
        ca_file: options.engine_ca.clone(),
    };
    let started = RemoteEngine::start(options, model, limits.remote.clone());
    let engine = tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(started))?;
    Ok(TokenSource::Engine(Box::new(engine)))
}

/// Loads a script, encoded with the tokenizer of the model `name`.
fn load_script(
    file: &Path,
    name: &str,
    context: usize,
    tokenizer: &Tokenizer,
) -> Result<TokenSource, ModelLoadError> {
    let engine = format!("replay of {}, in the words of {name}", file.display());
    let constraints = ConstraintSupport { masks: true, ..ConstraintSupport::default() };
    let info = EngineInfo { name: engine, context, vocab: tokenizer.vocab_size(), constraints };
    let encode = |text: &str| tokenizer.encode_with_added(text).map_err(|error| error.to_string());
    let script = Script::load(file, &Vocabulary { encode: &encode, size: info.vocab })?;
    Ok(TokenSource::Replay { script, info })
}
