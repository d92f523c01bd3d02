//! Start of the masks of one request: the grammar's state behind the part of the turn that the
//! prompt has written.

use std::sync::Arc;

use engine::MaskError;
use llguidance::Matcher;

use super::parts::GrammarParts;
use super::{GrammarError, GrammarMask};

/// Refusal of a grammar whose first mask was cancelled.
const TOO_LONG: &str = "working out how an answer may begin takes too long";

/// Start of sequences in a grammar, from which each choice of a request gets its mask.
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
        // The first mask is computed here, so that a grammar that can't begin or is too slow is
        // refused before the engine gets the request.
        let mut first = matcher.clone().into_cancellable();
        let watched = first.cancellation_handle().map(|cancel| shared.pool.watch.guard(cancel));
        if let Err(error) = first.compute_mask_or_eos() {
            return Err(if first.is_cancelled() { GrammarError::new(TOO_LONG) } else { said(&error) });
        }
        drop(watched);
        shared.weight.count().map_err(|error| match error {
            MaskError::NoMemory => GrammarError::Busy,
            error => said(&error),
        })?;
        drop(lexer);
        Ok(Self { matcher, stops, shared })
    }

    /// The tokens of a text, which is given as tokens with their literals, and text between them.
    pub fn tokenize(&self, pieces: &[(Option<u32>, String)]) -> Arc<[u32]> {
        let Ok(environment) = self.matcher.tok_env() else { return Arc::default() };
        let ids = |(id, text): &(Option<u32>, String)| match id {
            Some(id) => vec![*id],
            None => environment.tokenize(text),
        };
        pieces.iter().flat_map(ids).collect()
    }

    /// Makes the mask of one sequence.
    pub fn mask(&self) -> GrammarMask {
        let matcher = self.matcher.clone().into_cancellable();
        GrammarMask::new(matcher, Arc::clone(&self.stops), self.shared.clone())
    }
}
