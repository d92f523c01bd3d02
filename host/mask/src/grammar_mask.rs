//! The token mask of one sequence.
//!
//! The matcher may lag behind the sequence; `path` has the tokens that it hasn't consumed yet. The
//! masks for the next token and along a draft are computed on a thread of the pool, which owns the
//! matcher meanwhile. Invariants: an engine that calls only for prepared masks never waits for a
//! matcher. Tokens are checked against the mask under which they were drawn, and no draft is
//! validated or forced where the matcher would take long. A call that needs the matcher first waits
//! until it is back, so the matcher's states follow the order of the calls.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use engine::{MaskError, TokenMask};
use llguidance::{CancellationHandle, Matcher};
use tokio::sync::oneshot;

use super::limits::{DRAFT_PAUSE_TOKENS, FREE_TOKENS, SLOW_CALL, SLOW_MASK};
use super::parts::GrammarParts;
use super::prepared::{Prepared, Row, compute, consume, failed};
use super::reasoning::ReasoningBound;
use system::cpu_clock::thread_cpu_time;

/// Token mask of one sequence under its grammar.
pub struct GrammarMask {
    matcher: MatcherPlace,
    /// Cancels the matcher's work when this mask is dropped.
    cancel: Option<CancellationHandle>,
    /// Tokens that came and that the matcher hasn't consumed.
    path: Vec<u32>,
    prepared: Prepared,
    /// Tokens that end the turn. They may come wherever the grammar may end.
    stops: Arc<[u32]>,
    /// Bound on reasoning, if it has one.
    reasoning: Option<ReasoningBound>,
    /// Whether the sequence goes on without the mask if it fails.
    gives_way: bool,
    /// Number of stop tokens that came. Only stop tokens may come behind one.
    ended: usize,
    /// Number of tokens that came, without stop tokens.
    tokens: usize,
    /// CPU time of all masks that threads of the pool computed.
    taken: Duration,
    /// Whether the last mask took longer than [`SLOW_MASK`], as the next one may.
    is_slow: bool,
    /// Value of `tokens` from which on the matcher helps with drafts again.
    no_drafts_until: usize,
    shared: GrammarParts,
}

/// Where the matcher is. It is boxed, since it is large and moves between threads.
enum MatcherPlace {
    Here(Box<Matcher>),
    /// On a thread of the pool.
    Away(oneshot::Receiver<Returned>),
    /// The thread that had the matcher failed.
    Lost,
}

struct Returned {
    matcher: Box<Matcher>,
    prepared: Prepared,
    taken: Duration,
}

impl GrammarMask {
    /// The mask before the first token.
    pub(super) fn new(matcher: Matcher, stops: Arc<[u32]>, shared: GrammarParts) -> Self {
        Self {
            cancel: matcher.cancellation_handle(),
            matcher: MatcherPlace::Here(Box::new(matcher)),
            path: Vec::new(),
            prepared: Prepared::default(),
            stops,
            reasoning: None,
            gives_way: false,
            ended: 0,
            tokens: 0,
            taken: Duration::ZERO,
            is_slow: false,
            no_drafts_until: 0,
            shared,
        }
    }

    /// Ends reasoning with the tokens `end` behind `tokens` tokens of the sequence, or as soon
    /// after them as the grammar allows all of `end`.
    #[must_use]
    pub fn with_reasoning_bound(mut self, end: Arc<[u32]>, tokens: usize) -> Self {
        self.reasoning = Some(ReasoningBound::new(end, tokens));
        self
    }

    /// Lets the sequence go on without the mask if it fails.
    #[must_use]
    pub fn giving_way(mut self) -> Self {
        self.gives_way = true;
        self
    }

    /// The tokens that end reasoning, if they may be due behind the next `more` tokens.
    fn due_end(&self, more: usize) -> Arc<[u32]> {
        let bound = self.reasoning.as_ref().filter(|bound| self.tokens + more >= bound.tokens);
        bound.map(|bound| Arc::clone(&bound.end)).unwrap_or_default()
    }

