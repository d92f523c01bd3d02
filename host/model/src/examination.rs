//! What a model is and needs, found without loading its weights: `host doctor` asks before a start.

use engine::ModelFiles;
use engine::cpu::{QuantizeTo, whole_context_bytes};
use engine::cuda::{DeviceInfo, Survey, choose_device};
use engine::models::{LoadError, ModelConfig, Weights};

use super::context_cut::ContextCut;
use super::load::source_elsewhere;
use super::load_error::ModelLoadError;
use super::locate::NotFound;
use super::options::{LoadFormat, ModelOptions};
use super::prepared::Prepared;
use super::runner::{cpu_only, cpu_options};
use super::shared::{SharedOptions, SharedParts};
use super::template_files::TemplateFiles;
use crate::limits::ModelLimits;
use crate::parsers::Serving;

/// Examines models. They share a runtime of parsers, so that a parser is compiled once.
pub struct Examiner {
    shared: SharedParts,
    limits: ModelLimits,
}

/// A model that could be served.
#[derive(Debug, Clone)]
pub struct Examination {
    /// Its label in logs, and its own name if that is another.
    pub name: String,
    /// Where its files are.
    pub files: String,
    /// Its parser.
    pub parser: ExaminedParser,
    /// From what a start derives another one, where none reads the model's calls.
    pub lacks_parser: Option<TemplateFiles>,
    /// The engine that would run it.
    pub engine: String,
    /// Most tokens of prompt and answer together.
    pub context: usize,
    /// What its engine on this machine takes; `None` if it computes nothing here.
    pub memory: Option<MemoryNeed>,
    /// What is worth a warning at the start.
    pub warnings: Vec<String>,
}

/// The parser of a model that could be served.
#[derive(Debug, Clone)]
pub struct ExaminedParser {
    /// Its name; `none` if all that the model writes would be text.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Reason why it was chosen.
    pub why: String,
    /// Whether the model's files have no sign of its format, or a sign against it.
    pub is_doubtful: bool,
}

/// Memory of an engine, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryNeed {
    /// Of the weights, in the form in which they are used.
    pub weights: u64,
    /// Of the KV cache; 0 on a GPU, where it takes what is left.
    pub kv_cache: u64,
    /// Of the GPU as a whole; `None` for the CPU, whose engine takes the machine's memory.
    pub gpu: Option<u64>,
}

impl Examiner {
    /// # Errors
    /// Parsers can't run on this machine.
    pub fn new(shared: &SharedOptions, limits: &ModelLimits) -> Result<Self, ModelLoadError> {
        Ok(Self { shared: SharedParts::new(shared, &limits.parser)?, limits: limits.clone() })
    }

    /// The parser that a model would get; no weights are read and no engine is needed.
    ///
    /// # Errors
    /// The model couldn't be served, whatever its engine; or no parser can be chosen.
    pub fn parser(&self, options: &ModelOptions) -> Result<ExaminedParser, ModelLoadError> {
        Ok(ExaminedParser::of(&Prepared::read(options, &self.shared, &self.limits)?))
    }

    /// Examines a model with the options that it would be served with. Remote engines are probed.
    ///
    /// # Errors
    /// The model couldn't be served; the error is the one of its start. What only reading all
    /// weights shows (a tensor's shape, a number that isn't finite) isn't found here.
    pub fn examine(&self, options: &ModelOptions) -> Result<Examination, ModelLoadError> {
        if let Some(name) = hub::lacking(options.model.as_deref(), options.need()) {
            return Err(NotFound::in_cache(&name).into());
        }
        let prepared = Prepared::read(options, &self.shared, &self.limits)?;
        let mut warnings: Vec<String> = prepared.unshown().map(str::to_owned).into_iter().collect();
        let parser = ExaminedParser::of(&prepared);
        let elsewhere = source_elsewhere(options, &prepared, &self.limits)?;
        let (engine, context, memory) = if let Some((source, cut)) = elsewhere {
            warnings.extend(cut.map(|cut| cut.to_string()));
            if !source.is_alive() {
                warnings.push("no engine answers: requests get 503 until one does".to_owned());
            }
            (source.info().name.clone(), source.info().context, None)
        } else {
            let (device, memory, cut) = on_this_machine(options, &prepared)?;
            warnings.extend(cut.map(|cut| cut.to_string()));
            (device, prepared.context, Some(memory))
        };
        let Prepared { label, name, files, chat, tokenizer, defaults, .. } = &prepared;
        let lacks_parser = (prepared.parsers.are_lacking())
            .then(|| TemplateFiles::new(name.clone(), chat.clone(), tokenizer, defaults));
        Ok(Examination {
            name: if **label == **name { name.clone() } else { format!("{label}: {name}") },
            files: match files {
                ModelFiles::Directory(folder) => folder.display().to_string(),
                ModelFiles::Gguf(files) => format!("{} ({})", files.path().display(), files.summary()?),
                ModelFiles::Embedded(_) => "the binary".to_owned(),
            },
            parser,
            lacks_parser,
            engine,
            context,
            memory,
            warnings,
        })
    }
}

impl ExaminedParser {
    fn of(prepared: &Prepared) -> Self {
        let Serving { name, version, why, is_doubtful, .. } = prepared.parsers.report().serving;
        Self { name, version, why, is_doubtful }
    }
}

/// What this many bytes of plain numbers take.
fn quantised(plain: u64, to: Option<QuantizeTo>) -> u64 {
    match to {
        None => plain,
        // 8.5 or 5 bits a weight with its group's scales (docs/quantization.md), in place of 16.
        Some(QuantizeTo::Q8) => plain / 32 * 17,
        Some(QuantizeTo::Q4) => plain / 32 * 10,
    }
}

/// The device that would run the model, the memory that it takes, and how much shorter its context
/// is on the CPU.
fn on_this_machine(
    options: &ModelOptions,
    prepared: &Prepared,
) -> Result<(String, MemoryNeed, Option<ContextCut>), LoadError> {
    let config = ModelConfig::read(&prepared.files)?;
    let stored = match options.load_format {
        LoadFormat::Auto => Weights::open(&prepared.files)?.file_bytes(),
        LoadFormat::Dummy => 0,
    };
    let numerics = options.numerics;
    let gpu = choose_device(options.device, Survey::of_this_machine, cpu_only(numerics))?;
    if let Some(DeviceInfo { index, name, memory_bytes, .. }) = gpu {
        let need = MemoryNeed { weights: stored, kv_cache: 0, gpu: Some(memory_bytes) };
        return Ok((format!("cuda:{index}, {name}"), need, None));
    }
    let in_blocks = match &prepared.files {
        ModelFiles::Gguf(files) => files.block_bytes()?.min(stored),
        ModelFiles::Directory(_) | ModelFiles::Embedded(_) => 0,
    };
    let weights = in_blocks + quantised(stored - in_blocks, numerics.quantize);
    let cpu = cpu_options(&config, options.kv_cache_bytes, options.context, numerics)?;
    let cut = ContextCut::planned(prepared.context, cpu.kv_cache_bytes, whole_context_bytes(&config, &cpu)?);
    let need = MemoryNeed { weights, kv_cache: cpu.kv_cache_bytes as u64, gpu: None };
    Ok(("cpu".to_owned(), need, cut))
}
