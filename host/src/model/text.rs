//! From an engine step's tokens to the pieces that a turn takes: text by token, ids kept beside it.

use std::sync::Arc;

use engine::Token;

use crate::prompt::{Detokenizer, Tokenizer};
use crate::turn::Piece;

/// The text of one stream, step by step. Buffers are reused.
pub(super) struct StreamText {
    tokenizer: Arc<Tokenizer>,
    detokenizer: Detokenizer,
    /// Ids of the parser's markers: the only special tokens whose text is of use.
    markers: Arc<[u32]>,
    text: String,
    /// For each token its id and where its text ends in `text`.
    ends: Vec<(u32, usize)>,
}

impl StreamText {
    pub(super) fn new(tokenizer: Arc<Tokenizer>, markers: Arc<[u32]>, prompt: &[u32]) -> Self {
        let detokenizer = Detokenizer::new(Arc::clone(&tokenizer), prompt);
        Self { tokenizer, detokenizer, markers, text: String::new(), ends: Vec::new() }
    }

    /// The pieces of a step, one per token. A special token that is no marker (BOS, EOS, padding) has no text.
    pub(super) fn pieces(&mut self, tokens: &[Token]) -> Vec<Piece<'_>> {
        self.text.clear();
        self.ends.clear();
        for token in tokens {
            if self.markers.contains(&token.id) || !self.tokenizer.is_special(token.id) {
                self.detokenizer.push(token.id, &mut self.text);
            }
            self.ends.push((token.id, self.text.len()));
        }
        let mut start = 0;
        let piece = |&(id, end): &(u32, usize)| {
            let text = &self.text[start..end];
            start = end;
            Piece { id: Some(id), text }
        };
        self.ends.iter().map(piece).collect()
    }

    /// What is left of a character that was never completed.
    pub(super) fn tail(&mut self) -> Option<Piece<'_>> {
        self.text.clear();
        self.detokenizer.flush(&mut self.text);
        (!self.text.is_empty()).then_some(Piece { id: None, text: &self.text })
    }

    /// The piece of the token that ended the turn.
    pub(super) fn ending(&mut self, id: u32) -> Piece<'_> {
        self.text.clear();
        if self.markers.contains(&id) {
            self.detokenizer.push(id, &mut self.text);
        }
        Piece { id: Some(id), text: &self.text }
    }
}
