//! A compiled grammar, from which answers start. `grammars` makes it, `share` keeps it for the next
//! answer.

use std::sync::Arc;

use llguidance::Matcher;

use super::parts::GrammarParts;
#[cfg(test)]
use super::pool::LexerLock;
use super::weight::GrammarWeight;
use super::{GrammarError, MaskStart};

/// A compiled grammar. Cheap to clone.
#[derive(Clone)]
pub struct CompiledGrammar {
    matcher: Arc<Matcher>,
    shared: GrammarParts,
}

impl CompiledGrammar {
    pub(super) fn new(matcher: Matcher, shared: GrammarParts) -> Self {
        Self { matcher: Arc::new(matcher), shared }
    }

    /// What the grammar holds.
    pub(super) fn weight(&self) -> &GrammarWeight {
        &self.shared.weight
    }

    /// The lock that is held while a mask of this grammar is computed.
    #[cfg(test)]
    pub(super) fn lexer(&self) -> LexerLock {
        self.shared.lexer.clone()
    }

    /// Panics inside llguidance's lexer, which catches it and leaves its lock poisoned.
    #[cfg(test)]
    pub(super) fn panic_in_lexer(&self) -> Result<(), String> {
        Matcher::clone(&self.matcher).test_trigger_lexer_error().map_err(|error| error.to_string())
    }

    /// Returns the start of sequences that any token of `stops` ends. `opening` is the part of the
    /// turn that their prompt has written: tokens with their literals, or text.
    ///
    /// # Errors
    /// The grammar doesn't allow `opening`, or the first mask behind it fails or takes too long.
    pub fn start(
        &self,
        opening: &[(Option<u32>, String)],
        stops: &Arc<[u32]>,
    ) -> Result<MaskStart, GrammarError> {
        MaskStart::new(Matcher::clone(&self.matcher), opening, Arc::clone(stops), self.shared.clone())
    }
}
