//! Messages of remote engines, made safe for logs and errors.

/// Maximum number of characters of an engine's message.
const MOST: usize = 200;

/// An engine's message as one line of printable ASCII, cut at `MOST` characters.
pub(super) fn plain(words: &str) -> String {
    let plain = |char: char| if char.is_ascii_graphic() || char == ' ' { char } else { '?' };
    words.chars().take(MOST).map(plain).collect()
}
