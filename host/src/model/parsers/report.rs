//! What is known of a model's parsers, for `GET /admin/parsers` and for logs. Names and digests; nothing of any stream.

use serde::Serialize;

use crate::model::load_error::ModelLoadError;
use crate::model::shipped::shipped_parsers;
use crate::parser::contract::Descriptor;
use crate::parser::{LoadProblem, PluginSource};

/// The parser that serves, what else is there, and how the last load went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParserReport {
    /// The parser of streams that start now.
    pub serving: Serving,
    /// Builds in memory: the one that serves, and older ones that streams under way keep.
    pub in_memory: usize,
    /// Everything that the last load looked at, with the reason where it can't be used.
    pub candidates: Vec<CandidateReport>,
    /// How the last load went.
    pub last_load: LastLoad,
    /// Loads since the start, by result.
    pub loads: Loads,
}

/// The parser that serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Serving {
    /// As its descriptor says.
    pub name: String,
    /// As its descriptor says.
    pub version: String,
    /// Its file, or its name among the shipped ones.
    pub source: String,
    /// SHA-256 of the component; empty for `none`.
    pub sha256: String,
    /// Bytes of the component.
    pub bytes: usize,
    /// Why it was chosen.
    pub why: String,
    /// Since when it serves, in seconds since 1970.
    pub since: u64,
}

/// A plugin that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CandidateReport {
    /// Its file, or its name among the shipped ones; as `--parser` takes it.
    pub source: String,
    /// SHA-256 of its content, if it could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// What it says of itself, or why it can't be used.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Why another was chosen, where it could have been.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_chosen: Option<String>,
    /// Somebody's own: a file that isn't called like a shipped parser.
    #[serde(skip)]
    pub(super) is_own: bool,
}

/// What came of looking at a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Outcome {
    /// It can be used.
    Usable {
        /// As its descriptor says.
        name: String,
        /// As its descriptor says.
        version: String,
        /// The `model_type`s and architectures that it claims.
        models: Vec<String>,
    },
    /// It can't.
    Unusable {
        /// Why.
        error: String,
        /// Nothing is wrong with it: the options, which the model's files are part of, are none of its.
        #[serde(skip)]
        declined: bool,
    },
}

impl CandidateReport {
    pub(super) fn new(
        source: &PluginSource,
        sha256: Option<String>,
        descriptor: Result<&Descriptor, &ModelLoadError>,
    ) -> Self {
        let outcome = match descriptor {
            Ok(descriptor) => Outcome::Usable {
                name: descriptor.name.clone(),
                version: descriptor.version.clone(),
                models: descriptor.models.clone(),
            },
            Err(error) => {
                let declined = matches!(error, ModelLoadError::Parser(error) if matches!(error.problem, LoadProblem::Options(_)));
                Outcome::Unusable { error: error.to_string(), declined }
            }
        };
        let is_shipped = |descriptor: &Descriptor| {
            shipped_parsers().any(|shipped| shipped.name() == descriptor.name.as_str())
        };
        let is_own = matches!(source, PluginSource::File(_)) && !descriptor.is_ok_and(is_shipped);
        Self { source: source.name().into_owned(), sha256, outcome, not_chosen: None, is_own }
    }

    /// Whether it is a file that can't be used, whatever the options.
    pub(super) fn is_bad(&self) -> bool {
        matches!(self.outcome, Outcome::Unusable { declined: false, .. })
    }

    /// Why it can't be used.
    pub fn error(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Usable { .. } => None,
            Outcome::Unusable { error, .. } => Some(error),
        }
    }
}

/// How a load went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastLoad {
    /// When, in seconds since 1970.
    pub at: u64,
    /// What it was for: `start`, `signal`, `watch` or `admin`.
    pub cause: &'static str,
    /// What came of it.
    pub result: LoadResult,
    /// What was wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What came of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadResult {
    /// Streams that start now have another parser than before.
    Swapped,
    /// The same content serves on.
    Unchanged,
    /// Something is wrong with a file; what served before serves on.
    Failed,
}

impl LoadResult {
    /// Its name in metrics and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Swapped => "swapped",
            Self::Unchanged => "unchanged",
            Self::Failed => "failed",
        }
    }
}

/// Loads by result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Loads {
    /// See [`LoadResult::Swapped`]; the first load is one.
    pub swapped: u64,
    /// See [`LoadResult::Unchanged`].
    pub unchanged: u64,
    /// See [`LoadResult::Failed`].
    pub failed: u64,
}

impl Loads {
    pub(super) fn count(&mut self, result: LoadResult) {
        *match result {
            LoadResult::Swapped => &mut self.swapped,
            LoadResult::Unchanged => &mut self.unchanged,
            LoadResult::Failed => &mut self.failed,
        } += 1;
    }
}
