//! Markdown on a terminal, as it streams: headings, emphasis, code, lists, quotes and fenced blocks.
//!
//! Invariant: all text is shown, in its order. Marks are left out only where both ends of what they
//! mark are there: a span is held back until its end has come, and what has none by the end of its
//! line is shown as it is.

mod block;
mod inline;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use block::{Begin, Fence};
use inline::{Piece, next};

/// Marks that are left to be seen.
const DIM: Style = Style::new().dimmed();
const CODE: Style = AnsiColor::Cyan.on_default();
/// Most bytes of a span that is waited for.
const LONGEST_SPAN: usize = 400;

/// Renders a text that comes in parts.
#[derive(Debug, Default)]
pub(super) struct Markdown {
    /// What came of the line and isn't shown yet.
    held: String,
    /// What has been shown of it ends with this character; `None` at the line's beginning.
    last: Option<char>,
    /// The line's own style, of a heading.
    style: Style,
    /// The block of code that isn't closed yet.
    fence: Option<Fence>,
}

impl Markdown {
    /// Takes the next part of the text; returns what can be shown.
    pub(super) fn feed(&mut self, text: &str) -> String {
        let mut out = String::new();
        for part in text.split_inclusive('\n') {
            self.held.push_str(part);
            self.advance(part.ends_with('\n'), &mut out);
        }
        out
    }

    /// Ends the text; returns what was held back.
    pub(super) fn end(&mut self) -> String {
        let mut out = String::new();
        self.advance(true, &mut out);
        *self = Self::default();
        out
    }

    /// Shows what is decided of the line; all of it if it is `whole`.
    fn advance(&mut self, whole: bool, out: &mut String) {
        while self.last.is_none() && !self.held.is_empty() {
            match block::begin(&self.held, whole, self.fence.as_ref()) {
                Begin::Unknown => return,
                begin => self.begin(begin, out),
            }
        }
        if self.fence.is_some() {
            let text = std::mem::take(&mut self.held);
            styled(&text, CODE, out);
            self.last = text.chars().last().or(self.last);
        } else {
            self.spans(whole, out);
        }
        if whole && self.held.is_empty() {
            (self.last, self.style) = (None, Style::new());
        }
    }

    fn begin(&mut self, begin: Begin, out: &mut String) {
        let length = match begin {
            Begin::Unknown => return,
            Begin::Text(indent) => {
                out.push_str(&self.held[..indent]);
                self.last = Some(' ');
                indent
            }
            Begin::Heading { level, marks } => {
                self.style = if level <= 2 { Style::new().bold().underline() } else { Style::new().bold() };
                self.last = Some(' ');
                marks
            }
            Begin::Item { indent, marks } => {
                let _ = write!(out, "{}{DIM}•{DIM:#} ", &self.held[..indent]);
                self.last = Some(' ');
                marks
            }
            // What is quoted may begin with marks of its own.
            Begin::Quote { indent, marks } => {
                let _ = write!(out, "{}{DIM}│{DIM:#} ", &self.held[..indent]);
                marks
            }
            Begin::Whole { fence } => {
                self.fence = fence;
                let line = std::mem::take(&mut self.held);
                styled(&line, DIM, out);
                0
            }
            Begin::Code => {
                self.last = Some(' ');
                0
            }
        };
        self.held.drain(..length);
    }

    fn spans(&mut self, whole: bool, out: &mut String) {
        let is_final = whole || self.held.len() > LONGEST_SPAN;
        loop {
            match next(&self.held, self.last, is_final) {
                Piece::Unknown => return,
                Piece::Text(length) => {
                    let text: String = self.held.drain(..length).collect();
                    self.last = text.chars().last();
                    styled(&text, self.style, out);
                }
                Piece::Span { length, span } => {
                    inline::render(&self.held[..length], &span, self.style, out);
                    self.last = self.held[..length].chars().last();
                    self.held.drain(..length);
                }
            }
        }
    }
}

/// Appends text in a style, which doesn't go beyond the end of its line.
fn styled(text: &str, style: Style, out: &mut String) {
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        if !line.is_empty() {
            let _ = write!(out, "{style}{line}{style:#}");
        }
        out.push_str(end);
    }
}
