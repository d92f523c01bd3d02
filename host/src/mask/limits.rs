//! Bounds of the work that grammars may cause.
//!
//! A grammar comes from a request, so each bound is what somebody may cost others: it is compiled on a thread of the request's own, in
//! milliseconds; a mask is computed beside a step of the engine, usually in 10 to 100 µs, and one that takes longer than the step is
//! waited for by its own answer alone. llguidance's bounds count work, and not time: the worst that was found under them
//! (`tests/tests/grammars/hostile.rs`) took 1.2 s to compile and 0.4 s for a mask. So an answer's masks have a share of CPU time, too.

use std::time::Duration;

use llguidance::api::ParserLimits;

/// Bytes of grammars, with their schemas, whose compiled form is kept.
pub(super) const CACHED_BYTES: u64 = 16 << 20;
/// Grammars that are kept.
pub(super) const CACHED_GRAMMARS: usize = 256;
/// What a small grammar counts, since it takes more than its text.
pub(super) const LEAST_BYTES: u64 = CACHED_BYTES / CACHED_GRAMMARS as u64;
/// Bytes of a grammar: many tools with schemas of the largest size.
pub(super) const GRAMMAR_BYTES: usize = 4 << 20;

/// CPU time of a mask from which on the next one of that answer is computed where it delays no other's.
pub(super) const SLOW_MASK: Duration = Duration::from_millis(5);
/// Tenths of a second after which a mask is given up.
pub(super) const MASK_TICKS: u32 = 30;
/// CPU time of a mask and those along a draft, beyond which the draft ends.
pub(super) const DRAFT_TIME: Duration = Duration::from_millis(1);
/// CPU time of the engine's thread that a grammar may take for one draft; one that takes more is asked for none for a while.
pub(super) const SLOW_CALL: Duration = Duration::from_millis(1);
/// Tokens of that while.
pub(super) const REST_TOKENS: usize = 64;
/// Tokens of an answer whose masks may take their share of time before any has come: some masks are the first of their grammar.
pub(super) const FREE_TOKENS: usize = 200;

/// States of a lexer, of one to two kilobytes each. All answers of one grammar share its lexer.
const STATES: usize = 50_000;
/// States from which on a grammar is compiled anew for answers that begin.
pub(super) const WORN_STATES: usize = STATES / 2;

/// llguidance's own bounds.
pub(super) fn parser_limits() -> ParserLimits {
    ParserLimits { max_lexer_states: STATES, verbose_errors: false, ..ParserLimits::default() }
}
