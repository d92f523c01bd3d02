//! Grammars as a server compiles them, without a server.

use std::sync::Arc;

use accounts::Caller;
use mask::{CompiledGrammar, GrammarError, GrammarShare, Grammars, Need};
use model::limits::ModelLimits;
use parsers::CompileCache;
use prompt::Tokenizer;

/// Compiler of grammars for a tokenizer. The trial's machine code is cached as that of the tests'
/// servers.
pub fn grammars(tokenizer: &Arc<Tokenizer>) -> Grammars {
    let cache = CompileCache::open(&std::env::temp_dir().join("sluice-tests/parsers")).ok();
    Grammars::new(Arc::clone(tokenizer), ModelLimits::default().mask_time, Arc::new(GrammarShare::new(cache)))
}

/// Compiles a grammar for nobody in particular.
///
/// # Errors
/// As [`Grammars::compile`].
pub fn compile(grammars: &Grammars, grammar: &str) -> Result<CompiledGrammar, GrammarError> {
    grammars.compile(grammar, &Caller::default(), Need::Demanded)
}
