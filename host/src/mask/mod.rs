//! Token masks of grammars: which tokens of one tokenizer may come next, so that the output follows the grammar.
//!
//! llguidance computes the masks. This module has the vocabulary for it (`vocabulary.rs`), the cache of compiled grammars ([`Grammars`]),
//! and the mask of one sequence ([`GrammarMask`]).
//! Invariants: tokens that end the turn are no part of a grammar, they may come wherever the grammar may end; a sequence whose grammar
//! fails ends with an error, never unconstrained; sizes and work per mask are bounded (`limits.rs`).

mod error;
mod grammar_mask;
mod grammars;
mod json;
mod limits;
mod pool;
mod prepared;
mod start;
#[cfg(test)]
mod tests;
mod vocabulary;
mod watch;

pub use error::GrammarError;
pub use grammar_mask::GrammarMask;
pub use grammars::{CompiledGrammar, Grammars};
pub use json::json_grammar;
pub use start::MaskStart;
