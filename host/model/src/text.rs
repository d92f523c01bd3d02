//! Converts an engine step's tokens to the pieces that a turn takes: the text of each token, with
//! its id.

use std::sync::Arc;

use engine::{Logprobs, Token};

use super::echo::{Echo, EchoedToken, PendingEcho};
use prompt::{Detokenizer, Tokenizer};
use turn::{TokenLogprob, TokenLogprobs, TokenText};

/// Converter of one stream's tokens to text. Buffers are reused from step to step.
pub(super) struct StreamText {
    tokenizer: Arc<Tokenizer>,
    detokenizer: Detokenizer,
    /// Ids of the parser's markers, the only special tokens whose text is kept.
    markers: Arc<[u32]>,
    text: String,
    /// For each token its id, the offset in `text` where its text ends, and its log-probabilities
    /// if they were asked for.
    ends: Vec<(u32, usize, Option<Arc<TokenLogprobs>>)>,
}

impl StreamText {
    pub(super) fn new(tokenizer: Arc<Tokenizer>, markers: Arc<[u32]>, prompt: &[u32]) -> Self {
        let detokenizer = Detokenizer::new(Arc::clone(&tokenizer), prompt);
        Self { tokenizer, detokenizer, markers, text: String::new(), ends: Vec::new() }
    }

    /// Returns the pieces of a step, one per token. A special token that is no marker (BOS, EOS,
    /// padding) has empty text.
    pub(super) fn pieces(&mut self, tokens: &[Token]) -> Vec<TokenText<'_>> {
        self.text.clear();
        self.ends.clear();
        for token in tokens {
            if self.markers.contains(&token.id) || !self.tokenizer.is_special(token.id) {
                self.detokenizer.push(token.id, &mut self.text);
            }
            let logprobs = token.logprobs.as_ref().map(|given| Arc::new(self.logprobs(token.id, given)));
            self.ends.push((token.id, self.text.len(), logprobs));
        }
        let mut start = 0;
        let pieces = self.ends.iter().map(|(id, end, logprobs)| {
            let text = &self.text[start..*end];
            start = *end;
            TokenText { logprobs: logprobs.as_ref(), ..TokenText::new(Some(*id), text) }
        });
        pieces.collect()
    }

    /// Whether the tokens so far end with a whole character.
    pub(super) fn is_whole(&self) -> bool {
        self.detokenizer.is_whole()
    }

    /// The tokenizer.
    pub(super) fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// Text of these tokens alone, special ones included.
    pub(super) fn of(&self, ids: &[u32]) -> String {
        let (mut detokenizer, mut text) = (Detokenizer::new(Arc::clone(&self.tokenizer), &[]), String::new());
        for id in ids {
            detokenizer.push(*id, &mut text);
        }
        detokenizer.flush(&mut text);
        text
    }

    pub(super) fn logprobs(&self, id: u32, given: &Logprobs) -> TokenLogprobs {
        let spelt = |id, logprob| TokenLogprob { id, bytes: self.tokenizer.token(id), logprob };
        TokenLogprobs {
            chosen: spelt(id, given.chosen),
            top: given.top.iter().map(|(id, logprob)| spelt(*id, *logprob)).collect(),
        }
    }

    /// Lists a prompt's tokens with what the engine told of those behind the first, and with their
    /// places in the text that is shown.
    pub(super) fn echo(&self, pending: PendingEcho, told: Vec<Token>) -> Echo {
        let (mut decoded, mut starts) = (String::new(), Vec::with_capacity(pending.ids.len()));
        let mut detokenizer = Detokenizer::new(Arc::clone(&self.tokenizer), &[]);
        for id in &pending.ids {
            starts.push(decoded.len());
            detokenizer.push(*id, &mut decoded);
        }
        detokenizer.flush(&mut decoded);
        // Tokens that the tokenizer added in front, such as BOS, are no part of the client's text.
        let added = if decoded.ends_with(&pending.text) { decoded.len() - pending.text.len() } else { 0 };
        let token = |((id, told), start): ((u32, Option<Token>), usize)| EchoedToken {
            offset: pending.text.floor_char_boundary(start.saturating_sub(added)),
            id,
            bytes: self.tokenizer.token(id),
            logprobs: told.and_then(|token| Some(self.logprobs(id, &*token.logprobs?))),
        };
        let tokens = pending.scored(told).zip(starts).map(token).collect();
        Echo { tokens, text: pending.text }
    }

    /// Returns the rest of a character that was never completed, if there is one.
    pub(super) fn tail(&mut self) -> Option<TokenText<'_>> {
        self.text.clear();
        self.detokenizer.flush(&mut self.text);
        (!self.text.is_empty()).then_some(TokenText::new(None, &self.text))
    }

    /// Returns the piece of the token that ended the turn. Its text is empty unless it is a marker.
    pub(super) fn ending(&mut self, id: u32) -> TokenText<'_> {
        self.text.clear();
        if self.markers.contains(&id) {
            self.detokenizer.push(id, &mut self.text);
        }
        TokenText::new(Some(id), &self.text)
    }
}
