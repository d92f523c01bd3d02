//! The mask of one sequence.
//!
//! Invariant: whatever is asked of it, the matcher is fetched back first, so the order of calls is the order of its states.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use engine::{MaskError, TokenMask};
use llguidance::Matcher;
use llguidance::toktrie::SimpleVob;
use rayon::ThreadPool;

use super::GrammarError;

/// Where sequences begin in a grammar.
pub struct MaskStart {
    matcher: Matcher,
    stops: Arc<[u32]>,
    end: u32,
    pool: Arc<ThreadPool>,
}

/// Where a sequence stands in its grammar.
pub struct GrammarMask {
    matcher: MatcherPlace,
    /// The tokens that may come now, where they are known.
    allowed: Option<Result<SimpleVob, MaskError>>,
    /// Tokens that end the turn: they may come wherever the grammar may end.
    stops: Arc<[u32]>,
    /// What stands for them in the matcher's masks.
    end: u32,
    /// Stops that came. Nothing else may come behind one.
    ended: usize,
    pool: Arc<ThreadPool>,
}

/// A matcher is large: it stays where it was allocated.
enum MatcherPlace {
    Here(Box<Matcher>),
    /// On a thread of the pool, which computes the next mask.
    Away(Receiver<(Box<Matcher>, Result<SimpleVob, MaskError>)>),
    /// That thread failed.
    Lost,
}

impl MaskStart {
    pub(super) fn new(
        mut matcher: Matcher,
        opening: &[(Option<u32>, String)],
        stops: Arc<[u32]>,
        end: u32,
        pool: Arc<ThreadPool>,
    ) -> Result<Self, GrammarError> {
        let said = |error: &dyn std::fmt::Display| GrammarError::of_llguidance(&error.to_string());
        let environment = matcher.tok_env().map_err(|error| said(&error))?;
        for (id, text) in opening {
            let ids = id.map_or_else(|| environment.tokenize(text), |id| vec![id]);
            if matcher.try_consume_tokens(&ids).map_err(|error| said(&error))? < ids.len() {
                return Err(GrammarError::new(format!(
                    "the model's template opens an answer with {text:?}, which the grammar doesn't know"
                )));
            }
        }
        // What can't begin, or is too much at once, is known before the engine is asked.
        matcher.clone().compute_mask_or_eos().map_err(|error| said(&error))?;
        Ok(Self { matcher, stops, end, pool })
    }

    /// The mask of one of them.
    pub fn mask(&self) -> GrammarMask {
        GrammarMask {
            matcher: MatcherPlace::Here(Box::new(self.matcher.clone())),
            allowed: None,
            stops: Arc::clone(&self.stops),
            end: self.end,
            ended: 0,
            pool: Arc::clone(&self.pool),
        }
    }
}

impl GrammarMask {
    fn is_stop(&self, token: u32) -> bool {
        self.stops.contains(&token)
    }

    /// The matcher, once it is back.
    fn matcher(&mut self) -> Result<&mut Matcher, MaskError> {
        if let MatcherPlace::Away(returned) = &self.matcher {
            self.matcher = match returned.recv() {
                Ok((matcher, allowed)) => {
                    self.allowed = Some(allowed);
                    MatcherPlace::Here(matcher)
                }
                Err(_) => MatcherPlace::Lost,
            };
        }
        match &mut self.matcher {
            MatcherPlace::Here(matcher) => Ok(matcher),
            _ => Err(MaskError::Failed("the thread that computed it failed".to_owned())),
        }
    }

    fn allowed(&mut self) -> Result<SimpleVob, MaskError> {
        if self.ended > 0 {
            return Ok(SimpleVob::default());
        }
        self.matcher()?;
        match self.allowed.take() {
            Some(allowed) => allowed,
            None => compute(self.matcher()?),
        }
    }
}

fn compute(matcher: &mut Matcher) -> Result<SimpleVob, MaskError> {
    matcher.compute_mask_or_eos().map_err(failed)
}

impl TokenMask for GrammarMask {
    fn apply(&mut self, mask: &mut [u32]) -> Result<(), MaskError> {
        let allowed = self.allowed()?;
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
        let (refused, is_stop, end, ended) =
            (MaskError::Refused(token), self.is_stop(token), self.end, self.ended);
        let matcher = self.matcher()?;
        if is_stop {
            let may_end = ended > 0 || matcher.is_stopped() || matcher.is_accepting().map_err(failed)?;
            self.ended += usize::from(may_end);
            return if may_end { Ok(()) } else { Err(refused) };
        }
        if ended > 0 || token >= end || matcher.try_consume_tokens(&[token]).map_err(failed)? == 0 {
            return Err(refused);
        }
        self.allowed = None;
        Ok(())
    }

    fn prepare(&mut self) {
        let is_needed = self.ended == 0 && self.allowed.is_none();
        if !is_needed || !matches!(self.matcher, MatcherPlace::Here(_)) {
            return;
        }
        let (back, returned) = sync_channel(1);
        if let MatcherPlace::Here(mut matcher) =
            std::mem::replace(&mut self.matcher, MatcherPlace::Away(returned))
        {
            self.pool.spawn(move || {
                let allowed = compute(&mut matcher);
                // Who isn't there any more needs no mask.
                let _ = back.send((matcher, allowed));
            });
        }
    }

    fn validate(&mut self, tokens: &[u32]) -> usize {
        let texts = tokens.iter().position(|token| self.is_stop(*token) || *token >= self.end);
        let tokens = &tokens[..texts.unwrap_or(tokens.len())];
        let ended = self.ended > 0;
        self.matcher()
            .map_or(0, |matcher| if ended { 0 } else { matcher.validate_tokens(tokens).unwrap_or(0) })
    }

    fn rollback(&mut self, tokens: usize) -> Result<(), MaskError> {
        let stops = tokens.min(self.ended);
        self.ended -= stops;
        self.matcher()?.rollback(tokens - stops).map_err(failed)?;
        self.allowed = None;
        Ok(())
    }

    fn forced(&mut self, out: &mut Vec<u32>, most: usize) {
        if self.ended == 0
            && let Ok(matcher) = self.matcher()
        {
            out.extend(matcher.compute_ff_tokens().into_iter().take(most));
        }
    }
}

/// llguidance's first line says what failed.
fn failed(error: impl std::fmt::Display) -> MaskError {
    MaskError::Failed(error.to_string().lines().next().unwrap_or_default().to_owned())
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
