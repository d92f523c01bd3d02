//! Limits of the work that grammars may cause.
//!
//! A grammar comes from a request, so each limit bounds what one client may cost the others. A grammar is compiled on a blocking thread of
//! its request, in milliseconds. A mask is computed beside a step of the engine, usually in 10 to 100 µs; if it takes longer than the step,
//! only its own answer waits. llguidance's limits count work and not time: the worst grammar that was found under them
//! (`tests/tests/grammars/hostile.rs`) took 1.2 s to compile and 0.4 s for a mask. So the CPU time of an answer's masks is limited, too.

use std::time::Duration;

use llguidance::api::ParserLimits;

/// Capacity of the cache of compiled grammars, in bytes of the grammars' sources with their schemas.
pub(super) const CACHED_BYTES: u64 = 16 << 20;
/// Most grammars in the cache.
pub(super) const CACHED_GRAMMARS: usize = 256;
/// Least weight of a grammar in the cache, in bytes: the compiled form of a small grammar takes more than its source.
pub(super) const LEAST_BYTES: u64 = CACHED_BYTES / CACHED_GRAMMARS as u64;
/// Most bytes of a grammar: room for many tools with schemas of the largest size.
pub(super) const GRAMMAR_BYTES: usize = 4 << 20;

/// CPU time of a mask above which the answer's next mask is computed on the thread for slow masks, where it delays no usual one.
pub(super) const SLOW_MASK: Duration = Duration::from_millis(5);
/// Time after which a mask is cancelled, in tenths of a second.
pub(super) const MASK_TICKS: u32 = 30;
/// CPU time of a mask and of those along its draft, after which the rest of the draft gets no masks.
pub(super) const DRAFT_TIME: Duration = Duration::from_millis(1);
/// CPU time of the engine's thread that a grammar may take for one draft. A grammar that takes more gets no drafts for [`DRAFT_PAUSE_TOKENS`].
pub(super) const SLOW_CALL: Duration = Duration::from_millis(1);
/// Number of tokens without drafts after a call above [`SLOW_CALL`].
pub(super) const DRAFT_PAUSE_TOKENS: usize = 64;
/// Number of tokens whose share of CPU time an answer's masks may take in advance, since a grammar's first masks may be slow.
pub(super) const FREE_TOKENS: usize = 200;

/// Most states of a lexer, of one to two kilobytes each. All answers of one grammar share its lexer.
const STATES: usize = 50_000;
/// Number of lexer states above which a grammar is compiled again for new answers.
pub(super) const RECOMPILE_STATES: usize = STATES / 2;

/// Limits that llguidance enforces.
pub(super) fn parser_limits() -> ParserLimits {
    ParserLimits { max_lexer_states: STATES, verbose_errors: false, ..ParserLimits::default() }
}
