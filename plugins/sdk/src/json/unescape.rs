//! The inside of a JSON string, decoded byte by byte. Used for names, and by the test kit for `arguments-unescaped`.
//!
//! Lenient: an escape that JSON doesn't know stays as it is, half a surrogate pair becomes U+FFFD.

/// Decoder of one string; its state after the bytes pushed so far.
#[derive(Debug, Clone, Default)]
pub struct Unescape {
    state: State,
    /// The first half of a surrogate pair.
    high: Option<u32>,
}

#[derive(Debug, Clone, Copy, Default)]
enum State {
    #[default]
    Plain,
    Backslash,
    /// After `\u` and `digits` of its four digits, whose value is `value`.
    Unicode {
        digits: u8,
        value: u32,
    },
}

impl Unescape {
    /// Decodes one byte of the string's inside.
    pub fn push(&mut self, byte: u8, decoded: &mut Vec<u8>) {
        match self.state {
            State::Plain if byte == b'\\' => self.state = State::Backslash,
            State::Plain => self.put(&[byte], decoded),
            State::Backslash => self.escape(byte, decoded),
            State::Unicode { digits, value } => match char::from(byte).to_digit(16) {
                Some(digit) if digits == 3 => {
                    self.state = State::Plain;
                    self.unit(value << 4 | digit, decoded);
                }
                Some(digit) => self.state = State::Unicode { digits: digits + 1, value: value << 4 | digit },
                None => {
                    self.state = State::Plain;
                    self.put("\u{fffd}".as_bytes(), decoded);
                    self.push(byte, decoded);
                }
            },
        }
    }

    /// Ends the string: half a pair is written as U+FFFD.
    pub fn finish(&mut self, decoded: &mut Vec<u8>) {
        self.put(&[], decoded);
    }

    fn escape(&mut self, byte: u8, decoded: &mut Vec<u8>) {
        self.state = State::Plain;
        match byte {
            b'u' => self.state = State::Unicode { digits: 0, value: 0 },
            b'"' | b'\\' | b'/' => self.put(&[byte], decoded),
            b'b' => self.put(&[8], decoded),
            b'f' => self.put(&[12], decoded),
            b'n' => self.put(b"\n", decoded),
            b'r' => self.put(b"\r", decoded),
            b't' => self.put(b"\t", decoded),
            _ => self.put(&[b'\\', byte], decoded),
        }
    }

    /// Takes the UTF-16 code unit of a `\uhhhh`.
    fn unit(&mut self, unit: u32, decoded: &mut Vec<u8>) {
        let code = match (self.high, unit) {
            (Some(high), 0xdc00..=0xdfff) => {
                self.high = None;
                0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00)
            }
            (_, 0xd800..=0xdbff) => {
                self.put(&[], decoded);
                self.high = Some(unit);
                return;
            }
            _ => unit,
        };
        let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        self.put(character.encode_utf8(&mut [0; 4]).as_bytes(), decoded);
    }

    fn put(&mut self, bytes: &[u8], decoded: &mut Vec<u8>) {
        if self.high.take().is_some() {
            decoded.extend_from_slice("\u{fffd}".as_bytes());
        }
        decoded.extend_from_slice(bytes);
    }
}

/// The whole inside of a string, decoded.
pub fn unescape(inside: &[u8]) -> String {
    let mut decoder = Unescape::default();
    let mut text = Vec::with_capacity(inside.len());
    for byte in inside {
        decoder.push(*byte, &mut text);
    }
    decoder.finish(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}
