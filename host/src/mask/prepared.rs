//! What may come from a matcher's place on, computed on a thread of the pool.

use engine::MaskError;
use llguidance::Matcher;
use llguidance::toktrie::SimpleVob;

use super::limits::DRAFT_TIME;
use super::watch::MaskWatch;
use crate::cpu_clock::thread_cpu_time;

/// What may come from the matcher's place on.
#[derive(Default)]
pub(super) struct Prepared {
    /// Tokens that are supposed to come.
    draft: Vec<u32>,
    /// What may come in place of each of them, and behind them, as far as they may come and time allowed.
    pub(super) rows: Vec<SimpleVob>,
    /// Why there isn't even the first.
    pub(super) fault: Option<MaskError>,
}

impl Prepared {
    /// Nothing, for this reason.
    pub(super) fn failed(fault: MaskError) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }

    /// Computes them, with the matcher at its place.
    pub(super) fn compute(matcher: &mut Matcher, path: &[u32], draft: Vec<u32>, watch: &MaskWatch) -> Self {
        let began = thread_cpu_time();
        let watched = matcher.cancellation_handle().map(|cancel| watch.guard(cancel));
        let first = consume(matcher, path).and_then(|()| compute(matcher));
        let mut prepared = Self { draft, ..Self::default() };
        match first {
            Ok(row) => prepared.rows.push(row),
            Err(fault) => prepared.fault = Some(fault),
        }
        drop(watched);
        // A copy walks along the draft: what fails there need never come.
        let mut copy = (!prepared.draft.is_empty() && prepared.fault.is_none()).then(|| matcher.clone());
        let _watched = copy.as_ref().and_then(Matcher::cancellation_handle).map(|cancel| watch.guard(cancel));
        for token in &prepared.draft {
            let (Some(copy), Some(row)) = (&mut copy, prepared.rows.last()) else { break };
            if !row.is_allowed(*token) || thread_cpu_time().saturating_sub(began) > DRAFT_TIME {
                break;
            }
            match consume(copy, &[*token]).and_then(|()| compute(copy)) {
                Ok(row) => prepared.rows.push(row),
                Err(_) => break,
            }
        }
        prepared
    }

    /// Whether these tokens are the beginning of what is supposed to come.
    pub(super) fn covers(&self, path: &[u32]) -> bool {
        self.draft.starts_with(path)
    }

    pub(super) fn row(&self, path: &[u32]) -> Option<&SimpleVob> {
        self.rows.get(path.len()).filter(|_| self.covers(path))
    }
}

pub(super) fn consume(matcher: &mut Matcher, tokens: &[u32]) -> Result<(), MaskError> {
    let taken = matcher.try_consume_tokens(tokens).map_err(failed)?;
    tokens.get(taken).map_or(Ok(()), |token| Err(MaskError::Refused(*token)))
}

pub(super) fn compute(matcher: &mut Matcher) -> Result<SimpleVob, MaskError> {
    matcher.compute_mask_or_eos().map_err(failed)
}

/// llguidance's first line says what failed; what it stopped at is told by how that begins.
pub(super) fn failed(error: impl std::fmt::Display) -> MaskError {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    let bounds = ["parser error: ", "Parser Error: ", "lexer error: "];
    match bounds.iter().find_map(|bound| line.split_once(bound)) {
        Some((_, reached)) => MaskError::TooComplex(reached.to_owned()),
        None => MaskError::Failed(line.to_owned()),
    }
}
