//! Limits of the work that grammars may cause.
//!
//! A grammar comes from a request, so each limit bounds what one client may cost the others. A
//! grammar is compiled twice, first in a sandbox with limits of time, memory and stack
//! (`trial.rs`), then by the server. A mask is computed beside a step of the engine, usually in 10
//! to 100 µs; if it takes longer than the step, only its own answer waits. llguidance's limits
//! count work and not time: the worst mask that was found under them
//! (`tests/tests/grammars/hostile.rs`) took 0.4 s. So the CPU time of an answer's masks is limited,
//! too.

use std::time::Duration;

use grammar_trial::LEXER_STATES;

/// Fuel of a trial: instructions, of which a core executes about ten in a nanosecond.
pub(super) const TRIAL_FUEL: u64 = 3_000_000_000;
/// Most memory of a trial, in bytes. The server's own compilation takes about as much.
pub(super) const TRIAL_MEMORY: usize = 48 << 20;
/// Most stack of a trial, in bytes. The module has 1 MiB in its memory besides.
pub(super) const TRIAL_STACK: usize = 2 << 20;
/// Stack of the threads that compile grammars, in bytes: several times what a trial may use, since
/// the server's frames differ.
pub(super) const COMPILE_STACK: usize = 16 << 20;

/// Most memory that one grammar may hold, in bytes, with the states of its lexer, as it is counted
/// (`weight.rs`).
pub(super) const GRAMMAR_MEMORY: usize = 48 << 20;
/// Most memory that all grammars of the process may hold, in bytes, counted likewise.
pub(super) const ALL_GRAMMARS_BYTES: usize = 192 << 20;
/// The part of it that is given to new grammars, in bytes. The rest is for those in use, which
/// grow.
pub(super) const NEW_GRAMMARS_BYTES: usize = 96 << 20;
/// Time that a new grammar waits for memory, before its request is refused.
pub(super) const MEMORY_WAIT: Duration = Duration::from_secs(10);
/// Capacity of the cache of compiled grammars, in bytes that they hold.
pub(super) const CACHED_BYTES: u64 = 64 << 20;
/// Most grammars in the cache.
pub(super) const CACHED_GRAMMARS: usize = 256;
/// Least memory that a grammar is taken to hold, in bytes.
pub(super) const LEAST_BYTES: usize = 64 << 10;

/// CPU time of a mask above which the answer's next mask is computed on the thread for slow masks,
/// where it delays no usual one.
pub(super) const SLOW_MASK: Duration = Duration::from_millis(5);
/// Time after which a mask is cancelled, in tenths of a second.
pub(super) const MASK_TICKS: u32 = 30;
/// CPU time of a mask and of those along its draft, after which the rest of the draft gets no
/// masks.
pub(super) const DRAFT_TIME: Duration = Duration::from_millis(1);
/// CPU time of the engine's thread that a grammar may take for one draft. A grammar that takes more
/// gets no drafts for [`DRAFT_PAUSE_TOKENS`].
pub(super) const SLOW_CALL: Duration = Duration::from_millis(1);
/// Number of tokens without drafts after a call above [`SLOW_CALL`].
pub(super) const DRAFT_PAUSE_TOKENS: usize = 64;
/// Number of tokens whose share of CPU time an answer's masks may take in advance, since a
/// grammar's first masks may be slow.
pub(super) const FREE_TOKENS: usize = 100;

/// Number of lexer states above which a grammar is compiled again for new answers.
pub(super) const RECOMPILE_STATES: usize = LEXER_STATES / 2;
