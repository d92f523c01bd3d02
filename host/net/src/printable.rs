//! Text from outside (requests, answers, servers, files) made safe to show: no control characters,
//! and a bounded length where it is quoted. Messages to clients, headers, logs and the terminal all
//! use these functions, and none has its own.

use std::fmt::{self, Write};

/// Maximum size of an error message to a client, in bytes; what it quotes is cut.
pub const MESSAGE_BYTES: usize = 2048;
/// Maximum number of characters of a name that are kept.
const MAX_NAME: usize = 64;

/// `name` cut to `MAX_NAME` characters, with `?` for all but plain ASCII.
pub fn printable(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_graphic() && !matches!(c, '"' | '\\' | ',') { c } else { '?' };
    name.chars().take(MAX_NAME).map(plain).collect()
}

/// The first `most` bytes of `text`, whole characters only.
pub fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// `text`, ended with an ellipsis where it has more than `most` bytes.
pub fn shortened(text: impl Into<String>, most: usize) -> String {
    let mut text = text.into();
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
    text
}

/// The first `most` of `names`, with an ellipsis where there are more.
pub fn first_of(names: impl IntoIterator<Item: fmt::Display>, most: usize) -> String {
    let mut names = names.into_iter();
    let mut shown: Vec<String> = names.by_ref().take(most).map(|name| name.to_string()).collect();
    if names.next().is_some() {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

/// Text on one line, whose control characters are written as escapes: a terminal shows it and does
/// nothing else.
pub struct Escaped<T>(pub T);

impl<T: fmt::Display> fmt::Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(f), "{}", self.0)
    }
}

impl<T: fmt::Debug> fmt::Debug for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(f), "{:?}", self.0)
    }
}

/// Writer that escapes what passes through it.
struct Escaping<W>(W);

impl<W: Write> Write for Escaping<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            if acts(c) { write!(self.0, "{}", c.escape_unicode())? } else { self.0.write_char(c)? }
        }
        Ok(())
    }
}

/// Whether terminals act on the character instead of showing it: control characters, ends of lines,
/// and changes of direction.
fn acts(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::{Escaped, cut, first_of, printable, shortened};

    #[test]
    fn a_terminal_gets_nothing_that_it_acts_on() {
        let hostile = "a\u{1b}[2J\u{7}\r\nb\u{9b}31m\u{202e}\u{2028}ü\u{7f}";
        let shown = "a\\u{1b}[2J\\u{7}\\u{d}\\u{a}b\\u{9b}31m\\u{202e}\\u{2028}ü\\u{7f}";
        assert_eq!(Escaped(hostile).to_string(), shown);
        assert_eq!(format!("{:?}", Escaped(format_args!("{hostile}"))), shown);
    }

    #[test]
    fn of_many_names_the_first_are_told() {
        let told = [0, 1, 2, 9].map(|last| first_of(1..=last, 2));
        assert_eq!(told, ["", "1", "1, 2", "1, 2, …"]);
    }

    #[test]
    fn names_are_plain_and_cuts_whole() {
        assert_eq!(printable("a\u{1b}b,ü"), "a?b??");
        assert_eq!(printable(&"x".repeat(100)).len(), 64);
        assert_eq!((cut("aüb", 2), cut("aüb", 3), cut("a", 9)), ("a", "aü", "a"));
        assert_eq!((shortened("aüb", 2), shortened("aüb", 4)), ("a…".to_owned(), "aüb".to_owned()));
    }
}
