//! Table of the bytes of every token, for the two ways in which vocabularies spell bytes.

use std::sync::LazyLock;

use serde_json::Value;
use tokenizers::DecoderWrapper;

/// Bytes of all tokens, in the order of their ids.
#[derive(Debug)]
pub(super) struct TokenBytes {
    bytes: Vec<u8>,
    /// End of each token's bytes in `bytes`.
    ends: Vec<u32>,
}

/// How a vocabulary spells bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alphabet {
    /// As GPT-2: a character for each byte.
    ByteLevel,
    /// As `SentencePiece`: text with [`SPACE`], and `<0x0A>` for a byte that is no text.
    SentencePiece {
        /// Whether the space at the beginning of a whole text is none.
        drops_first_space: bool,
    },
}

/// `SentencePiece`'s space.
const SPACE: &str = "\u{2581}";

impl Alphabet {
    /// The alphabet that a decoder reads; `None` if it does more than that.
    pub(super) fn of(decoder: &DecoderWrapper) -> Option<Self> {
        if matches!(decoder, DecoderWrapper::ByteLevel(_)) {
            return Some(Self::ByteLevel);
        }
        let json = serde_json::to_value(decoder).ok()?;
        let steps = json["decoders"].as_array()?;
        let is_space = |step: &Value| {
            step["type"] == "Replace" && step["pattern"]["String"] == SPACE && step["content"] == " "
        };
        let is_fallback = |step: &Value| step["type"] == "ByteFallback";
        let is_strip = |step: &Value| {
            step["type"] == "Strip" && step["content"] == " " && step["start"] == 1 && step["stop"] == 0
        };
        let is_known =
            |step: &Value| is_space(step) || is_fallback(step) || step["type"] == "Fuse" || is_strip(step);
        let spells = steps.iter().any(is_space) && steps.iter().any(is_fallback);
        let drops_first_space = steps.iter().any(is_strip);
        (spells && steps.iter().all(is_known)).then_some(Self::SentencePiece { drops_first_space })
    }
}

/// Spelling of a token in a vocabulary.
pub(super) enum Spelling {
    /// Text of the token.
    Literal(String),
    /// Bytes of the token, written in the vocabulary's alphabet.
    Bytes(String),
    /// No token has the id.
    None,
}

impl TokenBytes {
    /// Makes the table of `tokens`, which come in the order of their ids.
    pub(super) fn new(tokens: impl Iterator<Item = Spelling>, alphabet: Alphabet) -> Self {
        let characters = byte_alphabet();
        let mut table = Self { bytes: Vec::new(), ends: Vec::with_capacity(tokens.size_hint().0) };
        for token in tokens {
            match token {
                Spelling::Literal(text) => table.bytes.extend_from_slice(text.as_bytes()),
                Spelling::Bytes(text) if alphabet != Alphabet::ByteLevel => match fallback_byte(&text) {
                    Some(byte) => table.bytes.push(byte),
                    None => table.bytes.extend_from_slice(text.replace(SPACE, " ").as_bytes()),
                },
                Spelling::Bytes(text) => table.bytes.extend(spelt_bytes(&text, &characters)),
                Spelling::None => {}
            }
            table.ends.push(u32::try_from(table.bytes.len()).expect("a vocabulary of less than 4 GiB"));
        }
        table
    }

    /// Size of the longest token, in bytes.
    pub(super) fn longest(&self) -> usize {
        let starts = [0].iter().chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| (end - start) as usize).max().unwrap_or(0)
    }

    /// Returns the bytes of token `id`; empty if there is no such token.
    pub(super) fn get(&self, id: u32) -> &[u8] {
        let id = id as usize;
        let Some(&end) = self.ends.get(id) else { return &[] };
        let start = id.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start as usize..end as usize]
    }
}

/// Returns the byte that `SentencePiece` spells so.
fn fallback_byte(spelling: &str) -> Option<u8> {
    let digits = spelling.strip_prefix("<0x")?.strip_suffix('>')?;
    (digits.len() == 2).then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}

/// Returns the bytes that `spelling` stands for in GPT-2's alphabet. A spelling with a character outside the alphabet
/// stands for its own UTF-8 bytes.
fn spelt_bytes(spelling: &str, alphabet: &[Option<u8>]) -> Vec<u8> {
    let byte = |c: char| alphabet.get(c as usize).copied().flatten();
    spelling.chars().map(byte).collect::<Option<Vec<u8>>>().unwrap_or_else(|| spelling.as_bytes().to_vec())
}

/// Writes `bytes` in GPT-2's alphabet.
pub(super) fn spell(bytes: &[u8]) -> String {
    static CHARACTERS: LazyLock<Vec<char>> = LazyLock::new(|| {
        let mut characters = vec!['\0'; 256];
        for (c, byte) in ('\0'..).zip(byte_alphabet()) {
            if let Some(byte) = byte {
                characters[usize::from(byte)] = c;
            }
        }
        characters
    });
    bytes.iter().map(|byte| CHARACTERS[usize::from(*byte)]).collect()
}

/// Returns GPT-2's alphabet as a table from character to byte: a printable Latin-1 character stands
/// for its own byte, the 68 characters from U+0100 on stand for the other bytes, in order.
fn byte_alphabet() -> Vec<Option<u8>> {
    let mut alphabet = vec![None; 0x144];
    let mut next = 0x100;
    for byte in 0..=u8::MAX {
        if matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF) {
            alphabet[usize::from(byte)] = Some(byte);
        } else {
            alphabet[next] = Some(byte);
            next += 1;
        }
    }
    alphabet
}
