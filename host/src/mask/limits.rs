//! Bounds of the work that grammars may cause.
//!
//! A grammar comes from a request, so each bound is what somebody may cost others: it is compiled on a thread of the request's own, in
//! milliseconds; a mask is computed beside a step of the engine, which waits for it, usually in 10 to 100 µs. These bounds count work, and
//! not time: the worst that was found under them (`tests/tests/grammars/hostile.rs`) took 1.2 s to compile and 0.4 s for a mask.

use llguidance::api::ParserLimits;

/// Bytes of grammars, with their schemas, whose compiled form is kept.
pub(super) const CACHED_BYTES: u64 = 16 << 20;
/// Grammars that are kept.
pub(super) const CACHED_GRAMMARS: usize = 256;
/// What a small grammar counts, since it takes more than its text.
pub(super) const LEAST_BYTES: u64 = CACHED_BYTES / CACHED_GRAMMARS as u64;
/// Bytes of a grammar: many tools with schemas of the largest size.
pub(super) const GRAMMAR_BYTES: usize = 4 << 20;

/// States of a lexer, of one to two kilobytes each. All answers of one grammar share its lexer.
const STATES: usize = 50_000;
/// States from which on a grammar is compiled anew for answers that begin.
pub(super) const WORN_STATES: usize = STATES / 2;

/// llguidance's own bounds.
pub(super) fn parser_limits() -> ParserLimits {
    ParserLimits { max_lexer_states: STATES, verbose_errors: false, ..ParserLimits::default() }
}
