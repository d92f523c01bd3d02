//! Escaping and unescaping of the inside of a JSON string (RFC 8259, section 7), piece by piece:
//! what the routes `arguments-escaped` and `arguments-unescaped` mean, to the byte.

use super::InString;

/// How deep brackets nest in a JSON text, those in strings left out. The JSON isn't checked.
pub fn nesting(json: &str) -> usize {
    let (mut depth, mut deepest, mut string) = (0_usize, 0, InString::No);
    for byte in json.bytes() {
        match byte {
            _ if string != InString::No => {}
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        string = string.next(byte);
    }
    deepest
}

/// Appends `text` escaped for the inside of a JSON string. Only what must be escaped is.
pub fn escape(text: &str, out: &mut String) {
    let mut written = 0;
    for (at, byte) in text.bytes().enumerate() {
        let short = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            0..=0x1f => "",
            _ => continue,
        };
        out.push_str(&text[written..at]);
        written = at + 1;
        if short.is_empty() {
            out.push_str("\\u00");
            out.extend(
                [byte >> 4, byte & 15].map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])),
            );
        } else {
            out.push_str(short);
        }
    }
    out.push_str(&text[written..]);
}

/// Whether JSON takes `character` for white space.
pub const fn white(character: char) -> bool {
    matches!(character, ' ' | '\n' | '\r' | '\t')
}

/// The whole inside of a JSON string, decoded.
pub fn unescape(inside: &str) -> String {
    let (mut decoder, mut text) = (Unescape::default(), String::with_capacity(inside.len()));
    decoder.push(inside, &mut text);
    decoder.finish(&mut text);
    text
}

/// Decoder of the inside of a JSON string. An escape may be cut into several pieces; an invalid
/// escape, half a surrogate pair among them, is kept as it is.
#[derive(Debug, Default)]
pub struct Unescape {
    /// Bytes of the escape being read: between two bytes at most `\uD83D\uDE0`.
    raw: [u8; 12],
    length: usize,
}

/// Length of `\uhhhh`.
const UNIT: usize = 6;

impl Unescape {
    /// Decodes the next piece and appends it to `out`.
    pub fn push(&mut self, text: &str, out: &mut String) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.length == 0 {
                let plain = rest.find('\\').unwrap_or(rest.len());
                out.push_str(&rest[..plain]);
                rest = &rest[plain..];
                if !rest.is_empty() {
                    self.hold(b'\\');
                    rest = &rest[1..];
                }
            } else if self.step(rest.as_bytes()[0], out) {
                rest = &rest[1..];
            }
        }
    }

    /// Ends the text: an unfinished escape is kept as it is.
    pub fn finish(&mut self, out: &mut String) {
        if self.length > 0 {
            self.keep(self.length, out);
        }
    }

    /// Takes the next byte of an open escape. Returns false if `byte` doesn't fit: the escape, or
    /// its first half, has then been written out, and the caller passes `byte` again.
    fn step(&mut self, byte: u8, out: &mut String) -> bool {
        let fits = match self.length {
            1 => return self.second(byte, out),
            UNIT => byte == b'\\',
            7 => byte == b'u',
            _ => byte.is_ascii_hexdigit(),
        };
        if !fits {
            // A lone surrogate is kept as it is; what began after it may still be an escape.
            self.keep(if self.length > UNIT { UNIT } else { self.length }, out);
            return false;
        }
        self.hold(byte);
        match self.length {
            UNIT => self.unit(out),
            12 => self.pair(out),
            _ => {}
        }
        true
    }

    /// Takes the byte after the backslash.
    fn second(&mut self, byte: u8, out: &mut String) -> bool {
        let decoded = match byte {
            b'u' => {
                self.hold(byte);
                return true;
            }
            b'"' | b'\\' | b'/' => char::from(byte),
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            _ => {
                self.keep(1, out);
                return false;
            }
        };
        out.push(decoded);
        self.length = 0;
        true
    }

    /// Decodes a whole `\uhhhh`. A high surrogate waits for its second half; a low one is kept as
    /// it is.
    fn unit(&mut self, out: &mut String) {
        let unit = self.value(2);
        if let Some(decoded) = char::from_u32(unit) {
            out.push(decoded);
            self.length = 0;
        } else if unit >= 0xdc00 {
            self.keep(UNIT, out);
        }
    }

    /// Decodes two `\uhhhh`, the first of which is a high surrogate.
    fn pair(&mut self, out: &mut String) {
        let (high, low) = (self.value(2), self.value(2 + UNIT));
        if (0xdc00..0xe000).contains(&low) {
            let decoded = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            out.push(char::from_u32(decoded).expect("surrogate pairs encode characters"));
            self.length = 0;
        } else {
            self.keep(UNIT, out);
            self.unit(out);
        }
    }

    fn hold(&mut self, byte: u8) {
        self.raw[self.length] = byte;
        self.length += 1;
    }

    /// Moves the first `bytes` of the open escape to `out` as they are.
    fn keep(&mut self, bytes: usize, out: &mut String) {
        out.extend(self.raw[..bytes].iter().copied().map(char::from));
        self.raw.copy_within(bytes..self.length, 0);
        self.length -= bytes;
    }

    /// Value of the four hexadecimal digits at `at`.
    fn value(&self, at: usize) -> u32 {
        let digit = |byte: &u8| char::from(*byte).to_digit(16).expect("only hexadecimal digits are held");
        self.raw[at..at + 4].iter().fold(0, |value, byte| value << 4 | digit(byte))
    }
}
