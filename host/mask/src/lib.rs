//! Token masks of grammars: which tokens of one tokenizer may come next, so that the output follows
//! the grammar.
//!
//! llguidance computes the masks. This module has the vocabulary for it (`vocabulary.rs`), the
//! compiler of grammars ([`Grammars`]) with what all models share ([`GrammarShare`]: a sandbox in
//! which each grammar is tried first, the cache), and the mask of one sequence ([`GrammarMask`]).
//! Invariants: tokens that end the turn are no part of a grammar, they may come wherever the
//! grammar may end; a sequence whose grammar fails ends with an error, never unconstrained; sizes,
//! memory and work per mask are bounded (`limits.rs`).
#![doc = include_str!("../DESIGN.md")]

mod compiled;
mod error;
mod grammar_mask;
mod grammars;
mod json;
mod limits;
mod memory;
mod parts;
mod pool;
mod prepared;
mod reasoning;
mod share;
mod start;
#[cfg(test)]
mod tests;
mod trial;
mod vocabulary;
mod watch;
mod weight;

pub use compiled::CompiledGrammar;
pub use error::{GrammarError, RefusedGrammar};
pub use grammar_mask::GrammarMask;
pub use grammars::Grammars;
pub use json::{json_grammar, text_grammar};
pub use share::{GrammarShare, Need};
pub use start::MaskStart;
