//! Segments of a rendered prompt: which characters are control tokens of the template, and which are text.
//!
//! While a template runs, each control token that it writes is one stand-in character of plane 15 (`template::source` rewrites
//! its source that way). Request text is disguised: its own characters of planes 15 and 16 are replaced by characters of plane 16,
//! none of which stands for a control token. So every stand-in in the output was written by the template, whatever the template
//! does to request text: joins, splits, trims or quotes it.
//!
//! Some templates build control tokens from parts (`'<|' + role + '|>'`). These tokens are searched for in the output's text,
//! and their characters are disguised in request text, except those that `may_be_masked` excludes. Called by `render`.

use std::borrow::Cow;
use std::collections::HashMap;

use aho_corasick::{AhoCorasick, MatchKind};

use super::added::AddedToken;

const FIRST_CONTROL: u32 = 0xF_0000;
const MAX_CONTROLS: usize = 0xF000;
const FIRST_MASKED: u32 = 0xF_F000;
const FIRST_FOREIGN: u32 = 0x10_0000;
const MAX_FOREIGN: usize = 0xFFFD;

/// Mark at the end of the text that the model continues.
pub(super) const END_MARK: char = '\u{FFFFD}';

/// Segment of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Segment<'a> {
    /// A control token that the template wrote.
    Control(&'a AddedToken),
    /// Text, of the template or of the request.
    Text(String),
}

impl Segment<'_> {
    /// Returns the segment as text; a control token as its literal.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Control(token) => &token.literal,
            Self::Text(text) => text,
        }
    }
}

/// Control tokens of a model, and the characters that stand for them.
#[derive(Debug)]
pub(super) struct StandIns {
    controls: Vec<AddedToken>,
    /// Indices of the controls that are searched for in the template's source, in the order of `literals`' patterns.
    /// A control whose literal is a plain word is left out, since the word may be a key in the template's code.
    spelt: Vec<usize>,
    literals: AhoCorasick,
    /// Indices of the controls that the template builds from parts, in the order of `assembled_finder`'s patterns.
    assembled: Vec<usize>,
    assembled_finder: Option<AhoCorasick>,
    /// Characters of the assembled literals that are disguised in request text, sorted.
    masked: Vec<char>,
}

impl StandIns {
    /// Makes stand-ins for `controls`. The error is a reason.
    pub(super) fn new(controls: Vec<AddedToken>) -> Result<Self, String> {
        if controls.len() > MAX_CONTROLS {
            return Err(format!("{} added tokens are more than {MAX_CONTROLS}", controls.len()));
        }
        let spelt: Vec<usize> =
            (0..controls.len()).filter(|&index| !is_word(&controls[index].literal)).collect();
        let literals = matcher(spelt.iter().map(|&index| controls[index].literal.as_str()))?;
        Ok(Self {
            controls,
            spelt,
            literals,
            assembled: Vec::new(),
            assembled_finder: None,
            masked: Vec::new(),
        })
    }

    /// Treats `assembled` (indices that `literals_in` returned) as tokens that the template builds from parts.
    pub(super) fn set_assembled(&mut self, assembled: Vec<usize>) -> Result<(), String> {
        let literals = || assembled.iter().map(|&index| self.controls[index].literal.as_str());
        let mut masked: Vec<char> = literals().flat_map(str::chars).filter(|&c| may_be_masked(c)).collect();
        masked.sort_unstable();
        masked.dedup();
        self.assembled_finder = Some(matcher(literals())?);
        (self.masked, self.assembled) = (masked, assembled);
        Ok(())
    }

    /// Replaces the control tokens that a template's text spells by their stand-ins.
    pub(super) fn stand_in(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut end = 0;
        for found in self.literals.find_iter(text) {
            out.push_str(&text[end..found.start()]);
            out.push(nth(FIRST_CONTROL, self.spelt[found.pattern().as_usize()]));
            end = found.end();
        }
        out.push_str(&text[end..]);
        out
    }

