//! What one compiled grammar holds. Its lexer is made on demand, so it grows while masks are
//! computed.
//!
//! Invariant: a panic of llguidance stays an error here. It leaves the lexer half written and its
//! lock poisoned, so that each later use panics, too; such a grammar is *lost*: its answers fail,
//! and the cache compiles it again for the next one.

use std::sync::atomic::{AtomicBool, Ordering};

use engine::MaskError;
use llguidance::TokenParser;
use llguidance::earley::regexvec::LexerStats;

use super::limits::RECOMPILE_STATES;
use super::memory::{Excess, HeldMemory};
use system::panics::caught;

/// Memory of one compiled grammar.
pub(super) struct GrammarWeight {
    /// Parser of the grammar, kept for the size of the lexer that all matchers of the grammar
    /// share.
    parser: TokenParser,
    held: HeldMemory,
    /// Bytes of the grammar and its lexer when it was compiled.
    first: usize,
    /// Bytes of its lexer then, as llguidance counts them.
    first_lexer: usize,
    /// Whether llguidance panicked in the lexer.
    is_lost: AtomicBool,
}

impl GrammarWeight {
    pub(super) fn new(parser: TokenParser, held: HeldMemory) -> Self {
        let (first, first_lexer) = (held.bytes(), lexer_bytes(&parser.parser.lexer_stats()));
        Self { parser, held, first, first_lexer, is_lost: AtomicBool::new(false) }
    }

    /// Bytes that the grammar held when it was compiled.
    pub(super) fn at_first(&self) -> usize {
        self.first
    }

    /// Figures of the lexer that all answers share; `None` if the grammar is lost.
    fn lexer(&self) -> Option<LexerStats> {
        if self.is_lost.load(Ordering::Relaxed) {
            return None;
        }
        let lexer = caught(|| self.parser.parser.lexer_stats());
        if lexer.is_err() {
            self.is_lost.store(true, Ordering::Relaxed);
        }
        lexer.ok()
    }

    /// Whether a new answer needs the grammar compiled again: it is lost, or the shared lexer has
    /// so many states that the answer might reach their limit through no fault of its own.
    pub(super) fn needs_recompile(&self) -> bool {
        self.lexer().is_none_or(|lexer| lexer.num_states > RECOMPILE_STATES)
    }

    /// Whether the lexer reached its limit of states, after which it refuses every text.
    pub(super) fn is_exhausted(&self) -> bool {
        self.lexer().is_some_and(|lexer| lexer.error)
    }

    /// Counts what the lexer holds after a mask.
    ///
    /// # Errors
    /// It holds more than a grammar may, or must give way to others; or the grammar is lost.
    pub(super) fn count(&self) -> Result<(), MaskError> {
        let lost = || MaskError::Panicked("in the grammar's lexer".to_owned());
        let grown = lexer_bytes(&self.lexer().ok_or_else(lost)?).saturating_sub(self.first_lexer);
        self.held.set(self.first + grown).map_err(|excess| match excess {
            Excess::Grammar(most) => {
                MaskError::TooComplex(format!("its states take more than {} MiB of memory", most >> 20))
            }
            Excess::All => MaskError::NoMemory,
        })
    }
}

/// Bytes of the lexer, as llguidance counts them, and a bit for each regex in each state.
fn lexer_bytes(lexer: &LexerStats) -> usize {
    lexer.num_bytes + lexer.num_states * lexer.num_regexps.div_ceil(8)
}
