//! Trial of a grammar: it is compiled in a sandbox first, so that the server compiles only grammars
//! that are known to end well.
//!
//! llguidance bounds its work in units of its own. No bound on a grammar's text covers the rest: 60
//! patterns in one intersection, or 24 terminals that each mean the next one twice, take gigabytes,
//! and a chain of rules ends the thread's stack. The module is llguidance itself
//! (`host/grammar-trial`); fuel bounds its time, so a grammar has the same outcome on every machine
//! and under any load.

use wasmtime::{Config, Engine, InstancePre, Linker, Module, ResourceLimiter, Store, Trap, TypedFunc};

use super::GrammarError;
use super::limits::{TRIAL_FUEL, TRIAL_MEMORY, TRIAL_STACK};
use parsers::CompileCache;

const MODULE: &[u8] = include_bytes!("../../../grammar-trial/trial.wasm");
/// Unmapped bytes behind the memory, which replace bounds checks of small offsets.
const GUARD_BYTES: u64 = 64 << 10;

/// Sandbox for trials.
pub(super) struct GrammarTrial {
    module: InstancePre<TrialMemory>,
}

/// Memory of a trial, and its limit.
#[derive(Default)]
struct TrialMemory {
    bytes: usize,
    is_exceeded: bool,
}

impl ResourceLimiter for TrialMemory {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        self.is_exceeded = desired > TRIAL_MEMORY;
        if self.is_exceeded {
            return Err(wasmtime::Error::msg("the trial's memory is used up"));
        }
        self.bytes = desired;
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(true)
    }
}

/// Exports of the module.
struct Trial {
    store: Store<TrialMemory>,
    memory: wasmtime::Memory,
    /// Bytes of the memory before the grammar is compiled.
    prepared: usize,
    room: TypedFunc<u32, u32>,
    compile: TypedFunc<(u32, u32), u32>,
}

impl GrammarTrial {
    /// Compiles the module, which takes seconds, or takes it from the cache.
    ///
    /// # Errors
    /// wasmtime doesn't support the processor.
    pub(super) fn new(cache: Option<&CompileCache>) -> wasmtime::Result<Self> {
        let engine = Engine::new(&config())?;
        let module: Module = CompileCache::code(cache, &engine, MODULE)?;
        Ok(Self { module: Linker::new(&engine).instantiate_pre(&module)? })
    }

    /// Compiles a grammar for a vocabulary of `tokens` tokens. Returns the memory that it took, in
    /// bytes. Needs a thread with a stack beyond [`TRIAL_STACK`].
    ///
    /// # Errors
    /// The grammar can't be followed, or takes too much time, memory or stack.
    pub(super) fn run(&self, grammar: &str, tokens: u32) -> Result<usize, GrammarError> {
        let mut trial = Trial::start(&self.module, tokens).map_err(|error| failed(&error, false))?;
        match trial.compile(grammar) {
            Ok(words) if words.is_empty() => Ok(trial.store.data().bytes - trial.prepared),
            Ok(words) => Err(GrammarError::of_llguidance(&words)),
            Err(error) => Err(failed(&error, trial.store.data().is_exceeded)),
        }
    }
}

impl Trial {
    fn start(module: &InstancePre<TrialMemory>, tokens: u32) -> wasmtime::Result<Self> {
        let mut store = Store::new(module.module().engine(), TrialMemory::default());
        store.limiter(|memory| memory);
        store.set_fuel(TRIAL_FUEL)?;
        let instance = module.instantiate(&mut store)?;
        let memory = instance.get_memory(&mut store, "memory");
        let memory = memory.ok_or_else(|| wasmtime::Error::msg("the module exports no memory"))?;
        instance.get_typed_func::<u32, ()>(&mut store, "prepare")?.call(&mut store, tokens)?;
        let prepared = memory.data_size(&store);
        let room = instance.get_typed_func(&mut store, "room")?;
        let compile = instance.get_typed_func(&mut store, "compile")?;
        Ok(Self { store, memory, prepared, room, compile })
    }

    /// Compiles a grammar. Returns why it can't be followed; nothing if it can.
    fn compile(&mut self, grammar: &str) -> wasmtime::Result<String> {
        let bytes = u32::try_from(grammar.len())?;
        let at = self.room.call(&mut self.store, bytes)?;
        self.memory.write(&mut self.store, at as usize, grammar.as_bytes())?;
        let answer = self.compile.call(&mut self.store, (at, bytes))?;
        let (text, bytes) = (self.word(answer)?, self.word(answer + 4)?);
        let mut words = vec![0; bytes as usize];
        self.memory.read(&self.store, text as usize, &mut words)?;
        Ok(String::from_utf8(words)?)
    }

    fn word(&self, at: u32) -> wasmtime::Result<u32> {
        let mut word = [0; 4];
        self.memory.read(&self.store, at as usize, &mut word)?;
        Ok(u32::from_le_bytes(word))
    }
}

/// Converts the trap that ended a trial.
fn failed(error: &wasmtime::Error, is_memory: bool) -> GrammarError {
    GrammarError::new(match error.downcast_ref::<Trap>() {
        _ if is_memory => format!("compiling it takes more than {} MiB of memory", TRIAL_MEMORY >> 20),
        Some(Trap::OutOfFuel) => "compiling it takes too long".to_owned(),
        // The module's own stack lies below its memory's first byte, so its end is an access out of
        // bounds.
        Some(Trap::StackOverflow | Trap::MemoryOutOfBounds) => {
            "its rules, references or values lead to each other in too long a chain".to_owned()
        }
        _ => {
            tracing::warn!(trap = ?error.downcast_ref::<Trap>(), "the trial of a grammar failed");
            "it can't be compiled".to_owned()
        }
    })
}

fn config() -> Config {
    let mut config = Config::new();
    config
        .concurrency_support(false)
        .consume_fuel(true)
        .max_wasm_stack(TRIAL_STACK)
        .memory_reservation(TRIAL_MEMORY as u64)
        .memory_reservation_for_growth(0)
        .memory_may_move(false)
        .memory_guard_size(GUARD_BYTES)
        .guard_before_linear_memory(false);
    config
}

#[cfg(test)]
mod tests;
