//! Files of the plugins folder that can't be used, so that each is logged once and not once for
//! each model.
//!
//! Invariant: a file and its error are logged when the first model finds them, and again only after
//! a model found that they are gone. Shared by the models of a process, and called at each load of
//! their parsers.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use super::report::CandidateReport;

/// Files that can't be used, each with its error.
#[derive(Debug, Default)]
pub(crate) struct BadFiles(Mutex<HashSet<(String, String)>>);

impl BadFiles {
    /// Logs the bad files among `candidates` that weren't known yet, and forgets those of `before`
    /// that are gone.
    pub(super) fn log(&self, candidates: &[CandidateReport], before: &[CandidateReport]) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for gone in before.iter().filter(|candidate| !candidates.contains(candidate)) {
            if let Some(bad) = bad(gone) {
                known.remove(&bad);
            }
        }
        for new in candidates.iter().filter(|candidate| !before.contains(candidate)) {
            let Some(bad) = bad(new) else { continue };
            if !known.contains(&bad) {
                tracing::warn!(error = %bad.1, "not a parser to choose from; its file is ignored: correct or remove it");
                known.insert(bad);
            }
        }
    }
}

/// Source and error of a plugin that can't be used with any options.
fn bad(candidate: &CandidateReport) -> Option<(String, String)> {
    let error = candidate.error().filter(|_| candidate.is_bad())?;
    Some((candidate.source.clone(), error.to_owned()))
}
