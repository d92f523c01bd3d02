//! The mask of one sequence.

use std::sync::Arc;

use engine::{MaskError, TokenMask};
use llguidance::Matcher;

use super::GrammarError;

/// Where a sequence stands in its grammar.
#[derive(Clone)]
pub struct GrammarMask {
    matcher: Matcher,
    /// Tokens that end the turn: they may come wherever the grammar may end.
    stops: Arc<[u32]>,
    /// What stands for them in the matcher's masks.
    end: u32,
    /// Stops that came. Nothing else may come behind one.
    ended: usize,
}

/// Where sequences begin in a grammar.
pub struct MaskStart(GrammarMask);

impl MaskStart {
    pub(super) fn new(
        mut matcher: Matcher,
        opening: &[(Option<u32>, String)],
        stops: Arc<[u32]>,
        end: u32,
    ) -> Result<Self, GrammarError> {
        let environment =
            matcher.tok_env().map_err(|error| GrammarError::of_llguidance(&error.to_string()))?;
        for (id, text) in opening {
            let ids = id.map_or_else(|| environment.tokenize(text), |id| vec![id]);
            let taken = matcher.try_consume_tokens(&ids);
            if taken.map_err(|error| GrammarError::of_llguidance(&error.to_string()))? < ids.len() {
                let reason = format!(
                    "the model's template opens an answer with {text:?}, which the grammar doesn't know"
                );
                return Err(GrammarError::new(reason));
            }
        }
        Ok(Self(GrammarMask { matcher, stops, end, ended: 0 }))
    }

    /// The mask of one of them.
    pub fn mask(&self) -> GrammarMask {
        self.0.clone()
    }
}

impl GrammarMask {
    fn is_stop(&self, token: u32) -> bool {
        self.stops.contains(&token)
    }
}

impl TokenMask for GrammarMask {
    fn apply(&mut self, mask: &mut [u32]) -> Result<(), MaskError> {
        let allowed = match self.ended {
            0 => self.matcher.compute_mask_or_eos().map_err(failed)?,
            _ => Default::default(),
        };
        let words = allowed.as_slice();
        for (at, word) in mask.iter_mut().enumerate() {
            *word &= words.get(at).copied().unwrap_or(0);
        }
        let may_end = self.ended > 0 || allowed.is_allowed(self.end);
        clear(mask, self.end);
        if may_end {
            self.stops.iter().for_each(|stop| set(mask, *stop));
        }
        Ok(())
    }

    fn advance(&mut self, token: u32) -> Result<(), MaskError> {
        let refused = MaskError::Refused(token);
        if self.is_stop(token) {
            let may_end =
                self.ended > 0 || self.matcher.is_stopped() || self.matcher.is_accepting().map_err(failed)?;
            self.ended += usize::from(may_end);
            return if may_end { Ok(()) } else { Err(refused) };
        }
        if self.ended > 0 || token >= self.end {
            return Err(refused);
        }
        match self.matcher.try_consume_tokens(&[token]).map_err(failed)? {
            0 => Err(refused),
            _ => Ok(()),
        }
    }

    fn validate(&mut self, tokens: &[u32]) -> usize {
        let texts = tokens.iter().position(|token| self.is_stop(*token) || *token >= self.end);
        let tokens = &tokens[..texts.unwrap_or(tokens.len())];
        if self.ended > 0 { 0 } else { self.matcher.validate_tokens(tokens).unwrap_or(0) }
    }

    fn rollback(&mut self, tokens: usize) -> Result<(), MaskError> {
        let stops = tokens.min(self.ended);
        self.ended -= stops;
        self.matcher.rollback(tokens - stops).map_err(failed)
    }

    fn forced(&mut self, out: &mut Vec<u32>, most: usize) {
        if self.ended == 0 {
            out.extend(self.matcher.compute_ff_tokens().into_iter().take(most));
        }
    }
}

fn failed(error: impl std::fmt::Display) -> MaskError {
    MaskError::Failed(error.to_string())
}

fn clear(mask: &mut [u32], id: u32) {
    if let Some(word) = mask.get_mut(id as usize / 32) {
        *word &= !(1 << (id % 32));
    }
}

fn set(mask: &mut [u32], id: u32) {
    if let Some(word) = mask.get_mut(id as usize / 32) {
        *word |= 1 << (id % 32);
    }
}

impl std::fmt::Debug for GrammarMask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GrammarMask")
            .field("stops", &self.stops)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}
