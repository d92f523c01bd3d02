//! The mask of one sequence.
//!
//! Its matcher is at a place that it was told of; `path` are the tokens behind that. What may come along a draft from there is computed on
//! a thread of the pool, which has the matcher meanwhile.
//! Invariants: an engine that asks for what is ready waits for no matcher: tokens are checked against the mask that they were drawn under,
//! and drafts are done without where a matcher would take long; whatever is asked, the matcher is fetched back first, so the order of calls
//! is the order of its states.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use engine::{MaskError, TokenMask};
use llguidance::toktrie::SimpleVob;
use llguidance::{CancellationHandle, Matcher};
use tokio::sync::oneshot;

use super::limits::{FREE_TOKENS, REST_TOKENS, SLOW_CALL, SLOW_MASK};
use super::prepared::{Prepared, compute, consume, failed};
use super::start::GrammarParts;
use crate::cpu_clock::thread_cpu_time;

/// Where a sequence stands in its grammar.
pub struct GrammarMask {
    matcher: MatcherPlace,
    /// Ends the work of a matcher that nobody waits for any more.
    cancel: Option<CancellationHandle>,
    /// Tokens that came, of which the matcher doesn't know.
    path: Vec<u32>,
    prepared: Prepared,
    /// Tokens that end the turn: they may come wherever the grammar may end.
    stops: Arc<[u32]>,
    /// Stops that came. Nothing else may come behind one.
    ended: usize,
    /// Tokens that came.
    tokens: usize,
    /// CPU time of all its masks.
    taken: Duration,
    /// The last mask took long, and so may the next.
    is_slow: bool,
    /// So many tokens have to come before it helps with drafts again.
    rests_until: usize,
    shared: GrammarParts,
}

/// A matcher is large: it stays where it was allocated.
enum MatcherPlace {
    Here(Box<Matcher>),
    /// On a thread of the pool.
    Away(oneshot::Receiver<Returned>),
    /// That thread failed.
    Lost,
}

struct Returned {
    matcher: Box<Matcher>,
    prepared: Prepared,
    taken: Duration,
}

impl GrammarMask {
    /// Where no token has come.
    pub(super) fn new(matcher: Matcher, stops: Arc<[u32]>, shared: GrammarParts) -> Self {
        Self {
            cancel: matcher.cancellation_handle(),
            matcher: MatcherPlace::Here(Box::new(matcher)),
            path: Vec::new(),
            prepared: Prepared::default(),
            stops,
            ended: 0,
            tokens: 0,
            taken: Duration::ZERO,
            is_slow: false,
            rests_until: 0,
            shared,
        }
    }

    /// Takes the matcher back.
    fn arrive(&mut self, returned: Option<Returned>) {
        self.matcher = match returned {
            Some(Returned { matcher, prepared, taken }) => {
                self.path.clear();
                self.prepared = prepared;
                self.taken += taken;
                self.is_slow = taken > SLOW_MASK;
                let tokens = self.tokens;
                let free = u32::try_from(tokens.saturating_add(FREE_TOKENS)).unwrap_or(u32::MAX);
                if matcher.is_cancelled() || self.taken > self.shared.mask_time.saturating_mul(free) {
                    let fault = MaskError::TooSlow { tokens, taken: self.taken };
                    self.prepared = Prepared::failed(fault);
                }
                MatcherPlace::Here(matcher)
            }
            None => MatcherPlace::Lost,
        };
    }

    /// Waits for the matcher, if it is away.
    fn fetch(&mut self) {
        if !matches!(self.matcher, MatcherPlace::Away(_)) {
            return;
        }
        if let MatcherPlace::Away(returned) = std::mem::replace(&mut self.matcher, MatcherPlace::Lost) {
            self.arrive(returned.blocking_recv().ok());
        }
    }

    /// The matcher, once it is back, at the place where the sequence is.
    fn matcher(&mut self) -> Result<&mut Matcher, MaskError> {
        self.fetch();
        let MatcherPlace::Here(matcher) = &mut self.matcher else { return Err(lost()) };
        if !self.path.is_empty() {
            self.prepared = Prepared::default();
            consume(matcher, &std::mem::take(&mut self.path))?;
        }
        Ok(matcher)
    }

    /// What may come now, if it is known.
    fn row(&self) -> Option<&SimpleVob> {
        self.prepared.row(&self.path)
    }

    /// Lets a matcher help with drafts, where that won't take long: the engine waits for it.
    fn help<T: Default>(&mut self, with: impl FnOnce(&mut Matcher) -> T) -> T {
        // The lexer comes second: the matcher may be waiting for it.
        self.fetch();
        if self.ended > 0 || self.is_slow || self.tokens < self.rests_until {
            return T::default();
        }
        let lexer = self.shared.lexer.clone();
        let Some(_guard) = lexer.try_lock() else { return T::default() };
        let began = thread_cpu_time();
        let helped = self.matcher().map(with).unwrap_or_default();
        if thread_cpu_time().saturating_sub(began) > SLOW_CALL {
            self.rests_until = self.tokens + REST_TOKENS;
        }
        helped
    }
}

