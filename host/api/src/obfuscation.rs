//! Padding of delta events, so that the sizes of encrypted packets don't show the lengths of tokens
//! (`stream_options.include_obfuscation`; on where the request doesn't say, as in OpenAI's API).

use seeded::SplitMix64;

/// Text and padding of an event add up to a multiple of this many bytes. Most tokens have fewer, so
/// most events have one size.
const BLOCK: usize = 32;

/// The characters of padding: none that JSON escapes.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Padding for one reader of a stream. It is random so that compression doesn't remove it. It
/// needn't be unguessable.
#[derive(Debug, Clone)]
pub(crate) struct Obfuscation {
    random: SplitMix64,
    text: Vec<u8>,
}

impl Obfuscation {
    /// Padding from `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: SplitMix64::new(seed), text: Vec::with_capacity(BLOCK) }
    }

    /// Padding of `wanted` characters, each of one byte.
    pub(crate) fn pad(&mut self, wanted: usize) -> &[u8] {
        self.text.clear();
        while self.text.len() < wanted {
            let bits = self.random.draw();
            // Ten characters of six bits each.
            let count = (wanted - self.text.len()).min(10);
            self.text.extend((0..count).map(|at| ALPHABET[(bits >> (6 * at) & 63) as usize]));
        }
        &self.text
    }
}

/// Number of characters of padding for an event that carries `bytes` bytes of text: 1 to 32.
pub(crate) fn length_for(bytes: usize) -> usize {
    BLOCK - bytes % BLOCK
}

/// Bytes that `text` takes inside a JSON string.
pub(crate) fn encoded_len(text: &str) -> usize {
    let escape = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 1,
        0..0x20 => 5,
        _ => 0,
    };
    text.len() + text.bytes().map(escape).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Obfuscation, encoded_len, length_for};

    #[test]
    fn padding_fills_up_to_a_block_and_is_never_empty() {
        let mut obfuscation = Obfuscation::new(7);
        for bytes in 0..200 {
            let pad = obfuscation.pad(length_for(bytes));
            assert_eq!((bytes + pad.len()) % BLOCK, 0);
            assert!((1..=BLOCK).contains(&pad.len()));
            assert_eq!(encoded_len(std::str::from_utf8(pad).unwrap()), pad.len());
        }
    }

    #[test]
    fn padding_differs_from_event_to_event() {
        let mut obfuscation = Obfuscation::new(0);
        let pads: std::collections::HashSet<Vec<u8>> =
            (0..1000).map(|_| obfuscation.pad(31).to_owned()).collect();
        assert_eq!(pads.len(), 1000);
    }

    #[test]
    fn encoded_lengths_are_those_of_the_encoder() {
        for text in ["", "plain", "\"\\\n\r\t\u{8}\u{c}", "\u{0}\u{1f}\u{7f}", "é🌍\u{2028}"] {
            assert_eq!(encoded_len(text) + 2, serde_json::to_string(text).unwrap().len(), "{text:?}");
        }
    }
}
