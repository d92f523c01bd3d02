//! Loading a served model: files → tokenizer, template, parser and engine, checked against each other.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use engine::cpu::{self, CpuOptions};
use engine::models::Progress;
use engine::{EngineInfo, LocalEngine, LocalOptions, ModelFiles};

use tokio::sync::Semaphore;

use super::config::Config;
use super::locate::{EMBEDDED_NAME, Located, locate};
use super::parsers::{ModelFacts, ModelTokens, Parsers, Pin, PinError, SelectError};
use super::served::{Model, Served};
use super::shared::Shared;
use super::source::{EngineChoice, Source};
use crate::limits::Limits;
use crate::parser;
use crate::prompt::{ChatFiles, ChatFormat, GenerationDefaults, Tokenizer};
use crate::replay::{Script, Vocabulary};
use crate::turn::FaultPolicy;

/// One model to serve.
#[derive(Debug, Clone)]
pub struct ModelOptions {
    /// A directory or `ORG/NAME`; none: the embedded model.
    pub model: Option<String>,
    /// `auto`, a parser's file or name, or `none`. Nothing is `auto`: the one that claims the model.
    pub parser: Option<String>,
    /// Folder of parsers.
    pub plugins: PathBuf,
    /// Settings for the parser.
    pub parser_options: Vec<(String, String)>,
    /// Digests that parsers must have.
    pub parser_pins: Vec<Pin>,
    /// What happens to a stream whose parser fails.
    pub fault_policy: FaultPolicy,
    /// Where tokens come from.
    pub engine: EngineChoice,
    /// Bytes of the KV cache.
    pub kv_cache_bytes: usize,
    /// Bound on prompt and answer together; none: the model's.
    pub context: Option<usize>,
    /// Chat template instead of the model's.
    pub chat_template: Option<String>,
    /// Names that clients ask for; empty: the model's own.
    pub served_names: Vec<String>,
}

/// A model that can't be served: what is wrong, where, what to do, in one line.
#[derive(Debug, thiserror::Error)]
pub enum ModelLoadError {
    /// There is no such model.
    #[error(transparent)]
    Locate(#[from] super::locate::NotFound),
    /// `config.json` can't be read.
    #[error("{file}: {reason}")]
    Config {
        /// The file.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A file can't be read.
    #[error(transparent)]
    File(#[from] engine::FileError),
    /// Tokenizer, template or generation defaults are missing or broken.
    #[error(transparent)]
    Prompt(#[from] crate::prompt::ChatFilesError),
    /// The engine can't run the model.
    #[error(transparent)]
    Engine(#[from] engine::models::LoadError),
    /// The replay file is broken.
    #[error(transparent)]
    Replay(#[from] crate::replay::ScriptError),
    /// There is no such parser.
    #[error(transparent)]
    FindParser(#[from] parser::ResolveError),
    /// The parser is broken.
    #[error(transparent)]
    Parser(#[from] parser::PluginLoadError),
    /// The sandbox can't be set up on this machine.
    #[error(transparent)]
    Sandbox(#[from] parser::RuntimeError),
    /// The parser's markers can't be looked for.
    #[error(transparent)]
    Markers(#[from] crate::turn::MarkerError),
    /// No parser can be chosen for the model.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// A parser isn't what it is pinned to be.
    #[error(transparent)]
    Pin(#[from] PinError),
    /// Clients couldn't say which of two models they mean.
    #[error("two models are called {0}: give each a name of its own, --model NAME=DIR")]
    SameName(String),
    /// One of several models can't be served.
    #[error("model {model}: {error}")]
    OneOf {
        /// Which.
        model: String,
        /// Why.
        error: Box<Self>,
    },
}

impl ModelLoadError {
    /// The same of one of several models.
    pub(super) fn of(self, options: &ModelOptions) -> Self {
        let model = options.served_names.first().or(options.model.as_ref());
        Self::OneOf {
            model: model.cloned().unwrap_or_else(|| EMBEDDED_NAME.to_owned()),
            error: Box::new(self),
        }
    }

    /// The error, whichever model's it is.
    pub fn cause(&self) -> &Self {
        if let Self::OneOf { error, .. } = self { error.cause() } else { self }
    }
}

impl Model {
    /// Loads everything that `options` name. `progress` hears of the model's weights.
    pub(super) fn load(
        options: &ModelOptions,
        shared: &Shared,
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
        let facts = ModelFacts::read(&files, &config, &chat, &tokenizer)?;
        let model_tokens =
            ModelTokens { tokenizer: Arc::clone(&tokenizer), eos: defaults.eos_token_ids.clone() };
        let parsers =
            Parsers::load(options, Arc::clone(&shared.runtime), Arc::clone(&label), facts, model_tokens)?;
        let source = match &options.engine {
            EngineChoice::Cpu => {
                load_engine(options, shared, limits, &files, &mut |parts| progress(&label, parts))?
            }
            EngineChoice::Replay(file) => {
                let context = options.context.or(config.max_position_embeddings).unwrap_or(32_768);
                load_script(file, &name, context, &tokenizer)?
            }
        };
        let context = source.info().context;
        let format = ChatFormat::load(&files, &chat, Arc::clone(&tokenizer), limits, context)?;
        let created = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Ok(Self::new(Served {
            name,
            label,
            names,
            created,
            format,
            tokenizer,
            parsers,
            fault_policy: options.fault_policy,
            source,
            defaults,
            limits: limits.clone(),
            preparing: Arc::new(Semaphore::new(limits.waiting_requests)),
        }))
    }
}

fn load_engine(
    options: &ModelOptions,
    shared: &Shared,
    limits: &Limits,
    files: &ModelFiles,
    progress: &mut dyn FnMut(Progress),
) -> Result<Source, ModelLoadError> {
    let local = LocalOptions { waiting: limits.waiting_requests, ..LocalOptions::default() };
    let cpu = CpuOptions {
        kv_cache_bytes: options.kv_cache_bytes,
        context: options.context,
        batch_tokens: local.batch_tokens,
    };
    let runner = cpu::load(files, shared.threads()?, &cpu, progress)?;
    Ok(Source::Engine(Box::new(LocalEngine::start(Box::new(runner), local))))
}

/// A script in the tokens of the model called `name`.
fn load_script(
    file: &Path,
    name: &str,
    context: usize,
    tokenizer: &Tokenizer,
) -> Result<Source, ModelLoadError> {
    let engine = format!("replay of {}, in the words of {name}", file.display());
    let info = EngineInfo { name: engine, context, vocab: tokenizer.vocab_size() };
    let encode = |text: &str| tokenizer.encode_with_added(text).map_err(|error| error.to_string());
    let script = Script::load(file, &Vocabulary { encode: &encode, size: info.vocab })?;
    Ok(Source::Replay { script, info })
}
