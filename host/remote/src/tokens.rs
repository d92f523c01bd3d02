//! Tokens of an answer's chunks: ids are checked, text is tokenised, and log-probabilities get the
//! form that clients were promised.
//!
//! Invariant: long text is tokenised on a thread of its own, one chunk of an answer at a time, so
//! it delays no other answer.

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

    /// Tokens of the next chunk, and the chunk without its pieces. `next` reads the chunk; it isn't
    /// called while text is tokenised.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        next: impl FnOnce(&mut Context<'_>) -> Poll<Result<Chunk, Broken>>,
    ) -> Poll<Result<(Vec<Token>, Chunk), Broken>> {
        if self.under_way.is_none() {
            let mut chunk = ready!(next(cx))?;
            chunk.prompt_tokens = self.checked(std::mem::take(&mut chunk.prompt_tokens))?;
            let pieces = std::mem::take(&mut chunk.pieces);
            if text_bytes(&pieces) < self.inline_text {
                return Poll::Ready(
                    self.checked(encode(&self.vocabulary, pieces)).map(|tokens| (tokens, chunk)),
                );
            }
            let vocabulary = self.vocabulary.clone();
            self.under_way = Some((spawn_blocking(move || encode(&vocabulary, pieces)), chunk));
        }
        let Some((mut task, chunk)) = self.under_way.take() else { return Poll::Pending };
        let Poll::Ready(tokens) = Pin::new(&mut task).poll(cx) else {
            self.under_way = Some((task, chunk));
            return Poll::Pending;
        };
        let tokens = tokens.map_err(|_| Broken::new("its text can't be tokenised"));
        Poll::Ready(tokens.and_then(|tokens| self.checked(tokens)).map(|tokens| (tokens, chunk)))
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

/// Log-probabilities with at most `count` alternatives, likeliest first. If the engine tells none
/// for a token, its entry says so: it has the lowest value and no alternatives, so that entries and
/// text never come apart.
fn promised(told: Option<Box<Logprobs>>, count: usize, vocabulary: usize) -> Logprobs {
    let Some(told) = told else { return Logprobs { chosen: f32::NEG_INFINITY, top: Vec::new() } };
    let Logprobs { chosen, mut top } = *told;
    top.retain(|(id, _)| (*id as usize) < vocabulary);
    for (_, logprob) in &mut top {
        *logprob = logarithm(*logprob);
    }
    top.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    top.truncate(count);
    Logprobs { chosen: logarithm(chosen), top }
}

/// The logarithm of a probability, whatever number an engine sends.
fn logarithm(told: f32) -> f32 {
    if told.is_nan() { f32::NEG_INFINITY } else { told.min(0.0) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::task::Waker;

    use super::*;
    use crate::wire::Room;
    use prompt::Tokenizer;

    fn converter(top_logprobs: Option<u8>) -> ChunkTokens {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/qwen3-tiny/tokenizer.json");
        let tokenizer = Tokenizer::from_json(&std::fs::read(file).unwrap()).unwrap();
        ChunkTokens::new(Vocabulary::new(Arc::new(tokenizer)), top_logprobs, 100)
    }

    fn chunk(pieces: Vec<Piece>) -> Chunk {
        let mut chunk = Chunk::new(Room { tokens: 9, text: 9 });
        chunk.pieces = pieces;
        chunk
    }

    #[test]
    fn long_text_is_tokenised_on_a_thread_of_its_own() {
        let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
        let text = "Hello there. ".repeat(20);
        let mut tokens = converter(None);
        let expected = tokens.vocabulary.encode(&text);
        runtime.block_on(async {
            // While the only thread for such work is busy, nothing is tokenised.
            let (go_on, wait) = std::sync::mpsc::sync_channel::<()>(1);
            let busy = spawn_blocking(move || wait.recv());
            let mut read = Some(chunk(vec![Piece::Text(text)]));
            let mut next = move |_: &mut Context<'_>| Poll::Ready(Ok(read.take().expect("it is read once")));
            let mut cx = Context::from_waker(Waker::noop());
            assert!(tokens.poll(&mut cx, &mut next).is_pending());
            go_on.send(()).unwrap();
            busy.await.unwrap().unwrap();
            let (given, _) = std::future::poll_fn(|cx| tokens.poll(cx, &mut next)).await.unwrap();
            assert_eq!(given.into_iter().map(|token| token.id).collect::<Vec<_>>(), expected);
            // Short text is tokenised at once.
            let short = |_: &mut Context<'_>| Poll::Ready(Ok(chunk(vec![Piece::Text("Hello".to_owned())])));
            assert!(tokens.poll(&mut cx, short).is_ready());
        });
    }

    #[test]
    fn logprobs_are_as_promised_whatever_the_engine_tells() {
        let logprobs = |chosen, top| Some(Box::new(Logprobs { chosen, top }));
        let token = |logprobs| Piece::Token(Token { id: 7, logprobs });
        let told = vec![
            token(logprobs(0.5, vec![(1, -2.0), (2, -1.0), (3, -3.0), (1 << 30, -0.5), (4, f32::NAN)])),
            token(None),
        ];
        let mut cx = Context::from_waker(Waker::noop());
        let mut given = converter(Some(2));
        let Poll::Ready(Ok((tokens, _))) = given.poll(&mut cx, |_| Poll::Ready(Ok(chunk(told)))) else {
            panic!("ids need no thread")
        };
        let given: Vec<_> =
            tokens.into_iter().map(|token| token.logprobs.map(|all| (all.chosen, all.top))).collect();
        let expected = [(0.0, vec![(2, -1.0), (1, -2.0)]), (f32::NEG_INFINITY, vec![])];
        assert_eq!(given, expected.map(Some));
        // Without a request for them there are none.
        let told = vec![token(logprobs(-0.5, Vec::new()))];
        let Poll::Ready(Ok((tokens, _))) = converter(None).poll(&mut cx, |_| Poll::Ready(Ok(chunk(told))))
        else {
            panic!("ids need no thread")
        };
        assert_eq!(tokens[0].logprobs, None);
    }
}
