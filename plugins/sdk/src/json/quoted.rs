//! The inside of a JSON string, up to the quote that ends it.

/// Reader of the inside of a string. Its state says whether the byte read last was an unescaped
/// backslash.
#[derive(Debug, Default)]
pub(super) struct Quoted {
    escaped: bool,
}

impl Quoted {
    /// Whether the next byte is escaped.
    pub(super) fn is_escaped(&self) -> bool {
        self.escaped
    }

    /// Reads `text`. Returns the offset of the closing quote, if it is in `text`.
    pub(super) fn read(&mut self, text: &[u8]) -> Option<usize> {
        text.iter().position(|byte| {
            let is_plain = !std::mem::take(&mut self.escaped);
            self.escaped = is_plain && *byte == b'\\';
            is_plain && *byte == b'"'
        })
    }
}
