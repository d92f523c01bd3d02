//! Grammars of one tokenizer: compiled once, kept by their content.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use llguidance::api::TopLevelGrammar;
use llguidance::toktrie::InferenceCapabilities;
use llguidance::{Matcher, ParserFactory, TokenParser};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::limits::{CACHED_BYTES, CACHED_GRAMMARS, GRAMMAR_BYTES, LEAST_BYTES, WORN_STATES, parser_limits};
use super::pool::{LexerLock, MaskPool};
use super::start::GrammarParts;
use super::vocabulary::{self, MaskVocabulary};
use super::{GrammarError, MaskStart};
use crate::prompt::Tokenizer;

/// Makes masks of grammars. Shared by all answers of a model.
pub struct Grammars {
    tokenizer: Arc<Tokenizer>,
    compiler: OnceLock<Option<GrammarCompiler>>,
    compiled: Cache<Arc<str>, CompiledGrammar, BySource>,
    /// CPU time of a token's mask, on average over an answer.
    mask_time: Duration,
}

/// What grammars are compiled with, and threads for masks. Made with the first grammar: half a second for a large vocabulary.
struct GrammarCompiler {
    factory: ParserFactory,
    pool: Arc<MaskPool>,
}

/// A grammar at its beginning. Cheap to clone.
#[derive(Clone)]
pub struct CompiledGrammar {
    matcher: Arc<Matcher>,
    /// The same: it tells how large the lexer has grown that all matchers of the grammar share.
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
    /// For a tokenizer. Nothing is made before the first grammar comes. An answer whose masks take more CPU time than so much for each token
    /// fails; what 200 tokens may take is free.
    pub fn new(tokenizer: Arc<Tokenizer>, mask_time: Duration) -> Self {
        Self {
            tokenizer,
            compiler: OnceLock::new(),
            compiled: Cache::with_weighter(CACHED_GRAMMARS, CACHED_BYTES, BySource),
            mask_time,
        }
    }

    /// Compiles a Lark grammar in llguidance's dialect, or finds it among those that were. Takes up to some 50 ms (and with the first
    /// grammar the time for the vocabulary): not for the async threads. Who asks for a grammar that is being compiled waits for it.
    ///
    /// # Errors
    /// The grammar can't be followed, or is too large; the tokenizer isn't byte-level.
    pub fn compile(&self, grammar: &str) -> Result<CompiledGrammar, GrammarError> {
        match self.compiled.get(grammar) {
            Some(compiled) if compiled.is_worn() => drop(self.compiled.remove(grammar)),
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

/// Sets of tokens that a grammar allows as one, where it allows all texts of such a form: llguidance's, without what begins most markers, so that
/// they count in text that spells none, too.
fn slices() -> Vec<String> {
    let text = r#"[^"\\<\x00-\x1F\x7F]"#;
    let lengths = ["{1,10}", "{1,30}", "+"].map(|length| format!("{text}{length}"));
    std::iter::once(r"[ \n\r\t]+".to_owned()).chain(lengths).collect()
}

impl CompiledGrammar {
    /// Whether so much has been met under it that it may soon reach a limit through no fault of who meets it.
    fn is_worn(&self) -> bool {
        self.parser.parser.lexer_stats().num_states > WORN_STATES
    }

    /// What is held while a mask of it is computed.
    #[cfg(test)]
    pub(super) fn lexer(&self) -> LexerLock {
        self.shared.lexer.clone()
    }

    /// Where sequences begin that any of `stops` ends, behind what their prompt has written of the turn: tokens, or text.
    ///
    /// # Errors
    /// The grammar begins otherwise.
    pub fn start(
        &self,
        opening: &[(Option<u32>, String)],
        stops: &Arc<[u32]>,
    ) -> Result<MaskStart, GrammarError> {
        MaskStart::new(Matcher::clone(&self.matcher), opening, Arc::clone(stops), self.shared.clone())
    }
}
