//! What a model is to be served with.

use std::path::PathBuf;
use std::time::Duration;

use engine::cpu::Numerics;
use engine::{DeviceChoice, SpeculationOptions};

use super::parsers::Pin;
use super::source::EngineChoice;
use crate::remote::{EngineKey, EngineKind};
use crate::turn::FaultPolicy;

/// Where weights come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoadFormat {
    /// The model's files.
    #[default]
    Auto,
    /// Nowhere: they are random, of the types that the configuration says.
    Dummy,
}

/// Memory for keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KvCacheBytes {
    /// In the memory of the CPU.
    pub cpu: usize,
    /// In that of a GPU; none: what it has left.
    pub gpu: Option<u64>,
}

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
    /// What engines elsewhere are; none: found out of each.
    pub engine_kind: Option<EngineKind>,
    /// The key that they ask for.
    pub engine_key: Option<EngineKey>,
    /// File of the only certificates that they are trusted by.
    pub engine_ca: Option<PathBuf>,
    /// Where weights of an engine that computes here come from.
    pub load_format: LoadFormat,
    /// Which device of this machine computes.
    pub device: DeviceChoice,
    /// Bytes of the KV cache.
    pub kv_cache_bytes: KvCacheBytes,
    /// What an engine computes in that computes here.
    pub numerics: Numerics,
    /// Whether prompts reuse what earlier ones with the same beginning computed, in an engine that computes here.
    pub prefix_cache: bool,
    /// Drafts of an engine that computes here.
    pub speculation: SpeculationOptions,
    /// How long a request may wait for an engine that computes here; none: for ever.
    pub queue_timeout: Option<Duration>,
    /// Bound on prompt and answer together; none: the model's.
    pub context: Option<usize>,
    /// Chat template instead of the model's.
    pub chat_template: Option<String>,
    /// Names that clients ask for; empty: the model's own.
    pub served_names: Vec<String>,
}
