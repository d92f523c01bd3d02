//! The parser of a served model: chosen at the start, loaded again when its file changes, and
//! swapped for new streams.
//!
//! Invariants: a stream takes [`Parsers::current`] once and keeps it to its end; a load that fails
//! leaves the current parser in place; loads run one after the other and never on the serving path;
//! `current` and `report` never wait for a load.
#![doc = include_str!("DESIGN.md")]

mod argument;
pub(super) mod bad_files;
mod binding;
mod facts;
mod loader;
pub(super) mod pins;
mod report;
pub(super) mod select;
mod trial;
mod watch;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::Notify;

pub(super) use binding::{ModelTokens, ParserBinding, ParserRequest};
pub(super) use facts::ModelFacts;
pub use pins::{Pin, PinError};
pub use report::{CandidateOutcome, CandidateReport, LastLoad, LoadResult, Loads, ParserReport, Serving};
pub use select::SelectError;

use super::load_error::ModelLoadError;
use super::options::ModelOptions;
use super::shared::SharedParts;
use crate::observe::metrics::PARSER_RELOADS;
use argument::ParserArgument;
use bad_files::BadFiles;
use loader::{Loader, ParserChoice, ParserOffer};
use parsers::shipped::{find_parser, is_parser_name, parser_names};
use parsers::{ContractVersion, Plugin, PluginSource, Runtime};
use system::permission::try_executable_memory;

/// The current parser of a served model, and the loader of its next one.
pub(super) struct Parsers {
    /// Label of the model, for logs and metrics.
    model: Arc<str>,
    current: RwLock<Arc<ParserBinding>>,
    /// Bindings that streams may still have, including the current one.
    in_memory: Mutex<Vec<Weak<ParserBinding>>>,
    report: RwLock<ParserReport>,
    loader: Mutex<Loader>,
    bad_files: Arc<BadFiles>,
    model_tokens: ModelTokens,
    /// Binding without a parser, whose output is all text, for answers to raw prompts.
    without_parser: Arc<ParserBinding>,
    /// Folders to watch.
    folders: Vec<PathBuf>,
    /// Name of the file that was asked for, also if it doesn't end in `.wasm`.
    file: Option<OsString>,
    /// Lock that is held during a reload. It is asynchronous, so a waiting reload occupies no
    /// thread.
    pub(super) reload_lock: Arc<tokio::sync::Mutex<()>>,
    /// Notified after each load.
    loaded: Notify,
}

impl Parsers {
    /// Loads the parser that the options ask for. `model` is the model's label in logs and metrics.
    ///
    /// # Errors
    /// There is no such parser, or it can't be used.
    pub(super) fn load(
        options: &ModelOptions,
        shared: &SharedParts,
        model: Arc<str>,
        facts: ModelFacts,
        model_tokens: ModelTokens,
    ) -> Result<Self, ModelLoadError> {
        let argument = ParserArgument::read(options.parser.as_deref());
        if !argument.is_none() {
            // Each parser would only be found unusable, and the model would be served without.
            try_executable_memory().map_err(ModelLoadError::ExecutableMemory)?;
        }
        let (folders, file) = (argument.folders(&options.plugins), argument.file());
        let mut loader = Loader::new(Arc::clone(&shared.runtime), argument, options, facts);
        let choice = loader.choose(None);
        shared.bad_files.log(&loader.candidates, &[]);
        log_candidates(&model, &loader.candidates, &[]);
        let choice = choice?;
        log_choice(&model, &choice);
        let report = first_report(&choice, &loader.candidates);
        let binding = bind(choice, &model_tokens)?;
        let without_parser = Arc::new(ParserBinding::new(Plugin::none(), Vec::new(), &model_tokens)?);
        Ok(Self {
            model,
            without_parser,
            in_memory: Mutex::new(vec![Arc::downgrade(&binding)]),
            current: RwLock::new(binding),
            report: RwLock::new(report),
            loader: Mutex::new(loader),
            bad_files: Arc::clone(&shared.bad_files),
            model_tokens,
            folders,
            file,
            reload_lock: Arc::default(),
            loaded: Notify::new(),
        })
    }

    /// The parser for a stream that starts now.
    pub(super) fn current(&self) -> Arc<ParserBinding> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// A parser of the plugins folder or among the shipped ones, bound to the model and not
    /// installed. Compiling it may take seconds.
    ///
    /// # Errors
    /// One line: there is no parser of that name, or it can't be used.
    pub(super) fn named(&self, name: &str) -> Result<Arc<ParserBinding>, String> {
        if name == "none" {
            return Ok(self.without_parser());
        }
        if !is_parser_name(name) {
            return Err(format!("{name:?} is no parser's name"));
        }
        let (runtime, folder, options) = self.parts();
        let source = find_parser(name, &folder).map_err(|error| error.to_string())?;
        let plugin = runtime.load(&source, &options).map_err(|error| error.to_string())?;
        let binding = ParserBinding::new(plugin, options, &self.model_tokens);
        binding.map(Arc::new).map_err(|error| error.to_string())
    }

