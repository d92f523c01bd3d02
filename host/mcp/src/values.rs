//! Counter of the JSON values of a message, which is read byte by byte before the MCP library
//! builds them: a value of a few bytes takes hundreds in memory.

use contract::InString;

use super::error::McpError;

/// Maximum number of JSON values of a message: as many as the tools of a request may have.
pub(super) const MESSAGE_VALUES: usize = 1 << 16;

/// Counter of one message's values.
#[derive(Debug, Default)]
pub(super) struct ValueCounter {
    values: usize,
    string: InString,
}

impl ValueCounter {
    /// Reads the next bytes of the message.
    ///
    /// # Errors
    /// It has more values than a message may have.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<(), McpError> {
        for byte in bytes {
            if self.string == InString::No && matches!(byte, b'{' | b'[' | b',' | b':') {
                self.values += 1;
            }
            self.string = self.string.next(*byte);
        }
        if self.values > MESSAGE_VALUES { Err(McpError::TooManyValues(MESSAGE_VALUES)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_count_at_any_cut_but_not_inside_strings() {
        let message = br#"{"a,:[{": [1, "\",,", {}], "b\\": "\\,"}"#;
        for cut in 0..message.len() {
            let mut counter = ValueCounter::default();
            counter.read(&message[..cut]).and_then(|()| counter.read(&message[cut..])).unwrap();
            assert_eq!(counter.values, 8, "{cut}");
        }
        let many = ",".repeat(MESSAGE_VALUES + 1);
        assert_eq!(
            ValueCounter::default().read(many.as_bytes()),
            Err(McpError::TooManyValues(MESSAGE_VALUES))
        );
    }
}
