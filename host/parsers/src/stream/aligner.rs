//! Aligner: says where in the text the tokens stand that are markers, for programs whose
//! detokenizers tell what some tokens together added to the text.
//!
//! Each marker's id takes the next occurrence of its literal. Where the text has the literal
//! without its id, too, since other tokens spell it, the tokens before each marker are decoded,
//! which says how many such look-alikes stand before it. A marker whose text hasn't come waits for
//! it, with all text behind it.
//!
//! Invariant: what comes out is the text, byte for byte, and all ids in order; each marker's id has
//! its literal.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::Decode;
use super::literals::{Occurrence, TokenLiterals};
use turn::TokenText;

/// Maximum number of bytes that wait for the text of a marker. Detokenizers that look for stop
/// strings hold back as much as the longest one.
const WAITING_BYTES: usize = 4096;

/// Reason why token ids and text don't fit together.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AlignError {
    /// The text has the literal more often than the ids have its token, or literals in another
    /// order, and there is no function that decodes ids.
    LookAlike {
        /// The literal.
        literal: String,
    },
    /// The function that decodes ids didn't.
    NotDecoded,
    /// The ids have a token whose literal isn't in the text.
    NotInText {
        /// The literal.
        literal: String,
        /// The token.
        id: u32,
    },
}

impl fmt::Display for AlignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LookAlike { literal } => write!(
                f,
                "other tokens spell {literal} beside its own token: give `decode`, which returns the text of ids, or one token at a time"
            ),
            Self::NotDecoded => f.write_str("`decode` returned no text for ids that the tokenizer has"),
            Self::NotInText { literal, id } => write!(
                f,
                "token {id} came, and its text {literal} is not in the {WAITING_BYTES} bytes behind it: have the detokenizer keep special tokens (`skip_special_tokens=False`), or bind without token ids"
            ),
        }
    }
}

impl Error for AlignError {}

/// Text and ids that wait for each other.
#[derive(Debug)]
pub(super) struct Aligner {
    literals: Arc<TokenLiterals>,
    /// Text behind the last marker; empty unless ids wait.
    text: String,
    /// Ids behind the last marker, of which at least one is a marker; or none.
    ids: Vec<u32>,
}

/// Text and ids of which each marker's place is known.
#[derive(Debug, Default)]
pub(super) struct Aligned {
    text: String,
    ids: Vec<u32>,
    /// Ends of parts of both: one or more tokens that aren't markers, or a marker.
    parts: Vec<(usize, usize)>,
}

impl Aligner {
    pub(super) fn new(literals: Arc<TokenLiterals>) -> Self {
        Self { literals, text: String::new(), ids: Vec::new() }
    }

    /// The literal of this token, if it is a marker.
    pub(super) fn literal(&self, id: u32) -> Option<&str> {
        self.literals.get(id)
    }

    /// Whether nothing has to be aligned: no marker waits or is among these.
    pub(super) fn is_plain(&self, ids: &[u32]) -> bool {
        self.literals.is_empty()
            || (self.ids.is_empty() && ids.iter().all(|id| self.literals.get(*id).is_none()))
    }

    /// Takes text and ids, and returns those of which each marker's place is known.
    ///
    /// # Errors
    /// They don't fit together; nothing was taken.
    pub(super) fn align(
        &mut self,
        text: &str,
        ids: &[u32],
        decode: Option<Decode<'_>>,
    ) -> Result<Aligned, AlignError> {
        let mut text = [&self.text, text].concat();
        let mut ids = [&self.ids, ids].concat();
        let places = self.places(&text, &ids, decode)?;
        let mut aligned = Aligned::default();
        let (mut to_text, mut to_id) = (0, 0);
        for (index, place) in places {
            aligned.parts.extend([(place.at, index), (place.end, index + 1)]);
            (to_text, to_id) = (place.end, index + 1);
        }
        let waits = ids[to_id..].iter().find_map(|id| Some((*id, self.literals.get(*id)?)));
        if let Some((id, literal)) = waits
            && text.len() - to_text > WAITING_BYTES
        {
            return Err(AlignError::NotInText { literal: literal.to_owned(), id });
        }
        if waits.is_none() {
            (to_text, to_id) = (text.len(), ids.len());
            aligned.parts.push((to_text, to_id));
        }
        (self.text, self.ids) = (text.split_off(to_text), ids.split_off(to_id));
        Ok(Aligned { text, ids, ..aligned })
    }

