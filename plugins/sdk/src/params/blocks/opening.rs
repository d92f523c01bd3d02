//! The opening of a call: its tag, and what stands behind the tag before the first parameter.
//!
//! Invariant: in a block a call opens behind its tag; outside one, when its arguments or its end
//! follow. The opening is held until then.

use super::{Block, BlockFormat, Blocks, State};
use crate::params::{Tag, Tagged};
use crate::{Output, Payload};

/// Longest opening outside a call, with the white space behind it, in bytes.
pub(super) const HELD: usize = Tag::LONGEST + 128;

impl<F: BlockFormat> Blocks<F> {
    /// Whether a call here may have this name or, unless `is_whole`, a name that begins with it.
    pub(super) fn fits(&self, name: &str, is_whole: bool) -> bool {
        let tools = &self.calls.tools;
        match is_whole {
            false => tools.may_begin(name),
            true if self.block == Block::Open => tools.accepts(name),
            true => tools.contains(tools.resolve(name)),
        }
    }

    pub(super) fn read_tag(&mut self, text: &str, out: &mut Output) -> usize {
        let mut tag = std::mem::take(&mut self.tag);
        let tagged = tag.read(text, |name, is_whole| self.fits(name, is_whole));
        self.tag = tag;
        match tagged {
            Tagged::Whole(read) => {
                self.end_tag(text.len() - read, out);
                return read;
            }
            Tagged::Nothing => self.release_as_prose(0, out),
            Tagged::Unfinished => {}
        }
        text.len()
    }

    /// Begins what follows the tag of a call, behind which the `keep` youngest bytes are held.
    pub(super) fn end_tag(&mut self, keep: usize, out: &mut Output) {
        if self.block == Block::Open { self.open(keep, out) } else { self.state = State::Named }
    }

    /// Reads text behind the tag of a call outside a block: white space, or the beginning of its
    /// arguments. Other text shows that there is no call.
    pub(super) fn read_behind_tag(&mut self, text: &str, out: &mut Output) -> usize {
        let behind = text.trim_start();
        let begins = behind.starts_with('{') && self.takes_json();
        match behind.len() {
            0 if out.held() <= HELD => {}
            keep if begins && out.held() - keep <= HELD => self.open(keep, out),
            keep => self.release_as_prose(keep, out),
        }
        text.len() - behind.len()
    }

    /// Reads text between the tag of a call and its first parameter, where the arguments may begin
    /// as one JSON object.
    pub(super) fn read_opening(&mut self, text: &str, out: &mut Output) -> usize {
        let behind = text.trim_start();
        if behind.starts_with('{') && self.takes_json() {
            self.begin_body(behind.len(), out);
            return text.len() - behind.len();
        }
        if !behind.is_empty() {
            self.state = State::Between;
        }
        self.calls.text(text, out);
        text.len()
    }

    /// Whether the call that was opened last has JSON arguments.
    pub(super) fn takes_json(&self) -> bool {
        let tools = &self.calls.tools;
        tools.payload(tools.resolve(self.tag.name())) == Payload::Json
    }

    /// Opens the call of the tag, behind which the `keep` youngest bytes are held.
    pub(super) fn open(&mut self, keep: usize, out: &mut Output) {
        let name = self.calls.tools.resolve(self.tag.name()).to_owned();
        self.calls.open(&name, keep, out);
        self.state = State::Opened;
        if self.block == Block::None {
            self.block = Block::Unopened;
        }
    }
}
