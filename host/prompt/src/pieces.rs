//! Tokenisation of a long text in pieces: takes the memory of a piece, and can stop early.
//!
//! Invariant: the ids are those of the text as a whole. Neighbouring pieces share some text, and are
//! joined where they have the same tokens all over the middle of it; where they don't, the piece is
//! read again at twice its size. Tokens depend on what is near: with merges, two tokenisations that
//! have one token in common at the same place go on alike, and pre-tokenizers go on from where a match
//! ends. So what the beginning or the end of a piece changes is within the margins. Where the best of
//! all tokenisations is looked for (Unigram), the end of a text may change its beginning: such a text
//! is read at once.
//! Called by `encode_prompt`.

use super::render::RenderError;
use super::tokenizer::TokenizeError;

/// Longest text that is tokenised at once, in bytes.
pub(super) const WHOLE: usize = 128 << 10;
/// Size of a piece of a longer text, in bytes.
const PIECE: usize = 64 << 10;
/// Largest piece, in bytes: of a text without a place where it could be cut.
const MOST_PIECE: usize = 4 << 20;
/// Part of a piece that it shares with the next one, as a divisor.
const SHARED: usize = 4;
/// Part of a piece at either end of the shared text in which tokens may differ, as a divisor.
const MARGIN: usize = 16;
/// Fewest equal tokens by which two pieces are joined.
const LEAST_EQUAL: usize = 4;

/// Token of a text, and its place there in bytes. The tokens of one character have the character's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlacedToken {
    pub(super) id: u32,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Tokenisation of a part of the text.
struct Piece {
    /// Range of the text, in bytes.
    start: usize,
    end: usize,
    /// Tokens, placed in the whole text.
    tokens: Vec<PlacedToken>,
}

/// Text and its tokenizer, which is called for a part of the text that begins at the given byte.
struct Text<'a, T> {
    text: &'a str,
    tokenize: T,
}

/// Hands the tokens of `text` to `take` piece by piece, each time with the byte up to which they go.
/// `tokenize` makes the tokens of a part of the text, which begins at the given byte of it.
/// `can_cut`: tokens depend on what is near.
///
/// # Errors
/// An error of `tokenize` or `take`, or a text without a place where it could be cut.
pub(super) fn in_pieces(
    text: &str,
    can_cut: bool,
    tokenize: impl Fn(&str, usize) -> Result<Vec<PlacedToken>, TokenizeError>,
    mut take: impl FnMut(&[PlacedToken], usize) -> Result<(), RenderError>,
) -> Result<(), RenderError> {
    let text = Text { text, tokenize };
    let whole = text.text.len();
    let mut size = if can_cut && whole > WHOLE { PIECE } else { whole };
    check_size(size)?;
    let (mut piece, mut from) = (text.read(0, size)?, 0);
    while piece.end < whole {
        let joined = match piece.next_start(size, from) {
            Some(start) => {
                let next = text.read(start, size)?;
                piece.join(&next, size / MARGIN).filter(|(end, _)| *end > from).map(|at| (next, at))
            }
            None => None,
        };
        let Some((next, (end, next_from))) = joined else {
            (piece, from) = text.read_larger(&piece, from, &mut size)?;
            continue;
        };
        take(&piece.tokens[from..end], piece.tokens[end].start)?;
        (piece, from, size) = (next, next_from, PIECE);
    }
    take(&piece.tokens[from..], whole)
}

/// Refuses a piece that takes too much memory.
fn check_size(size: usize) -> Result<(), TokenizeError> {
    if size <= MOST_PIECE {
        return Ok(());
    }
    Err(TokenizeError(format!("more than {MOST_PIECE} bytes of it can't be cut into words")))
}

impl<T: Fn(&str, usize) -> Result<Vec<PlacedToken>, TokenizeError>> Text<'_, T> {
    fn read(&self, start: usize, size: usize) -> Result<Piece, TokenizeError> {
        let end = self.text.floor_char_boundary(start.saturating_add(size));
        let mut tokens = (self.tokenize)(&self.text[start..end], start)?;
        for token in &mut tokens {
            token.start += start;
            token.end += start;
        }
        Ok(Piece { start, end, tokens })
    }

    /// Reads `piece` again at twice the size. Returns it with the token of it that stands where its
    /// token `from` stood.
    fn read_larger(
        &self,
        piece: &Piece,
        from: usize,
        size: &mut usize,
    ) -> Result<(Piece, usize), TokenizeError> {
        *size *= 2;
        check_size(*size)?;
        let larger = self.read(piece.start, *size)?;
        let place = piece.tokens.get(from).map_or(piece.start, |token| token.start);
        let from = if from == 0 { 0 } else { larger.first_from(place).unwrap_or(larger.tokens.len()) };
        Ok((larger, from))
    }
}

impl Piece {
    /// First token that begins at `place` or behind it.
    fn first_from(&self, place: usize) -> Option<usize> {
        self.tokens.iter().position(|token| token.start >= place)
    }

    /// Where the next piece begins: at a token behind the one at `from`.
    fn next_start(&self, size: usize, from: usize) -> Option<usize> {
        let at = self.first_from(self.end - size / SHARED)?;
        let start = self.tokens[at].start;
        (at > from && start > self.start && start < self.end).then_some(start)
    }

    /// Token of each of the two from which on `next` may stand in for this piece; `None` if they
    /// differ in the middle of the text that they share.
    fn join(&self, next: &Self, margin: usize) -> Option<(usize, usize)> {
        let range = next.start + margin..self.end - margin;
        let here = self.first_from(range.start)?;
        let there = next.first_from(range.start)?;
        let middle =
            |tokens: &[PlacedToken]| tokens.iter().take_while(|token| token.end <= range.end).count();
        let (a, b) = (middle(&self.tokens[here..]), middle(&next.tokens[there..]));
        let equal = a == b && self.tokens[here..here + a] == next.tokens[there..there + b];
        (a >= LEAST_EQUAL && equal).then_some((here, there))
    }
}
