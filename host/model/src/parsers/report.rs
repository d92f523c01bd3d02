//! Report on a model's parsers, for `GET /admin/parsers` and for logs: names, digests and results
//! of loads, without data of any stream.

use serde::Serialize;

use crate::load_error::ModelLoadError;
use contract::Descriptor;
use parsers::shipped::shipped_parsers;
use parsers::{LoadProblem, PluginSource};

/// Report on a model's parsers: the current one, the candidates, and the last load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParserReport {
    /// The current parser, which streams that start now get.
    pub serving: Serving,
    /// Number of builds in memory: the current one, and older ones that running streams keep.
    pub in_memory: usize,
    /// All plugins that the last load has checked, with the reason if one can't be used.
    pub candidates: Vec<CandidateReport>,
    /// Result of the last load.
    pub last_load: LastLoad,
    /// Numbers of loads since the start, by result.
    pub loads: Loads,
}

/// The current parser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Serving {
    /// Name in the descriptor.
    pub name: String,
    /// Version in the descriptor.
    pub version: String,
    /// Version of the contract by which it was loaded; none for `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<&'static str>,
    /// Path of the file, or name of the shipped parser.
    pub source: String,
    /// SHA-256 of the component; empty for `none`.
    pub sha256: String,
    /// Size of the component in bytes.
    pub bytes: usize,
    /// Reason why the parser was chosen.
    pub why: String,
    /// Whether the model's files have no sign of this parser's format, or a sign against it.
    #[serde(skip)]
    pub is_doubtful: bool,
    /// Time since which the parser serves, in seconds since 1970.
    pub since: u64,
}

/// Result of checking one plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CandidateReport {
    /// Path of the file, or name of the shipped parser, as `--parser` takes it.
    pub source: String,
    /// SHA-256 of the content, if it could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Facts from the plugin's descriptor, or the reason why it can't be used.
    #[serde(flatten)]
    pub outcome: CandidateOutcome,
    /// Reason why a usable plugin wasn't chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_chosen: Option<String>,
    /// Whether it is the operator's own plugin: a file whose descriptor has no shipped parser's
    /// name.
    #[serde(skip)]
    pub(super) is_own: bool,
    /// Whether it is another build of a parser that another file is taken for.
    #[serde(skip)]
    pub(super) is_other_build: bool,
}

/// Whether a plugin can be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum CandidateOutcome {
    /// The plugin can be used.
    Usable {
        /// Name in the descriptor.
        name: String,
        /// Version in the descriptor.
        version: String,
        /// The `model_type`s and architectures that it claims.
        models: Vec<String>,
    },
    /// The plugin can't be used.
    Unusable {
        /// Reason, in one line.
        error: String,
        /// Whether the plugin itself is in order, but refused its options, which may include the
        /// model's response template.
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
            Ok(descriptor) => CandidateOutcome::Usable {
                name: descriptor.name.clone(),
                version: descriptor.version.clone(),
                models: descriptor.models.clone(),
            },
            Err(error) => {
                let declined = matches!(error, ModelLoadError::Parser(error) if matches!(error.problem, LoadProblem::Options(_)));
                CandidateOutcome::Unusable { error: error.to_string(), declined }
            }
        };
        let is_shipped = |descriptor: &Descriptor| {
            shipped_parsers().any(|shipped| shipped.name() == descriptor.name.as_str())
        };
        let is_own = matches!(source, PluginSource::File(_)) && !descriptor.is_ok_and(is_shipped);
        Self {
            source: source.name().into_owned(),
            sha256,
            outcome,
            not_chosen: None,
            is_own,
            is_other_build: false,
        }
    }

    /// Whether the plugin can't be used with any options.
    pub(super) fn is_bad(&self) -> bool {
        matches!(self.outcome, CandidateOutcome::Unusable { declined: false, .. })
    }

    /// Reason why the plugin can't be used.
    pub fn error(&self) -> Option<&str> {
        match &self.outcome {
            CandidateOutcome::Usable { .. } => None,
            CandidateOutcome::Unusable { error, .. } => Some(error),
        }
    }
}

/// Time, cause and result of a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastLoad {
    /// Time of the load, in seconds since 1970.
    pub at: u64,
    /// Cause of the load: `start`, `signal`, `watch` or `admin`.
    pub cause: &'static str,
    /// Result of the load.
    pub result: LoadResult,
    /// Reason of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Result of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadResult {
    /// Streams that start now get another parser than before.
    Swapped,
    /// The same parser continues to serve.
    Unchanged,
    /// The load failed, or a new build of the current parser can't be used; the parser from before
    /// continues to serve.
    Failed,
}

impl LoadResult {
    /// All results.
    pub const ALL: [Self; 3] = [Self::Swapped, Self::Unchanged, Self::Failed];

    /// Name of the result in metrics and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Swapped => "swapped",
            Self::Unchanged => "unchanged",
            Self::Failed => "failed",
        }
    }
}

/// Numbers of loads, by result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Loads {
    /// Number of loads with [`LoadResult::Swapped`], including the first load.
    pub swapped: u64,
    /// Number of loads with [`LoadResult::Unchanged`].
    pub unchanged: u64,
    /// Number of loads with [`LoadResult::Failed`].
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
