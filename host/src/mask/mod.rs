//! Token masks of grammars: which tokens of one tokenizer may come next, so that what is generated is a text of the grammar.
//!
//! llguidance does the work; here are the vocabulary that it walks (`vocabulary.rs`), grammars compiled once and kept by their content
//! ([`Grammars`]), and the mask of one sequence ([`GrammarMask`]).
//! Invariants: the turn's end is no token of a grammar, it may come wherever the grammar may end; a sequence whose grammar fails ends with
//! an error, never unconstrained; sizes and work per mask are bounded (`limits.rs`).

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
