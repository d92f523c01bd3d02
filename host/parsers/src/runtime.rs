//! One wasmtime engine for the process, set up so that guests are cheap to make and can always be
//! stopped.

use std::num::NonZero;
use std::sync::Arc;

use wasmtime::{Config, Enabled, Engine, PoolingAllocationConfig, RegallocAlgorithm};

use super::cache::CompileCache;
use super::compiled::CompiledComponents;
use super::error::PluginLoadError;
use super::instance_limits::TABLE_ELEMENTS;
use super::sandbox::Sandbox;
use super::source::{PluginSource, TableSource};
use super::ticker::Ticker;
use crate::ParserLimits;

/// Size in bytes of the unmapped guard after a memory's reservation: the bounds check of an access
/// with a smaller constant offset can be shared with its neighbours'.
const GUARD_BYTES: u64 = 64 << 10;

/// Number of pooled instances per core: the one under test, and some to compare it with.
const INSTANCES_PER_CORE: usize = 4;

/// Maximum number of modules of a component: the parser itself, and the adapters that tools put
/// beside it.
const MODULES: u32 = 16;

/// Bytes of an instance's memory, and of its tables, that stay mapped when the instance goes back
/// into the pool.
const KEPT_BYTES: usize = 1 << 20;

/// Loader of parsers. One per process is enough: it owns a compiler's settings and a thread, which
/// plugins keep alive.
pub struct Runtime {
    pub(super) sandbox: Arc<Sandbox>,
    pub(super) cache: Option<CompileCache>,
    pub(super) compiled: CompiledComponents,
    /// Whether components of drafts of the contract are loaded.
    pub(super) drafts: bool,
}

/// How a fault of an instance is noticed: an access beyond its memory, an instruction that traps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traps {
    /// The processor notices, and wasmtime handles the signal (SIGSEGV, SIGILL, SIGFPE). Whoever
    /// replaces this process's handlers afterwards, as Python's `faulthandler` does, ends the
    /// process at the next fault.
    Signals,
    /// Compiled code checks, and handles no signal. A call takes a few percent longer.
    Checks,
}

/// Reason why no parser can run on this machine.
#[derive(Debug, thiserror::Error)]
#[error("parsers can't run here: {0}")]
pub struct RuntimeError(String);

impl Runtime {
    /// Sets up wasmtime, its handlers of this process's signals ([`Traps::Signals`]) and the ticker.
    ///
    /// # Errors
    /// wasmtime doesn't support the processor or the limits, or no thread can be started.
    pub fn new(limits: &ParserLimits) -> Result<Self, RuntimeError> {
        Self::with(&config(limits, Traps::Signals), limits, false)
    }

    /// Sets up a runtime for a process whose signals are somebody else's ([`Traps::Checks`]), such
    /// as one of an interpreter.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn without_signals(limits: &ParserLimits) -> Result<Self, RuntimeError> {
        Self::with(&config(limits, Traps::Checks), limits, false)
    }

    /// Sets up a runtime for tools that make instances by the thousand, a few per core at a time:
    /// their memory is reused and not mapped again. `metered` instances count what they use
    /// ([`contract::StreamParser::usage`]); they are slower, and their components are compiled
    /// separately. `quick` code is compiled in half the time, and is slower.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn pooled(
        limits: &ParserLimits,
        traps: Traps,
        metered: bool,
        quick: bool,
    ) -> Result<Self, RuntimeError> {
        let mut config = config(limits, traps);
        config.allocation_strategy(pool(limits)).consume_fuel(metered);
        if quick {
            // Its frames are larger, so it gets more stack.
            config
                .cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass)
                .max_wasm_stack(2 * limits.stack_bytes);
        }
        Self::with(&config, limits, metered)
    }

    fn with(config: &Config, limits: &ParserLimits, metered: bool) -> Result<Self, RuntimeError> {
        let engine = Engine::new(config).map_err(|error| RuntimeError(error.to_string()))?;
        let ticker = Ticker::start(engine.clone()).map_err(|error| RuntimeError(error.to_string()))?;
        Ok(Self {
            sandbox: Arc::new(Sandbox { engine, ticker, limits: limits.clone(), metered }),
            cache: None,
            compiled: CompiledComponents::default(),
            drafts: false,
        })
    }

    /// Sets the cache for compiled components.
    #[must_use]
    pub fn with_cache(self, cache: Option<CompileCache>) -> Self {
        Self { cache, ..self }
    }

    /// Loads components of drafts of the contract, too, if `drafts` is set.
    #[must_use]
    pub fn with_drafts(self, drafts: bool) -> Self {
        Self { drafts, ..self }
    }

    /// Reads a plugin's file into memory, so that its digest can be checked before anything of it
    /// is used.
    ///
    /// # Errors
    /// The file can't be read, or is too large.
    pub fn read(&self, source: &PluginSource) -> Result<PluginSource, PluginLoadError> {
        let name = source.name().into_owned();
        match source {
            PluginSource::File(_) => match source.read(self.sandbox.limits.file_bytes) {
                Ok(bytes) => Ok(PluginSource::Bytes { name, bytes: bytes.into_owned().into() }),
                Err(problem) => Err(PluginLoadError { plugin: name, problem }),
            },
            PluginSource::Table(table) => {
                let reader = Box::new(self.read(&table.reader)?);
                Ok(PluginSource::Table(TableSource { reader, ..table.clone() }))
            }
            at_hand => Ok(at_hand.clone()),
        }
    }
}

/// Pool of all instances' memory, reserved at once. What an instance wrote is cleared in place.
fn pool(limits: &ParserLimits) -> PoolingAllocationConfig {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let instances = u32::try_from(cores * INSTANCES_PER_CORE).unwrap_or(u32::MAX / MODULES);
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(instances)
        .total_core_instances(instances * MODULES)
        .total_memories(instances * 2)
        .total_tables(instances * MODULES)
        .max_tables_per_module(8)
        .table_elements(TABLE_ELEMENTS)
        .max_memory_size(limits.memory_bytes)
        .linear_memory_keep_resident(KEPT_BYTES)
        .table_keep_resident(KEPT_BYTES)
        .pagemap_scan(Enabled::Auto);
    pool
}

/// Configuration of wasmtime. Memory is reserved at its largest, so that it never moves, and not
/// more, so that ten thousand instances fit into the address space. Instances are allocated on
/// demand: as fast as from a pool, and without a fixed number. Their data (50 KiB where a parser
/// has a grammar) is mapped, not copied: most streams touch little of it. That makes four kernel
/// maps per instance, of which Linux allows 65,530.
fn config(limits: &ParserLimits, traps: Traps) -> Config {
    let mut config = Config::new();
    config
        .concurrency_support(false)
        .epoch_interruption(true)
        .signals_based_traps(traps == Traps::Signals)
        .max_wasm_stack(limits.stack_bytes)
        .memory_reservation(limits.memory_bytes as u64)
        .memory_reservation_for_growth(0)
        .memory_may_move(false)
        .memory_guard_size(GUARD_BYTES)
        .guard_before_linear_memory(false)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_relaxed_simd(false);
    config
}