    /// Ends the stream: what waits for a marker's text is all there is. Returns it, and the marker at
    /// its end, which is the token that ended the turn.
    pub(super) fn finish(&mut self) -> (Aligned, Option<u32>) {
        let (text, mut ids) = (std::mem::take(&mut self.text), std::mem::take(&mut self.ids));
        let last = ids.pop_if(|id| self.literals.get(*id).is_some());
        // A marker without text is written behind the text that came.
        let plain = ids.iter().filter(|id| self.literals.get(**id).is_none());
        let markers = ids.iter().filter(|id| self.literals.get(**id).is_some());
        let mut aligned = Aligned { ids: plain.copied().collect(), text, parts: Vec::new() };
        aligned.parts.push((aligned.text.len(), aligned.ids.len()));
        for id in markers {
            aligned.text.push_str(self.literals.get(*id).unwrap_or_default());
            aligned.ids.push(*id);
            aligned.parts.push((aligned.text.len(), aligned.ids.len()));
        }
        (aligned, last)
    }

    /// Indices of the ids that are markers, each with its place in the text, up to the first one
    /// that hasn't come.
    fn places(
        &self,
        text: &str,
        ids: &[u32],
        decode: Option<Decode<'_>>,
    ) -> Result<Vec<(usize, Occurrence)>, AlignError> {
        let mut found = self.literals.all(text);
        found.retain(|found| ids.contains(&found.id));
        let (mut places, mut left) = (Vec::new(), found.iter());
        for (index, id) in ids.iter().enumerate().filter(|(_, id)| self.literals.get(**id).is_some()) {
            match left.next() {
                Some(next) if next.id == *id => places.push((index, *next)),
                // The text goes on with another marker than the ids.
                Some(_) => return self.decoded(text, ids, &found, decode),
                None => break,
            }
        }
        if left.next().is_some() { self.decoded(text, ids, &found, decode) } else { Ok(places) }
    }

    /// As [`Self::places`], where some of the literals `found` are look-alikes.
    fn decoded(
        &self,
        text: &str,
        ids: &[u32],
        found: &[Occurrence],
        decode: Option<Decode<'_>>,
    ) -> Result<Vec<(usize, Occurrence)>, AlignError> {
        let Some(decode) = decode else {
            let literal = found.iter().map(|found| &text[found.at..found.end]).next().unwrap_or_default();
            return Err(AlignError::LookAlike { literal: literal.to_owned() });
        };
        let (mut places, mut told, mut behind) = (Vec::new(), 0, 0);
        for (index, id) in ids.iter().enumerate() {
            let Some(literal) = self.literals.get(*id) else { continue };
            let before = decode(&ids[behind..index]).ok_or(AlignError::NotDecoded)?;
            let Some(place) = self.behind(&text[told..], &before, *id, literal) else { break };
            let place = Occurrence { id: *id, at: told + place.at, end: told + place.end };
            places.push((index, place));
            (told, behind) = (place.end, index + 1);
        }
        Ok(places)
    }

    /// Place of a marker in `text` behind other tokens' text `before`, which may be spelt a little
    /// differently: where a character is in two tokens, or a space at its beginning was left out.
    fn behind(&self, text: &str, before: &str, id: u32, literal: &str) -> Option<Occurrence> {
        if let Some(rest) = text.strip_prefix(before)
            && rest.starts_with(literal)
        {
            return Some(Occurrence { id, at: before.len(), end: before.len() + literal.len() });
        }
        let look_alikes = self.literals.all(before).iter().filter(|found| found.id == id).count();
        self.literals.all(text).into_iter().filter(|found| found.id == id).nth(look_alikes)
    }
}

impl Aligned {
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.ids.is_empty()
    }

    /// As the turn takes them.
    pub(super) fn pieces(&self) -> Vec<TokenText<'_>> {
        let (mut pieces_of, mut told) = (Vec::new(), (0, 0));
        for end in &self.parts {
            pieces_of.extend(pieces(&self.ids[told.1..end.1], &self.text[told.0..end.0]));
            told = *end;
        }
        pieces_of
    }
}

/// Text of some tokens: it begins with the first of them, and all are counted where it begins.
pub(super) fn pieces<'a>(ids: &[u32], text: &'a str) -> Vec<TokenText<'a>> {
    let Some((last, before)) = ids.split_last() else {
        return if text.is_empty() { Vec::new() } else { vec![TokenText::new(None, text)] };
    };
    let before = before.iter().map(|id| TokenText::new(Some(*id), ""));
    before.chain([TokenText::new(Some(*last), text)]).collect()
}
