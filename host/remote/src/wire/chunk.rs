//! Contents of an answer's events, bounded by what the answer may still have.
//!
//! Invariants: nothing is added beyond the answer's room, whatever the engine sends, and nothing
//! behind the answer's end except counts. Each protocol's reader fills a chunk, `reading` takes its
//! contents.

use engine::{Logprobs, Token};

use super::WireFault;

/// Contents of one or more events.
#[derive(Debug, PartialEq)]
pub(crate) struct Chunk {
    /// Generated tokens in order, including the stop token if the engine sends it.
    pub(crate) pieces: Vec<Piece>,
    /// Tokens of the prompt behind its first, with log-probabilities, if they were asked for.
    pub(crate) prompt_tokens: Vec<Token>,
    /// How the answer ended, if it has.
    pub(crate) end: Option<WireEnd>,
    /// Number of prompt tokens that the engine had cached.
    pub(crate) cached: Option<usize>,
    /// Number of tokens of the whole answer as the engine counts them.
    pub(crate) generated: Option<usize>,
    /// Whether the last event that is read has come.
    pub(crate) is_over: bool,
    /// Whether the engine sent more than the answer may have.
    pub(crate) is_too_long: bool,
    /// What the answer's tokens are read from.
    pub(crate) source: TokenSource,
    room: Room,
}

/// What an answer's tokens are read from: the first of both that the engine sends. It may send the
/// same tokens once more in the other form, as gateways do that send text first and all ids at the
/// end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum TokenSource {
    /// Nothing yet.
    #[default]
    Unknown,
    Ids,
    Text,
}

/// What an answer may still have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    /// Number of token ids.
    pub(crate) tokens: usize,
    /// Bytes of text that stands for tokens.
    pub(crate) text: usize,
}

/// A generated token, or text that stands for tokens.
#[derive(Debug, PartialEq)]
pub(crate) enum Piece {
    Token(Token),
    /// Text of tokens whose ids the engine doesn't tell.
    Text(String),
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WireEnd {
    /// The model stopped; with the stop token's id, if the engine sends it.
    Stop(Option<u32>),
    /// The limit of tokens was reached.
    Length,
    /// The engine aborted the answer, for this reason.
    Aborted(&'static str),
}

impl Chunk {
    pub(crate) fn new(room: Room) -> Self {
        let (pieces, end, cached, generated) = (Vec::new(), None, None, None);
        let source = TokenSource::default();
        let prompt_tokens = Vec::new();
        Self {
            pieces,
            prompt_tokens,
            end,
            cached,
            generated,
            is_over: false,
            is_too_long: false,
            source,
            room,
        }
    }

    /// Takes the contents. The chunk is as good as new, with the room that is left.
    pub(crate) fn take(&mut self) -> Self {
        let rest = Self { is_over: self.is_over, source: self.source, ..Self::new(self.room) };
        std::mem::replace(self, rest)
    }

    /// Adds an event's tokens: by `ids` or by `text`, whichever the answer began with. With `ids`,
    /// the text of an event says nothing.
    ///
    /// # Errors
    /// The ids of an answer that began with them are missing beside text: they may be lost, or have
    /// come before.
    pub(super) fn push(
        &mut self,
        ids: Option<&[u32]>,
        text: &str,
        logprobs: impl Iterator<Item = Option<Box<Logprobs>>>,
    ) -> Result<(), WireFault> {
        if self.source == TokenSource::Unknown {
            self.source = match ids {
                Some([_, ..]) => TokenSource::Ids,
                _ if !text.is_empty() => TokenSource::Text,
                _ => return Ok(()),
            };
        }
        match (self.source, ids) {
            (TokenSource::Ids, Some(ids)) => self.push_tokens(ids, logprobs),
            (TokenSource::Ids, None) if self.end.is_none() && !text.is_empty() => {
                return Err(WireFault::Unreadable(
                    "an event has text without the token ids that others have".to_owned(),
                ));
            }
            (TokenSource::Ids, None) => {}
            (TokenSource::Text | TokenSource::Unknown, _) => self.push_text(text),
        }
        Ok(())
    }

    /// Adds tokens with their log-probabilities; tokens beyond the end of `logprobs` get none.
    pub(super) fn push_tokens(
        &mut self,
        ids: &[u32],
        mut logprobs: impl Iterator<Item = Option<Box<Logprobs>>>,
    ) {
        if self.end.is_some() {
            return;
        }
        let fits = ids.len().min(self.room.tokens);
        let token = |id: &u32| Piece::Token(Token { id: *id, logprobs: logprobs.next().flatten() });
        self.pieces.extend(ids[..fits].iter().map(token));
        self.room.tokens -= fits;
        self.ends_if(fits < ids.len());
    }

    pub(super) fn push_text(&mut self, text: &str) {
        if self.end.is_some() || text.is_empty() {
            return;
        }
        let fits = text.floor_char_boundary(self.room.text);
        self.pieces.push(Piece::Text(text[..fits].to_owned()));
        self.room.text -= fits;
        self.ends_if(fits < text.len());
    }

    /// Sets how the answer ended, if `end` says so.
    pub(super) fn end_as(&mut self, end: Option<WireEnd>) {
        self.end = self.end.or(end);
    }

    /// Ends an answer that has more than it may have: nothing more of it is read.
    fn ends_if(&mut self, is_too_long: bool) {
        if is_too_long {
            self.is_too_long = true;
            self.is_over = true;
            self.end = Some(WireEnd::Length);
        }
    }
}
