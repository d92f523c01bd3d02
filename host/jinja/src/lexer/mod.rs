//! Tokens of a template, as jinja2 cuts them with `trim_blocks` and `lstrip_blocks` on.
//!
//! A line may end with `\n`, `\r\n` or `\r`; all become `\n`, and the last one of the template is
//! dropped. Called by `parser`.

mod code;
mod literals;

use num_bigint::BigInt;

use crate::error::{Error, Result};
use crate::strings::is_space;

/// Token with the line that it begins in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token {
    pub(crate) line: u32,
    pub(crate) kind: TokenKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TokenKind {
    /// Raw text.
    Data(String),
    VariableBegin,
    VariableEnd,
    BlockBegin,
    BlockEnd,
    Name(String),
    String(String),
    Integer(BigInt),
    Float(f64),
    Operator(&'static str),
    End,
}

/// Tag that a run of raw text ends at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opening {
    Variable,
    Block,
    Comment,
    Raw,
}

/// Cuts a template into tokens. The last one is `End`.
pub(crate) fn tokenize(source: &str) -> Result<Vec<Token>> {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let source = source.strip_suffix('\n').unwrap_or(&source);
    let mut lexer = Lexer { source, at: 0, line: 1, at_line_start: true, tokens: Vec::new() };
    while lexer.at < source.len() {
        lexer.text()?;
    }
    lexer.push(TokenKind::End);
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    source: &'a str,
    at: usize,
    line: u32,
    /// Whether the token before ended with a line break, or there was none.
    at_line_start: bool,
    tokens: Vec<Token>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn push(&mut self, kind: TokenKind) {
        self.tokens.push(Token { line: self.line, kind });
    }

    /// Moves over `len` bytes and counts their lines.
    fn advance(&mut self, len: usize) {
        let passed = &self.source[self.at..self.at + len];
        self.line += lines_in(passed);
        self.at_line_start = passed.ends_with('\n');
        self.at += len;
    }

    fn fail<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(Error::syntax(message, self.line))
    }

    /// Raw text up to the next tag, and the tag.
    fn text(&mut self) -> Result<()> {
        let Some((len, opening, open_len)) = next_opening(self.rest()) else {
            let (text, len) = (self.rest().to_owned(), self.rest().len());
            self.data(&text, len);
            return Ok(());
        };
        let text = &self.rest()[..len];
        let sign = self.rest()[len + 2..].chars().next();
        let kept = match sign {
            Some('-') => text.trim_end_matches(is_space),
            Some('+') => text,
            _ if opening == Opening::Variable => text,
            _ => self.without_indentation(text),
        };
        let kept = kept.to_owned();
        self.data(&kept, len);
        match opening {
            Opening::Comment => {
                self.advance(open_len);
                self.comment()
            }
            Opening::Raw => {
                self.advance(open_len);
                self.raw()
            }
            Opening::Variable => {
                self.push(TokenKind::VariableBegin);
                self.advance(open_len);
                self.code("}}", TokenKind::VariableEnd)
            }
            Opening::Block => {
                self.push(TokenKind::BlockBegin);
                self.advance(open_len);
                self.code("%}", TokenKind::BlockEnd)
            }
        }
    }

    /// Emits `kept`, which stands for the next `len` bytes.
    fn data(&mut self, kept: &str, len: usize) {
        if !kept.is_empty() {
            self.push(TokenKind::Data(kept.to_owned()));
        }
        let at_line_start = self.at_line_start;
        self.advance(len);
        self.at_line_start |= len == 0 && at_line_start;
    }

    /// Drops white space between the beginning of a line and a tag.
    fn without_indentation<'t>(&self, text: &'t str) -> &'t str {
        let start = text.rfind('\n').map_or(0, |at| at + 1);
        let is_indented = (start > 0 || self.at_line_start) && text[start..].chars().all(is_space);
        if is_indented { &text[..start] } else { text }
    }

    fn comment(&mut self) -> Result<()> {
        let Some(end) = self.rest().find("#}") else { return self.fail("Missing end of comment tag") };
        let sign = self.rest()[..end].chars().next_back();
        self.advance(end);
        self.close_tag(sign);
        Ok(())
    }

    fn raw(&mut self) -> Result<()> {
        let rest = self.rest();
        let ends = rest.match_indices("{%").filter_map(|(at, _)| {
            let (sign, after) = split_sign(&rest[at + 2..]);
            let word = after.trim_start_matches(is_space).strip_prefix("endraw")?;
            let close = word.trim_start_matches(is_space);
            let (end_sign, close) = split_sign(close);
            close.starts_with("%}").then(|| (at, sign, end_sign, rest.len() - close.len()))
        });
        let Some((at, sign, end_sign, close)) = ends.into_iter().next() else {
            return self.fail("Missing end of raw directive");
        };
        let text = &rest[..at];
        let kept = match sign {
            Some('-') => text.trim_end_matches(is_space),
            Some('+') => text,
            _ => self.without_indentation(text),
        };
        let kept = kept.to_owned();
        self.data(&kept, at);
        self.advance(close - at);
        self.close_tag(end_sign);
        Ok(())
    }

    /// Moves over the two characters that end a block or a comment, and the white space that
    /// belongs to them.
    fn close_tag(&mut self, sign: Option<char>) {
        let after = &self.rest()[2..];
        let space = match sign {
            Some('-') => after.len() - after.trim_start_matches(is_space).len(),
            Some('+') => 0,
            _ => usize::from(after.starts_with('\n')),
        };
        self.advance(2 + space);
    }
}

fn lines_in(text: &str) -> u32 {
    u32::try_from(text.bytes().filter(|&byte| byte == b'\n').count()).unwrap_or(u32::MAX)
}

fn split_sign(text: &str) -> (Option<char>, &str) {
    match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.chars().next(), rest),
        None => (None, text),
    }
}

/// Position of the next tag, what it opens, and the length of its opening.
fn next_opening(text: &str) -> Option<(usize, Opening, usize)> {
    let at = text.as_bytes().windows(2).position(|pair| matches!(pair, b"{{" | b"{%" | b"{#"))?;
    let (sign, after) = split_sign(&text[at + 2..]);
    let signed = 2 + usize::from(sign.is_some());
    Some(match &text[at..at + 2] {
        "{{" => (at, Opening::Variable, signed),
        "{#" => (at, Opening::Comment, signed),
        _ => match raw_opening(after) {
            Some(len) => (at, Opening::Raw, signed + len),
            None => (at, Opening::Block, signed),
        },
    })
}

/// Length of ` raw %}`, with the white space behind it that `-%}` takes; unlike other blocks it
/// keeps the line break behind it.
fn raw_opening(after: &str) -> Option<usize> {
    let word = after.trim_start_matches(is_space).strip_prefix("raw")?;
    let close = word.trim_start_matches(is_space);
    let rest = match close.strip_prefix("-%}") {
        Some(rest) => rest.trim_start_matches(is_space),
        None => close.strip_prefix("%}")?,
    };
    Some(after.len() - rest.len())
}
