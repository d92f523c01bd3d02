//! One wasmtime engine for the process, set up so that guests are cheap to make and can always be stopped.
//!
//! Invariant: every store comes from [`Sandbox::store`], so none exists without its bounds.

use std::sync::Arc;

use wasmtime::{Config, Engine, Store};

use super::budget::Budget;
use super::contract::Fault;
use super::error::LoadError;
use super::load;
use super::plugin::Plugin;
use super::source::PluginSource;
use super::ticker::Ticker;
use crate::limits::ParserLimits;

/// Bytes after a memory's reservation that are never mapped: the bounds check of an access with a smaller constant
/// offset can be shared with its neighbours'.
const GUARD_BYTES: u64 = 64 << 10;

/// Loads parsers. One per process is enough: it owns a compiler's settings and a thread, and plugins keep it alive.
pub struct Runtime {
    sandbox: Arc<Sandbox>,
}

/// Why no parser can run on this machine.
#[derive(Debug, thiserror::Error)]
#[error("parsers can't run here: {0}")]
pub struct RuntimeError(String);

impl Runtime {
    /// Sets up wasmtime and the ticker.
    ///
    /// # Errors
    /// The processor or the limits are beyond wasmtime, or no thread can be started.
    pub fn new(limits: &ParserLimits) -> Result<Self, RuntimeError> {
        let engine = Engine::new(&config(limits)).map_err(|error| RuntimeError(error.to_string()))?;
        let ticker = Ticker::start(engine.clone()).map_err(|error| RuntimeError(error.to_string()))?;
        Ok(Self { sandbox: Arc::new(Sandbox { engine, ticker, limits: limits.clone() }) })
    }

    /// Reads, checks and compiles a plugin, and asks it once what it is. `options` are the operator's settings for it.
    /// Takes about 100 ms of CPU: not for the serving path.
    ///
    /// # Errors
    /// The plugin, and what is wrong with it.
    pub fn load(
        &self,
        source: &PluginSource,
        options: &[(String, String)],
    ) -> Result<Arc<Plugin>, LoadError> {
        load::load(&self.sandbox, source, options)
            .map_err(|problem| LoadError { plugin: source.name().into_owned(), problem })
    }
}

/// What an instance is made in.
pub(super) struct Sandbox {
    pub(super) engine: Engine,
    pub(super) ticker: Arc<Ticker>,
    pub(super) limits: ParserLimits,
}

impl Sandbox {
    /// A store for one instance, with every bound set; time for its instantiation has begun.
    pub(super) fn store(&self) -> Store<Budget> {
        let mut store = Store::new(&self.engine, Budget::new(&self.limits, self.ticker.run()));
        store.limiter(|budget| budget);
        store.set_hostcall_fuel(self.limits.hostcall_fuel);
        store.epoch_deadline_callback(|mut store| store.data_mut().epoch());
        store.set_epoch_deadline(1);
        store
    }
}

/// Memory is reserved at its largest, so that it never moves, and not more, so that ten thousand instances fit into the
/// address space. Instances are made on demand: as fast as from a pool, and without a fixed number. A parser has little
/// data: copying it takes less time than mapping it, and two kernel maps per instance instead of four.
fn config(limits: &ParserLimits) -> Config {
    let mut config = Config::new();
    config
        .concurrency_support(false)
        .epoch_interruption(true)
        .max_wasm_stack(limits.stack_bytes)
        .memory_reservation(limits.memory_bytes as u64)
        .memory_reservation_for_growth(0)
        .memory_may_move(false)
        .memory_guard_size(GUARD_BYTES)
        .guard_before_linear_memory(false)
        .memory_init_cow(false)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_relaxed_simd(false);
    config
}

/// The fault of `parser` for `reason`.
pub(super) fn fault(parser: &str, reason: impl Into<String>) -> Fault {
    Fault { parser: parser.to_owned(), reason: reason.into() }
}