    /// Returns the indices of controls whose literal stands in one of `segments` as text.
    pub(super) fn literals_in(&self, segments: &[Segment<'_>]) -> Vec<usize> {
        let texts = || {
            segments.iter().filter_map(|segment| match segment {
                Segment::Text(text) => Some(text),
                Segment::Control(_) => None,
            })
        };
        let in_texts = |control: &AddedToken| texts().any(|text| text.contains(&control.literal));
        (0..self.controls.len()).filter(|&index| in_texts(&self.controls[index])).collect()
    }

    /// Cuts a template's output into control tokens and text, and removes the disguise of request text.
    pub(super) fn segments(&self, output: &str, disguise: &Disguise<'_>) -> Vec<Segment<'_>> {
        let mut segments = Vec::new();
        let mut start = 0;
        for (at, c) in output.char_indices().filter(|&(_, c)| u32::from(c) >= FIRST_CONTROL) {
            let Some(control) = index_from(FIRST_CONTROL, c).and_then(|index| self.controls.get(index))
            else {
                continue;
            };
            self.push_text(&output[start..at], disguise, &mut segments);
            segments.push(Segment::Control(control));
            start = at + c.len_utf8();
        }
        self.push_text(&output[start..], disguise, &mut segments);
        segments
    }

    fn push_text<'a>(&'a self, text: &str, disguise: &Disguise<'_>, segments: &mut Vec<Segment<'a>>) {
        let mut start = 0;
        for found in self.assembled_finder.iter().flat_map(|finder| finder.find_iter(text)) {
            if start < found.start() {
                segments.push(Segment::Text(disguise.unescape(&text[start..found.start()])));
            }
            segments.push(Segment::Control(&self.controls[self.assembled[found.pattern().as_usize()]]));
            start = found.end();
        }
        if start < text.len() {
            segments.push(Segment::Text(disguise.unescape(&text[start..])));
        }
    }
}

/// Whether `text` uses characters that are reserved for stand-ins.
pub(super) fn has_reserved(text: &str) -> bool {
    text.chars().any(|c| u32::from(c) >= FIRST_CONTROL)
}

/// Disguise of one request's text while the template runs.
#[derive(Debug)]
pub(super) struct Disguise<'a> {
    stand_ins: &'a StandIns,
    /// Characters of planes 15 and 16 in the request, in order of appearance.
    foreign: Vec<char>,
    index: HashMap<char, usize>,
}

impl<'a> Disguise<'a> {
    /// Makes the disguise of one request, which has seen no text yet.
    pub(super) fn new(stand_ins: &'a StandIns) -> Self {
        Self { stand_ins, foreign: Vec::new(), index: HashMap::new() }
    }

    /// Returns `text` as the template sees it, with each character replaced by one character or kept.
    pub(super) fn escape<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        // Characters from U+C0000 on begin with the byte 0xF3 or 0xF4.
        if self.stand_ins.masked.is_empty() && text.bytes().all(|byte| byte < 0xF3) {
            return Cow::Borrowed(text);
        }
        Cow::Owned(text.chars().map(|c| self.escape_char(c)).collect())
    }

    fn escape_char(&mut self, c: char) -> char {
        if u32::from(c) < FIRST_CONTROL {
            return self.stand_ins.masked.binary_search(&c).map_or(c, |index| nth(FIRST_MASKED, index));
        }
        let next = self.foreign.len();
        if next == MAX_FOREIGN && !self.index.contains_key(&c) {
            // 65,533 different private-use characters in one request carry no meaning.
            return char::REPLACEMENT_CHARACTER;
        }
        let index = *self.index.entry(c).or_insert(next);
        if index == next {
            self.foreign.push(c);
        }
        nth(FIRST_FOREIGN, index)
    }

    /// Reverses `escape` in `text`.
    fn unescape(&self, text: &str) -> String {
        if text.bytes().all(|byte| byte < 0xF3) {
            return text.to_owned();
        }
        let original = |c| {
            let foreign = index_from(FIRST_FOREIGN, c).and_then(|index| self.foreign.get(index));
            let masked = || index_from(FIRST_MASKED, c).and_then(|index| self.stand_ins.masked.get(index));
            foreign.or_else(masked).copied().unwrap_or(c)
        };
        text.chars().map(original).collect()
    }
}

fn matcher<'a>(literals: impl Iterator<Item = &'a str>) -> Result<AhoCorasick, String> {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(literals)
        .map_err(|error| format!("added tokens can't be matched: {error}"))
}

fn is_word(literal: &str) -> bool {
    literal.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Whether `c` may be disguised. Templates trim white space, and quote text by its quotes, backslashes and control characters, so these
/// stay as they are.
fn may_be_masked(c: char) -> bool {
    !c.is_whitespace() && !c.is_control() && c != '"' && c != '\\'
}

fn nth(first: u32, index: usize) -> char {
    u32::try_from(index)
        .ok()
        .and_then(|index| char::from_u32(first + index))
        .expect("within a reserved plane")
}

fn index_from(first: u32, c: char) -> Option<usize> {
    usize::try_from(u32::from(c).checked_sub(first)?).ok()
}
