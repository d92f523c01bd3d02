//! Tokens of an answer's chunks: ids are checked, text is tokenised, and log-probabilities get the form that clients were promised.
//!
//! Invariant: long text is tokenised on a thread of its own, one chunk of an answer at a time, so it delays no other answer.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use engine::{Logprobs, Token};
use tokio::task::{JoinHandle, spawn_blocking};

use super::reading::Broken;
use super::vocabulary::Vocabulary;
use super::wire::{Chunk, Piece};

/// Converter of one answer's chunks.
pub(super) struct ChunkTokens {
    vocabulary: Vocabulary,
    /// Number of alternatives that were asked for; none without log-probabilities.
    top_logprobs: Option<u8>,
    /// Size of text in bytes from which on it is tokenised on a thread of its own.
    inline_text: usize,
    /// Chunk whose text is being tokenised.
    under_way: Option<(JoinHandle<Vec<Token>>, Chunk)>,
}

impl ChunkTokens {
    pub(super) fn new(vocabulary: Vocabulary, top_logprobs: Option<u8>, inline_text: usize) -> Self {
        Self { vocabulary, top_logprobs, inline_text, under_way: None }
    }

    /// Tokens of the next chunk, and the chunk without its pieces. `next` reads the chunk; it isn't called while text is tokenised.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        next: impl FnOnce(&mut Context<'_>) -> Poll<Result<Chunk, Broken>>,
    ) -> Poll<Result<(Vec<Token>, Chunk), Broken>> {
        if self.under_way.is_none() {
            let mut chunk = ready!(next(cx))?;
            let pieces = std::mem::take(&mut chunk.pieces);
            if text_bytes(&pieces) < self.inline_text {
                return Poll::Ready(self.checked(encode(&self.vocabulary, pieces)).map(|tokens| (tokens, chunk)));
            }
            let vocabulary = self.vocabulary.clone();
            self.under_way = Some((spawn_blocking(move || encode(&vocabulary, pieces)), chunk));
        }
        let Some((task, _)) = &mut self.under_way else { return Poll::Pending };
        let tokens = ready!(Pin::new(task).poll(cx)).map_err(|_| Broken::new("its text can't be tokenised"));
        let chunk = self.under_way.take().map(|(_, chunk)| chunk);
        Poll::Ready(tokens.and_then(|tokens| self.checked(tokens)).map(|tokens| (tokens, chunk.expect("it was there"))))
    }

    /// Checks the ids, and makes log-probabilities what clients were promised.
    fn checked(&self, mut tokens: Vec<Token>) -> Result<Vec<Token>, Broken> {
        let size = self.vocabulary.size();
        if tokens.iter().any(|token| token.id as usize >= size) {
            return Err(Broken::new("a token id is not in this model's vocabulary"));
        }
        for token in &mut tokens {
            token.logprobs = match self.top_logprobs {
                None => None,
                Some(count) => Some(Box::new(promised(token.logprobs.take(), count.into(), size))),
            };
        }
        Ok(tokens)
    }
}

fn text_bytes(pieces: &[Piece]) -> usize {
    pieces.iter().map(|piece| if let Piece::Text(text) = piece { text.len() } else { 0 }).sum()
}

/// Tokens of the pieces. Ids of text are this server's, since the engine tells none.
fn encode(vocabulary: &Vocabulary, pieces: Vec<Piece>) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match piece {
            Piece::Token(token) => tokens.push(token),
            Piece::Text(text) => {
                tokens.extend(vocabulary.encode(&text).into_iter().map(|id| Token { id, logprobs: None }));
            }
        }
    }
    tokens
}

/// Log-probabilities with at most `count` alternatives, likeliest first. If the engine tells none for a token, its entry says so: it has the
/// lowest value and no alternatives, so that entries and text never come apart.
fn promised(told: Option<Box<Logprobs>>, count: usize, vocabulary: usize) -> Logprobs {
    let Some(told) = told else { return Logprobs { chosen: f32::NEG_INFINITY, top: Vec::new() } };
    let Logprobs { chosen, mut top } = *told;
    top.retain(|(id, _)| (*id as usize) < vocabulary);
    top.iter_mut().for_each(|(_, logprob)| *logprob = logarithm(*logprob));
    top.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    top.truncate(count);
    Logprobs { chosen: logarithm(chosen), top }
}

/// The logarithm of a probability, whatever number an engine sends.
fn logarithm(told: f32) -> f32 {
    if told.is_nan() { f32::NEG_INFINITY } else { told.min(0.0) }
}
