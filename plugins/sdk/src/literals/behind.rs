//! What stands behind a quote or marker that may end a string, and the end of the arguments.

use super::ahead::Ahead;
use super::quoted::StringKind;
use super::{HELD, Input, Literals, Place, brace};
use crate::{Output, Types};

impl Literals {
    /// What was held and stands behind the arguments' end, once that came. All other held bytes
    /// are behind it.
    pub fn take_behind(&mut self) -> String {
        let behind = std::mem::take(&mut self.behind);
        String::from_utf8(behind)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// Closes the call if, before the `keep` youngest held bytes, its end is held: a marker that ends
    /// calls follows, or the turn's end, where the end of the list around them may be missing
    /// (`ends_turn`). Returns what stands behind it, as [`Self::take_behind`].
    pub fn settle(&mut self, ends_turn: bool, keep: usize, out: &mut Output) -> Option<String> {
        if self.closing == 0 || !self.leaves_call(!ends_turn && self.in_list) {
            return None;
        }
        self.decide(true, keep, out);
        out.close();
        Some(self.take_behind())
    }

    /// Ends arguments whose bracket didn't come, before the `keep` youngest held bytes, which end
    /// the turn if the format itself doesn't end the call (`is_closed`). Then arguments that lack
    /// only this bracket are whole; all others are incomplete. Other output may follow. Neither the
    /// token limit nor a cancellation (not `by_itself`) decides where a string ended.
    pub fn end(&mut self, is_closed: bool, by_itself: bool, keep: usize, out: &mut Output) {
        if let Some(behind) = (is_closed || by_itself).then(|| self.settle(!is_closed, keep, out)).flatten() {
            let is_markup = behind.bytes().all(|byte| b" \n\r\t,;)]}".contains(&byte));
            let bytes = out.held() - keep;
            return if is_markup { out.drop(bytes) } else { out.content(bytes) };
        }
        // The end of the call shows no string's end.
        let in_doubt = self.closing > 0 && !self.may_have_ended();
        if self.closing > 0 && (is_closed || by_itself) {
            self.decide(true, keep, out);
        }
        match self.place {
            Place::Word if is_closed && self.frames.len() == 1 && self.is_scalar() => self.end_word(out),
            Place::Bare | Place::Comma => out.take(self.plain_route(), self.pending.len()),
            Place::NoLiteral => out.take(self.json_route(), self.comma + self.pending.len()),
            _ => {}
        }
        out.drop(out.held() - keep);
        let is_whole = is_closed && self.frames.len() == 1 && !in_doubt;
        if is_whole && matches!(self.place, Place::After | Place::Key) {
            self.write(if self.frames[0].any { "}" } else { "{}" }, out);
            out.close();
        } else if keep > 0 {
            out.message("");
        }
        self.frames.clear();
    }

    /// Whether a string whose end is in doubt ends if a marker, or nothing, follows.
    pub(super) fn may_have_ended(&self) -> bool {
        !self.is_key() && self.ahead(&self.pending[self.closing..]).shows_end(self.in_list)
    }

    fn leaves_call(&self, in_list: bool) -> bool {
        !self.is_key() && self.ahead(&self.pending[self.closing..]).leaves_call(in_list)
    }

    fn is_key(&self) -> bool {
        match self.place {
            Place::Quoted(quoted) => quoted.kind == StringKind::Key,
            Place::Marked { is_key, .. } => is_key,
            _ => false,
        }
    }

    fn ahead<'a>(&'a self, rest: &'a [u8]) -> Ahead<'a> {
        let quote = if let Place::Quoted(quoted) = self.place { Some(quoted.quote) } else { None };
        Ahead::new(&self.frames, rest, quote, self.bare)
    }

    /// Reads the first of `bytes`, behind what may end a string.
    pub(super) fn behind_string(&mut self, bytes: &[u8], out: &mut Output) -> usize {
        self.pending.push(bytes[0]);
        let rest = &self.pending[self.closing..];
        let ended = if self.is_key() {
            let sign = rest.trim_ascii_start().first().map(|byte| b":=".contains(byte));
            sign.or_else(|| (rest.len() > HELD).then_some(false))
        } else {
            self.ahead(rest).ended()
        };
        if let Some(ended) = ended {
            self.decide(ended, bytes.len() - 1, out);
        }
        1
    }

    /// Reads a marker that begins strings, of `keep` bytes, behind what may end one.
    pub(super) fn marker_behind_string(&mut self, keep: usize, out: &mut Output) {
        // A string or key begins with the marker as with a quote, and the call hasn't ended before it.
        let rest = [&self.pending[self.closing..], b"\""].concat();
        let ended = !self.is_key() && !self.leaves_call(false) && self.ahead(&rest).ended() != Some(false);
        self.decide(ended, keep, out);
    }

    /// Ends the string, or not, and reads what is held behind its end, before the `keep` youngest
    /// held bytes.
    fn decide(&mut self, ended: bool, keep: usize, out: &mut Output) {
        let (held, closing) = (std::mem::take(&mut self.pending), std::mem::take(&mut self.closing));
        match self.place {
            Place::Quoted(quoted) if ended => self.end_quoted(quoted, closing, out),
            _ if ended => {
                out.drop(closing);
                self.end_string(self.is_key(), out);
            }
            _ => out.take(self.plain_route(), closing),
        }
        if let Place::Quoted(quoted) = &mut self.place {
            quoted.any = true;
        }
        self.replay(held, closing, keep, out);
    }

    /// Reads the bytes behind the first `read` ones of `held` again, before the `keep` youngest ones.
    pub(super) fn replay(&mut self, mut held: Vec<u8>, mut read: usize, keep: usize, out: &mut Output) {
        out.hiding(keep, |out| {
            while read < held.len() && !self.frames.is_empty() {
                read += self.step(&held[read..], out);
            }
        });
        held.drain(..read);
        if self.behind.is_empty() {
            self.behind = held;
        } else {
            self.behind.append(&mut held);
        }
    }

    /// Reads the marker `mark`, which stands before and behind strings of the format.
    pub fn delimiter(&mut self, mark: usize, literal: &str, out: &mut Output) {
        if self.closing > 0 {
            self.marker_behind_string(literal.len(), out);
        }
        if self.place == Place::Brace {
            let held = std::mem::take(&mut self.pending);
            self.open_brace(brace::Opened::Object, held, literal.len(), out);
        }
        match self.place {
            Place::Key => {
                self.begin_member(out);
                self.begin_marked(mark, true, literal, out);
            }
            Place::Comma if self.key_after_comma().is_empty() => {
                self.end_bare(out);
                self.begin_member(out);
                self.begin_marked(mark, true, literal, out);
            }
            Place::Value if self.input == Input::Read => {
                self.place = Place::NoLiteral;
                _ = self.read(literal, out);
            }
            Place::Value if self.is_typed && self.frames.len() == 1 && !self.types.allows(Types::STRING) => {
                out.drop(literal.len());
                self.place = Place::Typed(mark);
            }
            Place::Value => {
                self.begin_value(out);
                self.begin_marked(mark, false, literal, out);
            }
            Place::Marked { mark: opened, .. } if opened == mark => {
                self.pending.extend_from_slice(literal.as_bytes());
                self.closing = literal.len();
            }
            Place::Typed(opened) if opened == mark => {
                self.end_word(out);
                out.drop(literal.len());
            }
            // The marker before the string was left out.
            Place::Word | Place::Bare | Place::Comma => {
                if self.place == Place::Word {
                    self.begin_value(out);
                    self.begin_string(out);
                }
                out.take(self.plain_route(), self.pending.len());
                self.pending.clear();
                out.drop(literal.len());
                self.end_string(false, out);
            }
            Place::AfterKey | Place::After => out.drop(literal.len()),
            Place::KeyWord => {
                self.place = Place::NoLiteral;
                _ = self.read(literal, out);
            }
            Place::Brace | Place::Typed(_) | Place::Quoted(_) | Place::Marked { .. } | Place::NoLiteral => {
                _ = self.read(literal, out);
            }
        }
    }
}
