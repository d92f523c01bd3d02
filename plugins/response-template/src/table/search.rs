//! The search for the delimiter with which held text, a *head*, begins.
//!
//! Invariant: the longest delimiter counts, once no more text can make it another. Only the first
//! [`HEAD`] bytes decide, however the stream is cut into chunks.

use super::watch::Place;
use super::{Match, Meaning, Table, Wait};

/// Length in bytes above which undecided text is taken for no delimiter.
const HEAD: usize = 512;

/// What held text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// No delimiter.
    Text,
    /// Undecided: more text is needed.
    Undecided(Wait),
    /// A delimiter: its meaning, its length in bytes, and the text of its group.
    Delimiter(Meaning, usize, String),
}

/// The search for the delimiter with which a head begins: what was found of the head is still so
/// when it is longer.
#[derive(Debug)]
pub(crate) struct Search {
    /// The marker with which the head begins; none if delimiters with other markers may match it.
    first: Option<usize>,
    /// Delimiters that don't match, by their place among those that are watched, as far as there
    /// are bits.
    ruled_out: u64,
}

impl Search {
    fn excludes(&self, index: u32, trigger: usize) -> bool {
        self.first.is_some_and(|first| first != trigger)
            || (index < u64::BITS && self.ruled_out >> index & 1 == 1)
    }

    fn rule_out(&mut self, index: u32) {
        if index < u64::BITS {
            self.ruled_out |= 1 << index;
        }
    }
}

impl Table {
    /// The longest delimiter with which `head` begins. Undecided while `head` may become another
    /// delimiter, unless it `is_all` the text. `search` is that of a shorter head here.
    pub(crate) fn find(&self, place: Place, head: &str, is_all: bool, search: &mut Search) -> Found {
        let known = &head[..head.floor_char_boundary(HEAD)];
        let is_whole = is_all || head.len() > HEAD;
        let (mut longest, mut undecided, mut seen) = (None, None, 0);
        self.watched(place, &mut |meaning, delimiter, named| {
            let index = seen;
            seen += 1;
            if search.excludes(index, delimiter.trigger) {
                return;
            }
            match named.matches(place.tools, delimiter, known) {
                Match::No => search.rule_out(index),
                Match::Partial(wait) if !is_whole => {
                    undecided = Some(undecided.map_or(wait, |other: Wait| other.and(wait)));
                }
                Match::Partial(_) => {}
                Match::Yes(bytes, group) => {
                    if longest.is_none_or(|(_, longest, _)| bytes > longest) {
                        longest = Some((meaning, bytes, group));
                    }
                }
            }
        });
        match (undecided, longest) {
            (Some(wait), None) => Found::Undecided(wait),
            // Text may follow the delimiter that there is.
            (Some(_), Some(_)) => Found::Undecided(Wait::Byte),
            (None, Some((meaning, bytes, group))) => {
                Found::Delimiter(meaning, bytes, group.unwrap_or_default().into())
            }
            (None, None) => Found::Text,
        }
    }

    /// The search in a head that begins with this marker.
    pub(crate) fn search(&self, marker: usize) -> Search {
        Search { first: Some(marker).filter(|marker| !self.nested[*marker]), ruled_out: 0 }
    }

    /// Whether `head` can become nothing but the opening delimiter of a call.
    pub(crate) fn begins_call(&self, place: Place, head: &str) -> bool {
        let (mut begins, mut only) = (false, true);
        self.watched(place, &mut |meaning, delimiter, named| {
            if let Match::Partial(_) = named.matches(place.tools, delimiter, head) {
                begins = true;
                only &= match meaning {
                    Meaning::Open(field) => !self.fields[field].kind.is_text(),
                    meaning => matches!(meaning, Meaning::OpenObject(_)),
                };
            }
        });
        begins && only
    }
}
