//! Result of a selection for one engine.

/// Result of a selection for one engine.
#[derive(Clone, Copy, Debug)]
pub(super) struct EngineCandidate {
    pub(super) candidacy: Candidacy,
    /// Requests on the engine: this router's, and others' as last reported.
    pub(super) load: u32,
}

/// Whether an engine may take the request that is being placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Candidacy {
    None,
    /// The KV cache is full: taken only if those of all other candidates are, too.
    Full,
    Yes,
}