    /// Names of the parsers that [`Self::named`] finds. Reads a folder.
    pub(super) fn names(&self) -> Vec<String> {
        let (_, folder, _) = self.parts();
        parser_names(&folder)
    }

    /// A component that a client sent, bound to the model. Nothing of it stays, its machine code
    /// neither. Compiling it may take seconds.
    ///
    /// # Errors
    /// One line: it can't be used.
    pub(super) fn sent(&self, component: Vec<u8>) -> Result<Arc<ParserBinding>, String> {
        let (runtime, _, options) = self.parts();
        let source = PluginSource::Bytes { name: "component".to_owned(), bytes: component.into() };
        let plugin = runtime.load_once(&source, &options).map_err(|error| error.to_string())?;
        let binding = ParserBinding::new(plugin, options, &self.model_tokens);
        binding.map(Arc::new).map_err(|error| error.to_string())
    }

    /// Whether the model's calls go out as text: its chat template writes some, and no parser of
    /// those to choose from reads them.
    pub(super) fn are_lacking(&self) -> bool {
        let is_none = self.report.read().unwrap_or_else(PoisonError::into_inner).serving.bytes == 0;
        is_none && self.loader.lock().unwrap_or_else(PoisonError::into_inner).seeks_parser()
    }

    /// Takes a parser that was made for the model. The next load chooses it if no other one reads
    /// the model.
    pub(super) fn offer(&self, source: PluginSource, why: String) {
        let offer = Some(ParserOffer { source, why });
        self.loader.lock().unwrap_or_else(PoisonError::into_inner).offer = offer;
    }

    /// What loads parsers that aren't installed.
    fn parts(&self) -> (Arc<Runtime>, PathBuf, Vec<(String, String)>) {
        self.loader.lock().unwrap_or_else(PoisonError::into_inner).parts()
    }

    /// The binding without a parser, whose output is all text.
    pub(super) fn without_parser(&self) -> Arc<ParserBinding> {
        Arc::clone(&self.without_parser)
    }

    /// Report on the current parser, the candidates and the last load.
    pub(super) fn report(&self) -> ParserReport {
        let report = self.report.read().unwrap_or_else(PoisonError::into_inner).clone();
        ParserReport { in_memory: self.in_memory(), ..report }
    }

    /// Number of bindings in memory. Removes those from the list that no stream has any more.
    fn in_memory(&self) -> usize {
        let mut builds = self.in_memory.lock().unwrap_or_else(PoisonError::into_inner);
        builds.retain(|build| build.strong_count() > 0);
        builds.len()
    }

    /// Reads the files again and swaps the parser if its content or source changed. Blocks as long
    /// as compiling takes; streams that start meanwhile get the old parser.
    pub(super) fn reload(&self, cause: &'static str) -> ParserReport {
        let mut loader = self.loader.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.report();
        let choice = loader.choose(Some(&before.serving.source));
        self.bad_files.log(&loader.candidates, &before.candidates);
        log_candidates(&self.model, &loader.candidates, &before.candidates);
        let candidates = std::mem::take(&mut loader.candidates);
        let choice = choice.map_err(|error| match loader.choose(None) {
            Ok(_) => error.to_string(),
            Err(at_start) => format!("{error}; a restart would fail now: {at_start}"),
        });
        let report = match choice
            .and_then(|choice| self.swap(choice, &before).map_err(|error| error.to_string()))
        {
            Ok(Some(serving)) => {
                report_after(before, cause, LoadResult::Swapped, Some(serving), candidates, None)
            }
            Ok(None) => match failed_build(&candidates, &before) {
                Some(error) => report_after(before, cause, LoadResult::Failed, None, candidates, Some(error)),
                None => report_after(before, cause, LoadResult::Unchanged, None, candidates, None),
            },
            Err(error) => report_after(before, cause, LoadResult::Failed, None, candidates, Some(error)),
        };
        self.publish(report)
    }

    /// Reports that a reload panicked.
    pub(super) fn reload_panicked(&self, cause: &'static str) -> ParserReport {
        let before = self.report();
        let candidates = before.candidates.clone();
        let error = Some("loading the parser panicked".to_owned());
        self.publish(report_after(before, cause, LoadResult::Failed, None, candidates, error))
    }

    /// Makes the choice the current parser; `None` if it is that already.
    fn swap(&self, choice: ParserChoice, before: &ParserReport) -> Result<Option<Serving>, ModelLoadError> {
        let serving = serving(&choice);
        let old = &before.serving;
        if serving.sha256 == old.sha256 && serving.source == old.source {
            return Ok(None);
        }
        let binding = bind(choice, &self.model_tokens)?;
        self.in_memory.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&binding));
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = binding;
        Ok(Some(serving))
    }

    fn publish(&self, report: ParserReport) -> ParserReport {
        log(&self.model, &report);
        let (model, result) = (Arc::clone(&self.model), report.last_load.result.name());
        metrics::counter!(PARSER_RELOADS.name(), "model_name" => model, "result" => result).increment(1);
        *self.report.write().unwrap_or_else(PoisonError::into_inner) = report;
        self.loaded.notify_waiters();
        self.report()
    }
}

