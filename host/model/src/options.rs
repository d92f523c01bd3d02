//! Options of a served model.

use std::path::PathBuf;
use std::time::Duration;

use engine::cpu::Numerics;
use engine::{DeviceChoice, SpeculationOptions};

use super::parsers::pins::Pin;
use super::source::EngineChoice;
use grammar::CallForm;
use hub::NeededFiles;
use net::ServerKey;
use remote::EngineKind;
use turn::FaultPolicy;

/// Source of the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoadFormat {
    /// Weights from the model's files.
    #[default]
    Auto,
    /// Random weights, of the types in the configuration.
    Dummy,
}

/// Memory for the KV cache, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KvCacheBytes {
    /// Bytes in the CPU's memory.
    pub cpu: usize,
    /// Most bytes that it gets instead if `cpu` doesn't hold one whole context.
    pub cpu_most: usize,
    /// Bytes in a GPU's memory; `None`: all that is left.
    pub gpu: Option<u64>,
}

/// Options of one model to serve.
#[derive(Debug, Clone)]
pub struct ModelOptions {
    /// Directory or `ORG/NAME` of the model; `None`: the embedded model.
    pub model: Option<String>,
    /// `none`, a parser's file or name, or `auto` for the parser that claims the model. `None` is
    /// `auto`.
    pub parser: Option<String>,
    /// Folder of plugins (parsers).
    pub plugins: PathBuf,
    /// Options for the parser, by name.
    pub parser_options: Vec<(String, String)>,
    /// SHA-256 digests that parsers must have.
    pub parser_pins: Vec<Pin>,
    /// Treatment of a stream whose parser fails.
    pub fault_policy: FaultPolicy,
    /// How far calls are held of which a request demands nothing, of a local engine.
    pub call_form: CallForm,
    /// Most tokens of reasoning by effort (`default` for all that aren't listed), where a request sets
    /// no bound, of a local engine.
    pub reasoning_budgets: Vec<(String, u32)>,
    /// Source of tokens.
    pub engine: EngineChoice,
    /// Kind of the remote engines; `None`: each is probed.
    pub engine_kind: Option<EngineKind>,
    /// Whether the remote engines keep budgets of reasoning, in vLLM's field.
    pub engine_keeps_budgets: bool,
    /// API key for the remote engines.
    pub engine_key: Option<ServerKey>,
    /// File with the CA certificates to trust for remote engines instead of the system's.
    pub engine_ca: Option<PathBuf>,
    /// Source of the weights, for a local engine.
    pub load_format: LoadFormat,
    /// Device of a local engine.
    pub device: DeviceChoice,
    /// Size of the KV cache of a local engine.
    pub kv_cache_bytes: KvCacheBytes,
    /// Number types of a local engine.
    pub numerics: Numerics,
    /// Whether a local engine reuses KV blocks of earlier prompts with the same beginning.
    pub prefix_cache: bool,
    /// Options for drafts, of a local engine.
    pub speculation: SpeculationOptions,
    /// Longest time that a request may wait for a local engine; `None`: no limit.
    pub queue_timeout: Option<Duration>,
    /// Most answers that the local engine generates at a time; `None`: as many as suit the device.
    pub sequences: Option<usize>,
    /// Most tokens of prompt and answer together; `None`: the model's own limit.
    pub context: Option<usize>,
    /// Chat template that replaces the model's own.
    pub chat_template: Option<String>,
    /// Names that clients ask for; empty: the model's own name.
    pub served_names: Vec<String>,
}

impl ModelOptions {
    /// Options of the embedded model, with nothing else chosen and no memory for a KV cache.
    ///
    /// ```
    /// let options = model::ModelOptions::new("plugins", model::EngineChoice::Local);
    /// assert!(options.model.is_none() && options.prefix_cache);
    /// ```
    pub fn new(plugins: impl Into<PathBuf>, engine: EngineChoice) -> Self {
        Self {
            model: None,
            parser: None,
            plugins: plugins.into(),
            parser_options: Vec::new(),
            parser_pins: Vec::new(),
            fault_policy: FaultPolicy::Continue,
            call_form: CallForm::Envelope,
            reasoning_budgets: Vec::new(),
            engine,
            engine_kind: None,
            engine_keeps_budgets: false,
            engine_key: None,
            engine_ca: None,
            load_format: LoadFormat::Auto,
            device: DeviceChoice::Cpu,
            kv_cache_bytes: KvCacheBytes { cpu: 0, cpu_most: 0, gpu: None },
            numerics: Numerics::default(),
            prefix_cache: true,
            speculation: SpeculationOptions::default(),
            queue_timeout: None,
            sequences: None,
            context: None,
            chat_template: None,
            served_names: Vec::new(),
        }
    }
    /// What of the model must be on this machine.
    pub(super) fn need(&self) -> NeededFiles {
        match (&self.engine, self.load_format) {
            (EngineChoice::Local, LoadFormat::Auto) => NeededFiles::Weights,
            _ => NeededFiles::Prompt,
        }
    }
}
