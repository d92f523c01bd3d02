//! Masks for the next token and along a draft, computed on a thread of the pool.

use engine::MaskError;
use grammar_trial::LEXER_STATES;
use llguidance::Matcher;
use llguidance::toktrie::SimpleVob;

use super::error::{NO_TOKEN, PANIC};
use super::limits::DRAFT_TIME;
use super::parts::GrammarParts;
use super::weight::GrammarWeight;
use system::cpu_clock::thread_cpu_time;

/// Tokens that may come at one place.
pub(super) struct Row {
    pub(super) allowed: SimpleVob,
    /// Whether the text that ends reasoning may come there.
    pub(super) ends_reasoning: bool,
}

/// Prepared masks for the next token and along a draft.
#[derive(Default)]
pub(super) struct Prepared {
    /// Draft along which the masks were computed.
    draft: Vec<u32>,
    /// Mask in place of each token of the draft, and one behind them. Fewer where the grammar
    /// refuses a token or time ran out.
    pub(super) rows: Vec<Row>,
    /// Why even the first mask is missing.
    pub(super) fault: Option<MaskError>,
}

impl Prepared {
    /// Result without masks, for this reason.
    pub(super) fn failed(fault: MaskError) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }

    /// Advances the matcher by `path` and computes the masks from there on; the matcher stays
    /// behind `path`. `reasoning_end` are the tokens that end reasoning, or none if reasoning may
    /// go on.
    pub(super) fn compute(
        matcher: &mut Matcher,
        path: &[u32],
        draft: Vec<u32>,
        reasoning_end: &[u32],
        shared: &GrammarParts,
    ) -> Self {
        let (watch, weight) = (&shared.pool.watch, &shared.weight);
        let began = thread_cpu_time();
        let watched = matcher.cancellation_handle().map(|cancel| watch.guard(cancel));
        let first = consume(matcher, path, weight).and_then(|()| compute(matcher, reasoning_end));
        let mut prepared = Self { draft, ..Self::default() };
        match first {
            Ok(row) => prepared.rows.push(row),
            Err(fault) => prepared.fault = Some(fault),
        }
        drop(watched);
        if let Err(fault) = weight.count() {
            return Self::failed(prepared.fault.unwrap_or(fault));
        }
        // A copy of the matcher walks along the draft: a failure there may concern tokens that
        // never come.
        let mut copy = (!prepared.draft.is_empty() && prepared.fault.is_none()).then(|| matcher.clone());
        let _watched = copy.as_ref().and_then(Matcher::cancellation_handle).map(|cancel| watch.guard(cancel));
        for token in &prepared.draft {
            let (Some(copy), Some(row)) = (&mut copy, prepared.rows.last()) else { break };
            if !row.allowed.is_allowed(*token) || thread_cpu_time().saturating_sub(began) > DRAFT_TIME {
                break;
            }
            match consume(copy, &[*token], weight).and_then(|()| compute(copy, reasoning_end)) {
                Ok(row) => prepared.rows.push(row),
                Err(_) => break,
            }
        }
        prepared
    }

    /// Whether `path` is a prefix of the draft.
    pub(super) fn covers(&self, path: &[u32]) -> bool {
        self.draft.starts_with(path)
    }

    pub(super) fn row(&self, path: &[u32]) -> Option<&Row> {
        self.rows.get(path.len()).filter(|_| self.covers(path))
    }
}

/// Advances the matcher. llguidance also refuses tokens when the lexer has too many states.
pub(super) fn consume(
    matcher: &mut Matcher,
    tokens: &[u32],
    weight: &GrammarWeight,
) -> Result<(), MaskError> {
    let consumed = matcher.try_consume_tokens(tokens).map_err(failed)?;
    match tokens.get(consumed) {
        None => Ok(()),
        Some(_) if weight.is_exhausted() => {
            Err(MaskError::TooComplex(format!("too many states: {LEXER_STATES}")))
        }
        Some(token) => Err(MaskError::Refused(*token)),
    }
}

/// Computes what may come next. `reasoning_end` are the tokens that end reasoning, or none if it
/// doesn't matter whether they may come.
pub(super) fn compute(matcher: &mut Matcher, reasoning_end: &[u32]) -> Result<Row, MaskError> {
    let allowed = matcher.compute_mask_or_eos().map_err(failed)?;
    let begins = reasoning_end.first().is_some_and(|first| allowed.is_allowed(*first));
    let ends_reasoning = begins
        && (reasoning_end.len() == 1
            || matcher.validate_tokens(reasoning_end).map_err(failed)? == reasoning_end.len());
    Ok(Row { allowed, ends_reasoning })
}

/// Converts llguidance's error. Its first line says what failed; certain words in it mark a limit
/// that was reached.
pub(super) fn failed(error: impl std::fmt::Display) -> MaskError {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    if line.starts_with(NO_TOKEN) {
        return MaskError::Unsatisfiable;
    }
    if let Some(panic) = line.strip_prefix(PANIC) {
        return MaskError::Panicked(panic.to_owned());
    }
    let bounds = ["parser error: ", "Parser Error: ", "lexer error: "];
    match bounds.iter().find_map(|bound| line.split_once(bound)) {
        Some((_, reached)) => MaskError::TooComplex(reached.to_owned()),
        None => MaskError::Failed(line.to_owned()),
    }
}
