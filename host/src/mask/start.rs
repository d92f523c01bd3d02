//! Where the masks of one request begin: behind what its prompt has written of the turn.

use std::sync::Arc;
use std::time::Duration;

use llguidance::Matcher;

use super::pool::{LexerLock, MaskPool};
use super::{GrammarError, GrammarMask};

/// Why a grammar is refused whose first mask is given up.
const TOO_LONG: &str = "working out how an answer may begin takes too long";

/// What the masks of one grammar share.
#[derive(Clone)]
pub(super) struct GrammarParts {
    pub(super) pool: Arc<MaskPool>,
    pub(super) lexer: LexerLock,
    /// CPU time of a token's mask, on average.
    pub(super) mask_time: Duration,
    /// What stands in the matcher's masks for tokens that end the turn.
    pub(super) end: u32,
}

/// Where sequences begin in a grammar.
pub struct MaskStart {
    matcher: Matcher,
    stops: Arc<[u32]>,
    shared: GrammarParts,
}

impl MaskStart {
    pub(super) fn new(
        mut matcher: Matcher,
        opening: &[(Option<u32>, String)],
        stops: Arc<[u32]>,
        shared: GrammarParts,
    ) -> Result<Self, GrammarError> {
        let lexer = shared.lexer.lock();
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
        let mut first = matcher.clone().into_cancellable();
        let watched = first.cancellation_handle().map(|cancel| shared.pool.watch.guard(cancel));
        if let Err(error) = first.compute_mask_or_eos() {
            return Err(if first.is_cancelled() { GrammarError::new(TOO_LONG) } else { said(&error) });
        }
        drop(watched);
        drop(lexer);
        Ok(Self { matcher, stops, shared })
    }

    /// The mask of one of them.
    pub fn mask(&self) -> GrammarMask {
        let matcher = self.matcher.clone().into_cancellable();
        GrammarMask::new(matcher, Arc::clone(&self.stops), self.shared.clone())
    }
}
