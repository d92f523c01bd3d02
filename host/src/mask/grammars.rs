//! Grammars of one tokenizer: each is compiled once and cached by its source.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use llguidance::api::TopLevelGrammar;
use llguidance::toktrie::InferenceCapabilities;
use llguidance::{Matcher, ParserFactory, TokenParser};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::limits::{
    CACHED_BYTES, CACHED_GRAMMARS, GRAMMAR_BYTES, LEAST_BYTES, RECOMPILE_STATES, parser_limits,
};
use super::pool::{LexerLock, MaskPool};
use super::start::GrammarParts;
use super::vocabulary::{self, MaskVocabulary};
use super::{GrammarError, MaskStart};
use crate::prompt::Tokenizer;

/// Compiler and cache of grammars, shared by all answers of a model.
pub struct Grammars {
    tokenizer: Arc<Tokenizer>,
    compiler: OnceLock<Option<GrammarCompiler>>,
    compiled: Cache<Arc<str>, CompiledGrammar, BySource>,
    /// Most CPU time of a token's mask, on average over an answer.
    mask_time: Duration,
}

/// Compiler of grammars, and threads for masks. It is made with the first grammar, in half a second for a large vocabulary.
struct GrammarCompiler {
    factory: ParserFactory,
    pool: Arc<MaskPool>,
}

/// A compiled grammar. Cheap to clone.
#[derive(Clone)]
pub struct CompiledGrammar {
    matcher: Arc<Matcher>,
    /// Parser of the same grammar, kept for the size of the lexer that all matchers of the grammar share.
    parser: Arc<TokenParser>,
    shared: GrammarParts,
}

#[derive(Clone)]
struct BySource;

impl Weighter<Arc<str>, CompiledGrammar> for BySource {
    fn weight(&self, source: &Arc<str>, _: &CompiledGrammar) -> u64 {
        LEAST_BYTES.max(source.len() as u64)
    }
}

impl Grammars {
    /// An empty cache for a tokenizer; the vocabulary is prepared with the first grammar. An answer fails whose masks take more CPU time than
    /// `mask_time` for each token, with the time of 200 tokens in advance.
    pub fn new(tokenizer: Arc<Tokenizer>, mask_time: Duration) -> Self {
        Self {
            tokenizer,
            compiler: OnceLock::new(),
            compiled: Cache::with_weighter(CACHED_GRAMMARS, CACHED_BYTES, BySource),
            mask_time,
        }
    }

    /// Compiles a Lark grammar in llguidance's dialect, or takes it from the cache. Blocks for up to some 50 ms (and with the first grammar
    /// the time for the vocabulary), so it may not run on async threads. A caller whose grammar is being compiled by another waits for it.
    ///
    /// # Errors
    /// The grammar can't be followed, or is too large; the tokenizer isn't byte-level.
    pub fn compile(&self, grammar: &str) -> Result<CompiledGrammar, GrammarError> {
        match self.compiled.get(grammar) {
            Some(compiled) if compiled.needs_recompile() => drop(self.compiled.remove(grammar)),
            Some(compiled) => return Ok(compiled),
            None => {}
        }
        self.compiled.get_or_insert_with(&Arc::from(grammar), || self.compile_anew(grammar))
    }

    fn compile_anew(&self, grammar: &str) -> Result<CompiledGrammar, GrammarError> {
        let bytes = grammar.len();
        if bytes > GRAMMAR_BYTES {
            let reason = format!("its grammar has {bytes} bytes, at most {GRAMMAR_BYTES} are allowed");
            return Err(GrammarError::new(reason));
        }
        let GrammarCompiler { factory, pool } = self.compiler()?;
        let parser = factory.create_parser(TopLevelGrammar::from_lark(grammar.to_owned()));
        let parser = parser.map_err(|error| GrammarError::of_llguidance(&error.to_string()))?;
        let matcher = Matcher::new(Ok(parser.clone()));
        match matcher.get_error() {
            Some(error) => Err(GrammarError::of_llguidance(&error)),
            None => Ok(CompiledGrammar {
                matcher: Arc::new(matcher),
                parser: Arc::new(parser),
                shared: GrammarParts {
                    pool: Arc::clone(pool),
                    lexer: LexerLock::default(),
                    mask_time: self.mask_time,
                    end: vocabulary::end(&self.tokenizer),
                },
            }),
        }
    }

    fn compiler(&self) -> Result<&GrammarCompiler, GrammarError> {
        let compiler = self.compiler.get_or_init(|| GrammarCompiler::new(&self.tokenizer));
        compiler.as_ref().ok_or_else(|| {
            let reason = "the model's tokenizer isn't byte-level: its output can't be constrained here";
            GrammarError::new(reason)
        })
    }
}

impl GrammarCompiler {
    fn new(tokenizer: &Arc<Tokenizer>) -> Option<Self> {
        let environment = MaskVocabulary::new(Arc::clone(tokenizer))?.into_environment();
        let capabilities = InferenceCapabilities { ff_tokens: true, ..InferenceCapabilities::default() };
        let mut factory = ParserFactory::new(&environment, capabilities, &slices())
            .inspect_err(|error| tracing::error!(%error, "the vocabulary can't be made ready for grammars"))
            .ok()?;
        *factory.limits_mut() = parser_limits();
        factory.quiet();
        let pool = MaskPool::new()
            .inspect_err(|error| tracing::error!(%error, "threads for masks don't start"))
            .ok()?;
        Some(Self { factory, pool: Arc::new(pool) })
    }
}

/// Regexes of token sets that a mask takes as a whole, where the grammar allows all texts of that form. They are llguidance's, without the
/// `<` with which most markers begin, so that they also apply where a grammar allows any text but markers.
fn slices() -> Vec<String> {
    let text = r#"[^"\\<\x00-\x1F\x7F]"#;
    let lengths = ["{1,10}", "{1,30}", "+"].map(|length| format!("{text}{length}"));
    std::iter::once(r"[ \n\r\t]+".to_owned()).chain(lengths).collect()
}

impl CompiledGrammar {
    /// Whether the shared lexer has so many states that a new answer might reach their limit through no fault of its own.
    fn needs_recompile(&self) -> bool {
        self.parser.parser.lexer_stats().num_states > RECOMPILE_STATES
    }

    /// The lock that is held while a mask of this grammar is computed.
    #[cfg(test)]
    pub(super) fn lexer(&self) -> LexerLock {
        self.shared.lexer.clone()
    }

    /// Returns the start of sequences that any token of `stops` ends. `opening` is the part of the turn that their prompt has written: tokens
    /// with their literals, or text.
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
