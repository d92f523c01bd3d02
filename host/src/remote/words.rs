//! What engines elsewhere say, as it may be said on.

/// Characters of an engine's own words.
const MOST: usize = 200;

/// An engine's words in one line of plain ASCII, cut short.
pub(super) fn plain(words: &str) -> String {
    let plain = |char: char| if char.is_ascii_graphic() || char == ' ' { char } else { '?' };
    words.chars().take(MOST).map(plain).collect()
}