fn log_choice(model: &str, choice: &ParserChoice) {
    let ParserChoice { source, why, .. } = choice;
    if choice.doubtful && choice.plugin.size() == 0 {
        tracing::warn!(model, %why, "no parser chosen: what the model writes goes out as text, calls included; --parser NAME takes one");
    } else if choice.doubtful {
        tracing::warn!(model, %source, %why, "parser chosen, which doesn't look like this model's: --parser NAME takes another, --chat-template FILE another template");
    } else {
        tracing::info!(model, %source, %why, "parser chosen");
    }
}

fn bind(choice: ParserChoice, model_tokens: &ModelTokens) -> Result<Arc<ParserBinding>, ModelLoadError> {
    Ok(Arc::new(ParserBinding::new(choice.plugin, choice.options, model_tokens)?))
}

fn serving(choice: &ParserChoice) -> Serving {
    let descriptor = choice.plugin.descriptor();
    Serving {
        name: descriptor.name.clone(),
        version: descriptor.version.clone(),
        contract: choice.plugin.contract().map(ContractVersion::name),
        source: choice.source.clone(),
        sha256: choice.plugin.digest().to_owned(),
        bytes: choice.plugin.size(),
        why: choice.why.clone(),
        is_doubtful: choice.doubtful,
        since: now(),
    }
}

fn first_report(choice: &ParserChoice, candidates: &[CandidateReport]) -> ParserReport {
    let last_load = LastLoad { at: now(), cause: "start", result: LoadResult::Swapped, error: None };
    let loads = Loads { swapped: 1, ..Loads::default() };
    ParserReport { serving: serving(choice), in_memory: 1, candidates: candidates.to_vec(), last_load, loads }
}

/// Makes the report after a load.
fn report_after(
    before: ParserReport,
    cause: &'static str,
    result: LoadResult,
    serving: Option<Serving>,
    candidates: Vec<CandidateReport>,
    error: Option<String>,
) -> ParserReport {
    let mut loads = before.loads;
    loads.count(result);
    let last_load = LastLoad { at: now(), cause, result, error };
    ParserReport { serving: serving.unwrap_or(before.serving), candidates, last_load, loads, ..before }
}

/// Error of a file that had no such error before and is named after the current parser: a build
/// that was meant to replace it. Any other bad file has nothing to do with this model.
fn failed_build(candidates: &[CandidateReport], before: &ParserReport) -> Option<String> {
    let is_build = |candidate: &&CandidateReport| {
        candidate.is_bad()
            && !before.candidates.contains(candidate)
            && Path::new(&candidate.source)
                .file_stem()
                .is_some_and(|stem| stem == before.serving.name.as_str())
    };
    candidates.iter().find(is_build)?.error().map(str::to_owned)
}

/// Logs once for each plugin why it isn't for this model, or why another was chosen. Bad files
/// aren't a model's ([`BadFiles`]).
fn log_candidates(model: &str, candidates: &[CandidateReport], before: &[CandidateReport]) {
    for new in candidates.iter().filter(|candidate| !before.contains(candidate)) {
        match &new.outcome {
            CandidateOutcome::Usable { .. } => log_not_chosen(model, new),
            CandidateOutcome::Unusable { error, declined: true } => {
                tracing::debug!(model, %error, "not a parser for this model");
            }
            CandidateOutcome::Unusable { .. } => {}
        }
    }
}

/// Logs why a plugin wasn't chosen: at level warn for another build of the same parser, which the
/// operator may have taken for the current one, at info for an operator's own, at debug for the
/// shipped ones, since most are for other models.
fn log_not_chosen(model: &str, candidate: &CandidateReport) {
    let CandidateReport { source, not_chosen: Some(why), is_own, is_other_build, .. } = candidate else {
        return;
    };
    if *is_other_build {
        tracing::warn!(model, %source, %why, "file ignored: remove it, or rename the one that is meant after its parser");
    } else if *is_own {
        tracing::info!(model, %source, %why, "parser not chosen");
    } else {
        tracing::debug!(model, %source, %why, "parser not chosen");
    }
}

fn log(model: &str, report: &ParserReport) {
    let ParserReport { serving, last_load, .. } = report;
    let (cause, source, digest) = (last_load.cause, &serving.source, &serving.sha256);
    match last_load.result {
        LoadResult::Swapped => {
            tracing::info!(model, cause, %source, digest, why = %serving.why, "parser swapped; streams under way keep theirs");
        }
        LoadResult::Unchanged => tracing::info!(model, cause, %source, digest, "parser unchanged"),
        LoadResult::Failed => {
            let reason = last_load.error.as_deref().unwrap_or_default();
            tracing::error!(model, cause, %source, digest, reason, "parser not swapped; the old one serves on");
        }
    }
}

/// The current time in seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
