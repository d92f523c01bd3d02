//! What one compiled grammar holds. Its lexer is made on demand, so it grows while masks are
//! computed.

use engine::MaskError;
use llguidance::TokenParser;

use super::limits::RECOMPILE_STATES;
use super::memory::{Excess, HeldMemory};

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
}

impl GrammarWeight {
    pub(super) fn new(parser: TokenParser, held: HeldMemory) -> Self {
        let (first, first_lexer) = (held.bytes(), lexer_bytes(&parser));
        Self { parser, held, first, first_lexer }
    }

    /// Bytes that the grammar held when it was compiled.
    pub(super) fn at_first(&self) -> usize {
        self.first
    }

    /// Whether the shared lexer has so many states that a new answer might reach their limit
    /// through no fault of its own.
    pub(super) fn needs_recompile(&self) -> bool {
        self.parser.parser.lexer_stats().num_states > RECOMPILE_STATES
    }

    /// Whether the lexer reached its limit of states, after which it refuses every text.
    pub(super) fn is_exhausted(&self) -> bool {
        self.parser.parser.lexer_stats().error
    }

    /// Counts what the lexer holds after a mask.
    ///
    /// # Errors
    /// It holds more than a grammar may, or must give way to others.
    pub(super) fn count(&self) -> Result<(), MaskError> {
        let grown = lexer_bytes(&self.parser).saturating_sub(self.first_lexer);
        self.held.set(self.first + grown).map_err(|excess| match excess {
            Excess::Grammar(most) => {
                MaskError::TooComplex(format!("its states take more than {} MiB of memory", most >> 20))
            }
            Excess::All => MaskError::NoMemory,
        })
    }
}

/// Bytes of the lexer, as llguidance counts them, and a bit for each regex in each state.
fn lexer_bytes(parser: &TokenParser) -> usize {
    let lexer = parser.parser.lexer_stats();
    lexer.num_bytes + lexer.num_states * lexer.num_regexps.div_ceil(8)
}