impl TokenMask for GrammarMask {
    fn apply(&mut self, mask: &mut [u32]) -> Result<(), MaskError> {
        if self.ended > 0 {
            mask.fill(0);
            self.stops.iter().for_each(|stop| set(mask, *stop));
            return Ok(());
        }
        self.fetch();
        if let Some(fault) = &self.prepared.fault {
            return Err(fault.clone());
        }
        let computed;
        let allowed = match self.row() {
            Some(row) => row,
            // So far the draft was too much: it ends here.
            None if !self.path.is_empty() && self.prepared.covers(&self.path) => {
                return Err(MaskError::Failed("no mask was prepared behind the draft".to_owned()));
            }
            None => {
                computed = compute(self.matcher()?)?;
                &computed
            }
        };
        let words = allowed.as_slice();
        for (at, word) in mask.iter_mut().enumerate() {
            *word &= words.get(at).copied().unwrap_or(0);
        }
        let may_end = allowed.is_allowed(self.shared.end);
        clear(mask, self.shared.end);
        if may_end {
            self.stops.iter().for_each(|stop| set(mask, *stop));
        }
        Ok(())
    }

    fn advance(&mut self, token: u32) -> Result<(), MaskError> {
        let refused = Err(MaskError::Refused(token));
        let (ended, end) = (self.ended > 0, self.shared.end);
        if self.stops.contains(&token) {
            let may_end = match self.row() {
                _ if ended => true,
                Some(row) => row.is_allowed(end),
                None => {
                    let matcher = self.matcher()?;
                    matcher.is_stopped() || matcher.is_accepting().map_err(failed)?
                }
            };
            self.ended += usize::from(may_end);
            return if may_end { Ok(()) } else { refused };
        }
        if ended || token >= end {
            return refused;
        }
        match self.row() {
            Some(row) if !row.is_allowed(token) => return refused,
            Some(_) => self.path.push(token),
            None => {
                consume(self.matcher()?, &[token])?;
                self.prepared = Prepared::default();
            }
        }
        self.tokens += 1;
        Ok(())
    }

    fn prepare(&mut self, draft: &[u32]) {
        let is_needed = self.ended == 0 && self.prepared.fault.is_none() && self.row().is_none();
        if !is_needed || !matches!(self.matcher, MatcherPlace::Here(_)) {
            return;
        }
        let (back, returned) = oneshot::channel();
        let place = std::mem::replace(&mut self.matcher, MatcherPlace::Away(returned));
        if let MatcherPlace::Here(mut matcher) = place {
            let (path, draft) = (self.path.clone(), draft.to_vec());
            let watch = Arc::clone(&self.shared.pool.watch);
            self.shared.pool.spawn(self.shared.lexer.clone(), self.is_slow, move |lexer| {
                // Who isn't there any more needs no mask.
                if back.is_closed() {
                    return;
                }
                let began = thread_cpu_time();
                let prepared = Prepared::compute(&mut matcher, &path, draft, &watch);
                let taken = thread_cpu_time().saturating_sub(began);
                drop(lexer);
                let _ = back.send(Returned { matcher, prepared, taken });
            });
        }
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let MatcherPlace::Away(returned) = &mut self.matcher {
            let returned = ready!(Pin::new(returned).poll(cx)).ok();
            self.arrive(returned);
        }
        Poll::Ready(())
    }

    fn validate(&mut self, tokens: &[u32]) -> usize {
        let end = self.shared.end;
        let texts = tokens.iter().position(|token| self.stops.contains(token) || *token >= end);
        let tokens = &tokens[..texts.unwrap_or(tokens.len())];
        self.help(|matcher| matcher.validate_tokens(tokens).unwrap_or(0))
    }

    fn rollback(&mut self, tokens: usize) -> Result<(), MaskError> {
        let stops = tokens.min(self.ended);
        self.ended -= stops;
        let rest = tokens - stops;
        self.tokens = self.tokens.saturating_sub(rest);
        if rest <= self.path.len() && !matches!(self.matcher, MatcherPlace::Away(_)) {
            self.path.truncate(self.path.len() - rest);
            return Ok(());
        }
        self.matcher()?.rollback(rest).map_err(failed)?;
        self.prepared = Prepared::default();
        Ok(())
    }

    fn forced(&mut self, out: &mut Vec<u32>, limit: usize) {
        out.extend(self.help(Matcher::compute_ff_tokens).into_iter().take(limit));
    }
}

impl Drop for GrammarMask {
    fn drop(&mut self) {
        if let Some(cancel) = &self.cancel {
            cancel.cancel();
        }
    }
}

fn lost() -> MaskError {
    MaskError::Failed("the thread that computed it failed".to_owned())
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
