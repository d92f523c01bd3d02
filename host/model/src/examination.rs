//! What a model is and needs, found without loading its weights: `host doctor` asks before a start.

use engine::ModelFiles;
use engine::cpu::{CpuOptions, QuantizeTo, whole_context_bytes};
use engine::cuda::{DeviceInfo, Survey, choose_device};
use engine::models::{LoadError, ModelConfig, Weights};

use super::load::source_elsewhere;
use super::load_error::ModelLoadError;
use super::options::{KvCacheBytes, LoadFormat, ModelOptions};
use super::prepared::Prepared;
use super::runner::cpu_only;
use super::shared::{SharedOptions, SharedParts};
use crate::limits::Limits;

/// A model that could be served.
#[derive(Debug, Clone)]
pub struct Examination {
    /// Its label in logs, and its own name if that is another.
    pub name: String,
    /// Where its files are.
    pub files: String,
    /// Name and version of its parser.
    pub parser: String,
    /// The engine that would run it.
    pub engine: String,
    /// Most tokens of prompt and answer together.
    pub context: usize,
    /// What its engine on this machine takes; `None` if it computes nothing here.
    pub memory: Option<MemoryNeed>,
    /// What is worth a warning at the start.
    pub warnings: Vec<String>,
}

/// Memory of an engine, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryNeed {
    /// Of the weights, in the form in which they are used.
    pub weights: u64,
    /// Of the KV cache; 0 on a GPU, where it takes what is left.
    pub kv_cache: u64,
    /// Of a KV cache with room for one answer of the whole context; 0 on a GPU.
    pub whole_context: u64,
    /// Of the GPU as a whole; `None` for the CPU, whose engine takes the machine's memory.
    pub gpu: Option<u64>,
}

impl MemoryNeed {
    /// The warning of a KV cache that has no room for one answer of `context` tokens.
    fn short_of_context(&self, context: usize) -> Option<String> {
        let Self { kv_cache, whole_context, .. } = *self;
        (kv_cache < whole_context).then(|| {
            let tokens = u128::from(kv_cache) * context as u128 / u128::from(whole_context);
            let mib = whole_context.div_ceil(1 << 20);
            format!("the KV cache has room for {tokens} of the {context} tokens of the context; {mib} MiB would do (--kv-cache, --kv-share)")
        })
    }
}

impl Examination {
    /// Examines a model with the options that it would be served with. Remote engines are probed.
    ///
    /// # Errors
    /// The model couldn't be served; the error is the one of its start. What only reading all
    /// weights shows (a tensor's shape, a number that isn't finite) isn't found here.
    pub fn of(
        options: &ModelOptions,
        shared: &SharedOptions,
        limits: &Limits,
    ) -> Result<Self, ModelLoadError> {
        let prepared = Prepared::read(options, &SharedParts::new(shared, &limits.parser)?, limits)?;
        let mut warnings: Vec<String> = prepared.unshown().map(str::to_owned).into_iter().collect();
        let elsewhere = source_elsewhere(options, &prepared, limits)?;
        let (engine, context, memory) = if let Some((source, cut)) = elsewhere {
            warnings.extend(cut.map(|cut| cut.to_string()));
            (source.info().name.clone(), source.info().context, None)
        } else {
            let (device, memory) = on_this_machine(options, &prepared)?;
            warnings.extend(memory.short_of_context(prepared.context));
            (device, prepared.context, Some(memory))
        };
        let Prepared { label, name, files, parsers, .. } = &prepared;
        let parser = parsers.current();
        let parser = parser.descriptor();
        Ok(Self {
            name: if **label == **name { name.clone() } else { format!("{label}: {name}") },
            files: match files {
                ModelFiles::Directory(folder) => folder.display().to_string(),
                ModelFiles::Embedded(_) => "the binary".to_owned(),
            },
            parser: format!("{} {}", parser.name, parser.version),
            engine,
            context,
            memory,
            warnings,
        })
    }
}

/// The device that would run the model, and the memory that it takes.
fn on_this_machine(options: &ModelOptions, prepared: &Prepared) -> Result<(String, MemoryNeed), LoadError> {
    let config = ModelConfig::read(&prepared.files)?;
    let stored = match options.load_format {
        LoadFormat::Auto => Weights::open(&prepared.files)?.file_bytes(),
        LoadFormat::Dummy => 0,
    };
    let numerics = options.numerics;
    let gpu = choose_device(options.device, Survey::of_this_machine, cpu_only(numerics))?;
    if let Some(DeviceInfo { index, name, memory_bytes, .. }) = gpu {
        let need = MemoryNeed { weights: stored, kv_cache: 0, whole_context: 0, gpu: Some(memory_bytes) };
        return Ok((format!("cuda:{index}, {name}"), need));
    }
    let weights = match numerics.quantize {
        None => stored,
        // 8.5 or 5 bits a weight with its group's scales (docs/quantization.md), in place of 16.
        Some(QuantizeTo::Q8) => stored / 32 * 17,
        Some(QuantizeTo::Q4) => stored / 32 * 10,
    };
    let cpu = CpuOptions { context: options.context, numerics, ..CpuOptions::default() };
    let KvCacheBytes { cpu: least, cpu_most: most, .. } = options.kv_cache_bytes;
    let whole_context = whole_context_bytes(&config, &cpu)?;
    let kv_cache = whole_context.min(most).max(least) as u64;
    let need = MemoryNeed { weights, kv_cache, whole_context: whole_context as u64, gpu: None };
    Ok(("cpu".to_owned(), need))
}
