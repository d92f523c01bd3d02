//! Classes of characters as Python's `str` sees them.

use std::fmt::Write;

use unicode_general_category::{GeneralCategory, get_general_category};

/// Whether Python's `str.isspace` holds: Unicode's white space and the four separators of ASCII.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Whether the character may stand in a name (`\w` of regular expressions).
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether `repr` writes the character as it is.
pub(crate) fn is_printable(c: char) -> bool {
    use GeneralCategory as Category;
    c == ' '
        || !matches!(
            get_general_category(c),
            Category::Control
                | Category::Format
                | Category::Surrogate
                | Category::PrivateUse
                | Category::Unassigned
                | Category::LineSeparator
                | Category::ParagraphSeparator
                | Category::SpaceSeparator
        )
}

/// Whether a line ends at the character for `str.splitlines`.
pub(crate) fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Writes Python's escape of a character: `\x`, `\u` or `\U`, by the size of its code.
pub(crate) fn push_hex_escape(c: char, out: &mut String) {
    let code = u32::from(c);
    let (letter, width) = match code {
        0..0x100 => ('x', 2),
        0x100..0x1_0000 => ('u', 4),
        _ => ('U', 8),
    };
    write!(out, "\\{letter}{code:0width$x}").expect("a String takes all text");
}

/// Position in bytes of character `index`, or the end of the string.
pub(crate) fn byte_of(string: &str, index: usize) -> usize {
    if string.is_ascii() {
        return index.min(string.len());
    }
    string.char_indices().nth(index).map_or(string.len(), |(at, _)| at)
}
