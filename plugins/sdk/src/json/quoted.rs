//! The inside of a JSON string, up to the quote that ends it.

/// A string between two of its bytes.
#[derive(Debug, Default)]
pub(super) struct Quoted {
    escaped: bool,
}

impl Quoted {
    /// Whether the next byte is escaped.
    pub(super) fn is_escaped(&self) -> bool {
        self.escaped
    }

    /// Reads on; how many of these bytes stand before the quote, if it is among them.
    pub(super) fn read(&mut self, text: &[u8]) -> Option<usize> {
        text.iter().position(|byte| {
            let is_plain = !std::mem::take(&mut self.escaped);
            self.escaped = is_plain && *byte == b'\\';
            is_plain && *byte == b'"'
        })
    }
}
