//! Grammars of one tokenizer: each is compiled once, after a trial, and cached by its source.

use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use grammar::GRAMMAR_BYTES;
use llguidance::ParserFactory;

use super::compiled::CompiledGrammar;
use super::limits::COMPILE_STACK;
use super::parts::GrammarParts;
use super::pool::{LexerLock, MaskPool};
use super::share::{GrammarShare, ModelNumber, Need};
use super::vocabulary::{self, MaskVocabulary};
use super::weight::GrammarWeight;
use super::{GrammarError, MaskStart};
use accounts::Caller;
use prompt::Tokenizer;

/// Compiler of grammars, shared by all answers of a model.
pub struct Grammars {
    tokenizer: Arc<Tokenizer>,
    compiler: OnceLock<Option<GrammarCompiler>>,
    share: Arc<GrammarShare>,
    model: ModelNumber,
    /// Most CPU time of a token's mask, on average over an answer.
    mask_time: Duration,
}

/// Compiler of grammars, and threads for masks. It is made with the first grammar, in half a second
/// for a large vocabulary.
struct GrammarCompiler {
    factory: ParserFactory,
    pool: Arc<MaskPool>,
}

impl Grammars {
    /// Compiler for a tokenizer; the vocabulary is prepared with the first grammar. An answer fails
    /// whose masks take more CPU time than `mask_time` for each token, with the time of 100 tokens
    /// in advance.
    pub fn new(tokenizer: Arc<Tokenizer>, mask_time: Duration, share: Arc<GrammarShare>) -> Self {
        let model = share.new_model();
        Self { tokenizer, compiler: OnceLock::new(), share, model, mask_time }
    }

    /// Makes the vocabulary ready on a thread of its own, so that the first grammar doesn't wait for
    /// it. `failed` is called if it can't be made, with the reason.
    pub fn prepare(self: &Arc<Self>, failed: impl FnOnce(GrammarError) + Send + 'static) {
        let grammars = Arc::clone(self);
        let thread = thread::Builder::new().name("grammar-words".to_owned());
        // Without the thread the first grammar makes it ready.
        let _ = thread.spawn(move || grammars.compiler().map_or_else(failed, drop));
    }

    /// Bytes that the compiled grammars of all models hold.
    pub fn held_bytes(&self) -> usize {
        self.share.held_bytes()
    }

    /// Compiles a Lark grammar in llguidance's dialect, or takes it from the cache. Blocks for up
    /// to some 100 ms, longer while others' grammars are compiled (and with the first grammar for
    /// the time of the vocabulary), so it may not run on async threads. A caller whose grammar is
    /// being compiled by another waits for it.
    ///
    /// # Errors
    /// The grammar can't be followed, or takes too much time or memory; the tokenizer's tokens have
    /// no bytes of their own; the grammars in use leave no memory; the caller has left.
    pub fn compile(
        &self,
        grammar: &str,
        caller: &Caller,
        need: Need,
    ) -> Result<CompiledGrammar, GrammarError> {
        self.share.compiled(self.model, grammar, || self.compile_anew(grammar, caller, need))
    }

    /// Starts answers that `stops` end in a grammar, which is compiled as [`Self::compile`] says and
    /// goes on as [`CompiledGrammar::start`] does. A grammar that is refused leaves the cache:
    /// nothing is kept of it.
    ///
    /// # Errors
    /// Those of both.
    pub fn start(
        &self,
        grammar: &str,
        opening: &[(Option<u32>, String)],
        stops: &Arc<[u32]>,
        caller: &Caller,
        need: Need,
    ) -> Result<MaskStart, GrammarError> {
        let started = self.compile(grammar, caller, need)?.start(opening, stops);
        if started.is_err() {
            self.share.forget(self.model, grammar);
        }
        started
    }

    /// Compiles on a thread of its own, whose stack is large enough for every grammar that passes
    /// its trial.
    fn compile_anew(
        &self,
        grammar: &str,
        caller: &Caller,
        need: Need,
    ) -> Result<CompiledGrammar, GrammarError> {
        let bytes = grammar.len();
        if bytes > GRAMMAR_BYTES {
            let reason = format!("its grammar has {bytes} bytes, at most {GRAMMAR_BYTES} are allowed");
            return Err(GrammarError::new(reason));
        }
        let compiler = self.compiler()?;
        thread::scope(|scope| {
            let thread = thread::Builder::new().name("grammar".to_owned()).stack_size(COMPILE_STACK);
            let work = || caller.meter.run(|| self.try_and_compile(compiler, grammar, caller, need));
            let running = thread.spawn_scoped(scope, work).map_err(|_| GrammarError::Busy)?;
            running.join().unwrap_or_else(|_| Err(GrammarError::new("compiling it failed")))
        })
    }

    fn try_and_compile(
        &self,
        compiler: &GrammarCompiler,
        grammar: &str,
        caller: &Caller,
        need: Need,
    ) -> Result<CompiledGrammar, GrammarError> {
        let trial = self.share.trial()?;
        let slot = self.share.take_slot(&caller.principal);
        still_waits(caller)?;
        let end = vocabulary::end(&self.tokenizer);
        let needed = trial.run(grammar, end + 1)?;
        // Others compile while this one waits for memory.
        drop(slot);
        let held = self.share.hold(&caller.principal, needed, need)?;
        let _slot = self.share.take_slot(&caller.principal);
        still_waits(caller)?;
        let (parser, matcher) = grammar_trial::compile(&compiler.factory, grammar)
            .map_err(|error| GrammarError::of_llguidance(&error))?;
        Ok(CompiledGrammar::new(
            matcher,
            GrammarParts {
                pool: Arc::clone(&compiler.pool),
                lexer: LexerLock::default(),
                weight: Arc::new(GrammarWeight::new(parser, held)),
                mask_time: self.mask_time,
                end,
            },
        ))
    }

    #[cfg(test)]
    pub(super) fn is_cached(&self, grammar: &str) -> bool {
        self.share.is_cached(self.model, grammar)
    }

    fn compiler(&self) -> Result<&GrammarCompiler, GrammarError> {
        let compiler = self.compiler.get_or_init(|| GrammarCompiler::new(&self.tokenizer));
        compiler.as_ref().ok_or_else(|| {
            let reason = "the tokens of the model's tokenizer have no bytes of their own: its output can't be constrained here";
            GrammarError::new(reason)
        })
    }
}

fn still_waits(caller: &Caller) -> Result<(), GrammarError> {
    if caller.has_left() { Err(GrammarError::Left) } else { Ok(()) }
}

impl GrammarCompiler {
    fn new(tokenizer: &Arc<Tokenizer>) -> Option<Self> {
        let environment = MaskVocabulary::new(Arc::clone(tokenizer))?.into_environment();
        let factory = grammar_trial::compiler(&environment, &grammar_trial::slices())
            .inspect_err(|error| tracing::error!(%error, "the vocabulary can't be made ready for grammars"))
            .ok()?;
        let pool = MaskPool::new()
            .inspect_err(|error| tracing::error!(%error, "threads for masks don't start"))
            .ok()?;
        Some(Self { factory, pool: Arc::new(pool) })
    }
}
