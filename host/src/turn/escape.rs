//! The inside of a JSON string (RFC 8259, section 7), written and read piece by piece. `call` uses both directions.

/// Appends `text` as it stands inside a JSON string. Only what must be escaped is.
pub(super) fn escape(text: &str, out: &mut String) {
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

/// Decodes the inside of a JSON string, an escape cut in two included. What is no valid escape is kept as it stands.
#[derive(Debug, Default)]
pub(super) struct Unescape {
    /// The escape being read: at most `\uD83D\uDE0`.
    raw: [u8; 12],
    length: usize,
}

/// Length of `\uhhhh`.
const UNIT: usize = 6;

impl Unescape {
    /// Decodes the next piece.
    pub(super) fn push(&mut self, text: &str, out: &mut String) {
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

    /// No more text follows: an unfinished escape is kept as it stands.
    pub(super) fn finish(&mut self, out: &mut String) {
        if self.length > 0 {
            self.keep(self.length, out);
        }
    }

    /// Goes on with an open escape; false where `byte` isn't part of it, which then has been settled.
    fn step(&mut self, byte: u8, out: &mut String) -> bool {
        let fits = match self.length {
            1 => return self.second(byte, out),
            UNIT => byte == b'\\',
            7 => byte == b'u',
            _ => byte.is_ascii_hexdigit(),
        };
        if !fits {
            // A lone surrogate stays as it is; what began after it may still be an escape.
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

    /// The byte after the backslash.
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

    /// A whole `\uhhhh`: a character, or half of one.
    fn unit(&mut self, out: &mut String) {
        let unit = self.value(2);
        if let Some(decoded) = char::from_u32(unit) {
            out.push(decoded);
            self.length = 0;
        } else if unit >= 0xdc00 {
            self.keep(UNIT, out);
        }
    }

    /// Two `\uhhhh`, the first a high surrogate.
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

    /// Gives the first `bytes` of the open escape out as they stand.
    fn keep(&mut self, bytes: usize, out: &mut String) {
        out.extend(self.raw[..bytes].iter().copied().map(char::from));
        self.raw.copy_within(bytes..self.length, 0);
        self.length -= bytes;
    }

    /// The four hexadecimal digits at `at`.
    fn value(&self, at: usize) -> u32 {
        let digit = |byte: &u8| char::from(*byte).to_digit(16).expect("only hexadecimal digits are held");
        self.raw[at..at + 4].iter().fold(0, |value, byte| value << 4 | digit(byte))
    }
}