    /// Takes the matcher and its masks back from the pool, and checks the CPU time; `None`: the
    /// thread failed.
    fn take_back(&mut self, returned: Option<Returned>) {
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

    /// Waits for the matcher while a thread of the pool has it.
    fn fetch(&mut self) {
        if !matches!(self.matcher, MatcherPlace::Away(_)) {
            return;
        }
        if let MatcherPlace::Away(returned) = std::mem::replace(&mut self.matcher, MatcherPlace::Lost) {
            self.take_back(returned.blocking_recv().ok());
        }
    }

    /// Waits for the matcher, advances it by `path`, and returns it.
    fn matcher(&mut self) -> Result<&mut Matcher, MaskError> {
        self.fetch();
        let MatcherPlace::Here(matcher) = &mut self.matcher else { return Err(lost()) };
        if !self.path.is_empty() {
            self.prepared = Prepared::default();
            consume(matcher, &std::mem::take(&mut self.path), &self.shared.weight)?;
        }
        Ok(matcher)
    }

    /// The prepared mask for the next token, if there is one.
    fn row(&self) -> Option<&Row> {
        self.prepared.row(&self.path)
    }

    /// Calls the matcher for a draft. Returns the default where the call might take long, since the
    /// engine waits for it.
    fn with_matcher<T: Default>(&mut self, call: impl FnOnce(&mut Matcher) -> T) -> T {
        // The lexer is locked after that: the thread that has the matcher may be waiting for the
        // lexer.
        self.fetch();
        if self.ended > 0 || self.is_slow || self.tokens < self.no_drafts_until {
            return T::default();
        }
        let lexer = self.shared.lexer.clone();
        let Some(_guard) = lexer.try_lock() else { return T::default() };
        let began = thread_cpu_time();
        let result = self.matcher().map(call).unwrap_or_default();
        if thread_cpu_time().saturating_sub(began) > SLOW_CALL {
            self.no_drafts_until = self.tokens + DRAFT_PAUSE_TOKENS;
        }
        result
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
        let row = match self.row() {
            Some(row) => row,
            // No mask was prepared this far along the draft, so the draft ends here.
            None if !self.path.is_empty() && self.prepared.covers(&self.path) => {
                return Err(MaskError::Failed("no mask was prepared behind the draft".to_owned()));
            }
            None => {
                let end = self.due_end(0);
                computed = compute(self.matcher()?, &end)?;
                &computed
            }
        };
        let allowed = &row.allowed;
        let due = self.reasoning.as_ref().and_then(|bound| bound.due(self.tokens, row));
        if let Some(token) = due {
            mask.fill(0);
            set(mask, token);
            if let Some(bound) = &mut self.reasoning {
                bound.begin(self.tokens);
            }
            return Ok(());
        }
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
            // A grammar may name a stop token itself, which then ends the answer where it stands.
            let may_end = match self.row() {
                _ if ended => true,
                Some(row) => row.allowed.is_allowed(end) || row.allowed.is_allowed(token),
                None => {
                    let matcher = self.matcher()?;
                    matcher.is_stopped()
                        || matcher.is_accepting().map_err(failed)?
                        || matcher.validate_tokens(&[token]).map_err(failed)? == 1
                }
            };
            self.ended += usize::from(may_end);
            return if may_end { Ok(()) } else { refused };
        }
        if ended || token >= end {
            return refused;
        }
        match self.row() {
            Some(row) if !row.allowed.is_allowed(token) => return refused,
            Some(_) => self.path.push(token),
            None => {
                let weight = Arc::clone(&self.shared.weight);
                consume(self.matcher()?, &[token], &weight)?;
                self.prepared = Prepared::default();
            }
        }
        if let Some(bound) = &mut self.reasoning {
            bound.advance(self.tokens, token);
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
            let (shared, end) = (self.shared.clone(), self.due_end(draft.len()));
            self.shared.pool.spawn(self.shared.lexer.clone(), self.is_slow, move |lexer| {
                // The mask was dropped meanwhile: nobody reads the result.
                if back.is_closed() {
                    return;
                }
                let began = thread_cpu_time();
                let prepared = Prepared::compute(&mut matcher, &path, draft, &end, &shared);
                let taken = thread_cpu_time().saturating_sub(began);
                drop(lexer);
                let _ = back.send(Returned { matcher, prepared, taken });
            });
        }
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let MatcherPlace::Away(returned) = &mut self.matcher {
            let returned = ready!(Pin::new(returned).poll(cx)).ok();
            self.take_back(returned);
        }
        Poll::Ready(())
    }

    fn validate(&mut self, tokens: &[u32]) -> usize {
        let end = self.shared.end;
        let texts = tokens.iter().position(|token| self.stops.contains(token) || *token >= end);
        let tokens = &tokens[..texts.unwrap_or(tokens.len())];
        self.with_matcher(|matcher| matcher.validate_tokens(tokens).unwrap_or(0))
    }

    fn rollback(&mut self, tokens: usize) -> Result<(), MaskError> {
        let stops = tokens.min(self.ended);
        self.ended -= stops;
        let rest = tokens - stops;
        self.tokens = self.tokens.saturating_sub(rest);
        if let Some(bound) = &mut self.reasoning {
            bound.rollback(self.tokens);
        }
        if rest <= self.path.len() && !matches!(self.matcher, MatcherPlace::Away(_)) {
            self.path.truncate(self.path.len() - rest);
            return Ok(());
        }
        self.matcher()?.rollback(rest).map_err(failed)?;
        self.prepared = Prepared::default();
        Ok(())
    }

    fn gives_way(&self) -> bool {
        self.gives_way
    }

    fn forced(&mut self, out: &mut Vec<u32>, limit: usize) {
        out.extend(self.with_matcher(Matcher::compute_ff_tokens).into_iter().take(limit));
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
