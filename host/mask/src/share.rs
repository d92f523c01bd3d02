//! What the grammars of all models of a process share: the trial, slots for compiling, the cache,
//! and the memory of all of them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::{self, available_parallelism};
use std::time::Duration;

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, Equivalent, OptionsBuilder, Weighter};

use super::GrammarError;
use super::compiled::CompiledGrammar;
use super::limits::{CACHED_BYTES, CACHED_GRAMMARS, LEAST_BYTES, MEMORY_WAIT};
use super::memory::{GrammarMemory, HeldMemory};
use super::trial::GrammarTrial;
use accounts::{Principal, TurnSlot, TurnSlots};
use parsers::CompileCache;

/// What the grammars of all models share.
pub struct GrammarShare {
    /// Cache of the trial's machine code.
    code: Option<CompileCache>,
    trial: OnceLock<Option<GrammarTrial>>,
    slots: TurnSlots,
    compiled: Arc<Cache<Key, CompiledGrammar, ByWeight>>,
    memory: Arc<GrammarMemory>,
    models: AtomicUsize,
}

/// Whether a request depends on its grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Without the grammar the request is refused, or its answer ends with an error.
    Demanded,
    /// Without the grammar the answer is free. So it isn't waited for where memory is short, and
    /// its masks give way if they fail.
    Optional,
}

/// Number of a model, since each compiles grammars for its own vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ModelNumber(usize);

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    model: ModelNumber,
    source: Arc<str>,
}

#[derive(Hash)]
struct KeyRef<'a> {
    model: ModelNumber,
    source: &'a str,
}

impl Equivalent<Key> for KeyRef<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.model == key.model && self.source == &*key.source
    }
}

#[derive(Clone)]
struct ByWeight;

impl Weighter<Key, CompiledGrammar> for ByWeight {
    /// What the grammar held when it was compiled: an entry's weight may not change.
    fn weight(&self, _: &Key, grammar: &CompiledGrammar) -> u64 {
        grammar.weight().at_first() as u64
    }
}

impl GrammarShare {
    /// `code` is the cache for the trial's machine code, whose compilation takes seconds.
    pub fn new(code: Option<CompileCache>) -> Self {
        let compiled = Arc::new(cache());
        // The cache's grammars own the memory, so it may not own the cache.
        let cache: Weak<Cache<_, _, _>> = Arc::downgrade(&compiled);
        let relief = move || cache.upgrade().into_iter().for_each(|cache| cache.clear());
        Self {
            code,
            trial: OnceLock::new(),
            slots: TurnSlots::new(available_parallelism().map_or(1, usize::from).div_ceil(2).min(4)),
            compiled,
            memory: Arc::new(GrammarMemory::new(relief)),
            models: AtomicUsize::new(0),
        }
    }

    /// Makes the trial ready on a thread of its own, so that the first grammar doesn't wait for it.
    /// It takes seconds if its machine code isn't cached.
    pub fn prepare(self: &Arc<Self>) {
        let share = Arc::clone(self);
        let thread = thread::Builder::new().name("grammar-trial".to_owned());
        // Without the thread the first grammar makes it ready.
        let _ = thread.spawn(move || share.trial().is_ok());
    }

    /// Bytes that all compiled grammars hold.
    pub(super) fn held_bytes(&self) -> usize {
        self.memory.bytes()
    }

    pub(super) fn new_model(&self) -> ModelNumber {
        ModelNumber(self.models.fetch_add(1, Ordering::Relaxed))
    }

    /// The sandbox for trials.
    pub(super) fn trial(&self) -> Result<&GrammarTrial, GrammarError> {
        let new = || {
            GrammarTrial::new(self.code.as_ref())
                .inspect_err(
                    |error| tracing::error!(%error, "grammars can't be tried: answers can't be constrained"),
                )
                .ok()
        };
        let trial = self.trial.get_or_init(new);
        trial.as_ref().ok_or_else(|| GrammarError::new("this server can't compile grammars"))
    }

    /// Waits for a slot to compile a grammar in: few are compiled at a time, since each may take a
    /// core and much memory. Blocks.
    pub(super) fn take_slot(&self, principal: &Principal) -> Option<TurnSlot> {
        self.slots.ask(principal).blocking_recv().ok()
    }

    /// Takes a compiled grammar from the cache, or compiles it with `compile`. Callers that ask for
    /// the same one meanwhile wait for it.
    pub(super) fn compiled(
        &self,
        model: ModelNumber,
        source: &str,
        compile: impl FnOnce() -> Result<CompiledGrammar, GrammarError>,
    ) -> Result<CompiledGrammar, GrammarError> {
        let key = KeyRef { model, source };
        match self.compiled.get(&key) {
            Some(compiled) if compiled.weight().needs_recompile() => drop(self.compiled.remove(&key)),
            Some(compiled) => return Ok(compiled),
            None => {}
        }
        self.compiled.get_or_insert_with(&Key { model, source: Arc::from(source) }, compile)
    }

    #[cfg(test)]
    pub(super) fn is_cached(&self, model: ModelNumber, source: &str) -> bool {
        self.compiled.get(&KeyRef { model, source }).is_some()
    }

    /// Drops a compiled grammar from the cache; answers that use it keep it.
    pub(super) fn forget(&self, model: ModelNumber, source: &str) {
        drop(self.compiled.remove(&KeyRef { model, source }));
    }

    /// Adds a grammar of `principal` that needs this much memory; waits for it for a while if the
    /// request depends on it.
    pub(super) fn hold(
        &self,
        principal: &Principal,
        needed: usize,
        need: Need,
    ) -> Result<HeldMemory, GrammarError> {
        let wait = match need {
            Need::Demanded => MEMORY_WAIT,
            Need::Optional => Duration::ZERO,
        };
        self.memory.hold(principal, needed.max(LEAST_BYTES), wait).ok_or(GrammarError::Busy)
    }
}

/// An empty cache. It has one part, since a grammar may be as large as most of it.
fn cache() -> Cache<Key, CompiledGrammar, ByWeight> {
    let mut options = OptionsBuilder::new();
    options.estimated_items_capacity(CACHED_GRAMMARS).weight_capacity(CACHED_BYTES).shards(1);
    let options = options.build().expect("both capacities are set");
    Cache::with_options(options, ByWeight, DefaultHashBuilder::default(), DefaultLifecycle::default())
}
