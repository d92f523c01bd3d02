//! Spans of a line: code and emphasis.

use anstyle::Style;

use super::{CODE, LONGEST_SPAN, styled};

/// Most marks of emphasis, which then is strong and slanted. Two `_` are of names, as in `__init__`.
const MOST_STARS: usize = 3;
const MOST_UNDERSCORES: usize = 1;

/// What a line goes on with. Lengths are in bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Nothing, or more of the line is needed.
    Unknown,
    /// Text of this length.
    Text(usize),
    /// A span of this length, marks included.
    Span { length: usize, span: Span },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// `` ` ``, `*` or `_`.
    mark: char,
    /// Number of marks at either end.
    marks: usize,
}

/// What `text` goes on with, behind the character `before`. Nothing follows it in its line if it is
/// `whole`.
pub(super) fn next(text: &str, before: Option<char>, whole: bool) -> Piece {
    let Some(at) = text.find(['`', '*', '_', '\\']) else {
        return if text.is_empty() { Piece::Unknown } else { Piece::Text(text.len()) };
    };
    if at > 0 {
        return Piece::Text(at);
    }
    let mark = text.chars().next().unwrap_or_default();
    let rest = text.trim_start_matches(mark);
    let marks = text.len() - rest.len();
    match rest.chars().next() {
        None if !whole => Piece::Unknown,
        // What is escaped marks nothing, and is shown as it is.
        Some(next) if mark == '\\' => Piece::Text(marks + if marks % 2 == 1 { next.len_utf8() } else { 0 }),
        Some(next) if mark == '`' || opens(mark, marks, before, next) => {
            match closing(rest, mark, marks, whole) {
                Closing::At(end) => Piece::Span { length: marks + end + marks, span: Span { mark, marks } },
                Closing::Never => Piece::Text(marks),
                Closing::Unknown => Piece::Unknown,
            }
        }
        _ => Piece::Text(marks),
    }
}

/// Appends the span that is `text`, in a line of this style.
pub(super) fn render(text: &str, span: &Span, style: Style, out: &mut String) {
    let inner = &text[span.marks..text.len() - span.marks];
    if span.mark == '`' {
        return styled(inner, CODE.effects(style.get_effects()), out);
    }
    let style = if span.marks >= 2 { style.bold() } else { style };
    let style = if span.marks % 2 == 1 { style.italic() } else { style };
    let (mut rest, mut before) = (inner, Some(span.mark));
    loop {
        let length = match next(rest, before, true) {
            Piece::Unknown => return,
            Piece::Text(length) => {
                styled(&rest[..length], style, out);
                length
            }
            Piece::Span { length, span } => {
                render(&rest[..length], &span, style, out);
                length
            }
        };
        before = rest[..length].chars().last();
        rest = &rest[length..];
    }
}

/// Whether marks between these characters begin emphasis: not those of `2**3` or `a_b`.
fn opens(mark: char, marks: usize, before: Option<char>, next: char) -> bool {
    marks <= if mark == '_' { MOST_UNDERSCORES } else { MOST_STARS }
        && !next.is_whitespace()
        && !before.is_some_and(|before| before.is_ascii_alphanumeric())
}

enum Closing {
    At(usize),
    Never,
    Unknown,
}

/// Where the marks are that close a span, whose text and what is behind it is `text`.
fn closing(text: &str, mark: char, marks: usize, whole: bool) -> Closing {
    // `inside` are the marks of emphasis that is open inside the span.
    let (mut at, mut inside) = (0, 0);
    let unknown = if whole { Closing::Never } else { Closing::Unknown };
    while let Some(found) = text[at..].find(['`', mark, '\\', '\n']) {
        at += found;
        if at > LONGEST_SPAN {
            return Closing::Never;
        }
        let rest = text[at..].trim_start_matches(&text[at..=at]);
        let run = text.len() - at - rest.len();
        match &text[at..=at] {
            "\n" => return Closing::Never,
            _ if rest.is_empty() && !whole => return Closing::Unknown,
            "\\" if mark != '`' => {
                at += run + if run % 2 == 1 { rest.chars().next().map_or(0, char::len_utf8) } else { 0 }
            }
            "`" if mark != '`' => match closing(rest, '`', run, whole) {
                Closing::At(end) => at += run + end + run,
                Closing::Never => at += run,
                Closing::Unknown => return Closing::Unknown,
            },
            "\\" => at += run,
            _ => {
                let before = text[..at].chars().last();
                if closes(mark, before, rest) {
                    match run {
                        run if run == inside => inside = 0,
                        run if run == marks => return Closing::At(at),
                        // Both end here, the inner one first.
                        run if run == marks + inside && mark != '`' => return Closing::At(at + inside),
                        _ => {}
                    }
                } else if rest.chars().next().is_some_and(|next| opens(mark, run, before, next)) {
                    inside = run;
                }
                at += run;
            }
        }
    }
    unknown
}

/// Whether marks between this character and `rest` close a span.
fn closes(mark: char, before: Option<char>, rest: &str) -> bool {
    mark == '`'
        || before.is_some_and(|before| !before.is_whitespace())
            && !rest.starts_with(|next: char| next.is_ascii_alphanumeric())
}
