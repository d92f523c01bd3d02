//! Scans over the text of JSON. All but the first two functions expect text whose syntax has been
//! checked.

use memchr::{memchr_iter, memchr2};
use serde_json::Deserializer;
use serde_json::value::RawValue;

/// Whether brackets nest deeper than `max` (those in strings don't count).
pub(super) fn nests_deeper(json: &[u8], max: usize) -> bool {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(&byte) = json.get(at) {
        at += 1;
        match byte {
            b'"' => at += string_length(&json[at..]),
            b'{' | b'[' => {
                depth += 1;
                if depth > max {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// Offset of the first escape that is half of a surrogate pair, which no text can hold (RFC 8259,
/// 8.2).
pub(super) fn lone_surrogate(json: &str) -> Option<usize> {
    let bytes = json.as_bytes();
    let mut next = 0;
    for at in memchr_iter(b'\\', bytes) {
        if at < next {
            continue;
        }
        next = at + 2;
        match escaped_unit(&bytes[at..]) {
            Some(0xD800..=0xDBFF) => match escaped_unit(&bytes[at + 6..]) {
                Some(0xDC00..=0xDFFF) => next = at + 12,
                _ => return Some(at),
            },
            Some(0xDC00..=0xDFFF) => return Some(at),
            _ => {}
        }
    }
    None
}

/// UTF-16 unit of the escape (`\u` and four digits) at the beginning of `bytes`.
fn escaped_unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Number of bytes up to and with the quote that ends a string; all of `rest` if none does. `rest`
/// begins inside the string.
fn string_length(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = memchr2(b'"', b'\\', &rest[at..]) {
        at += found;
        if rest[at] == b'"' {
            return at + 1;
        }
        at += 2;
        if at >= rest.len() {
            break;
        }
    }
    rest.len()
}

/// Iterator over the values in an array or object; names of an object's fields are values too.
#[derive(Debug, Clone)]
pub(super) struct Values<'a>(&'a str);

impl<'a> Values<'a> {
    /// The values in `json`, an array or object with its brackets.
    pub(super) fn inside(json: &'a str) -> Self {
        Self(&json[1..json.len() - 1])
    }
}

impl<'a> Iterator for Values<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        // What lies between two values is white space, a comma or a colon.
        let rest = self.0.trim_start_matches([' ', '\n', '\r', '\t', ',', ':']);
        if rest.is_empty() {
            return None;
        }
        let mut values = Deserializer::from_str(rest).into_iter::<&'a RawValue>();
        let value = values.next()?.expect("the whole body has been checked").get();
        self.0 = &rest[values.byte_offset()..];
        Some(value)
    }
}

/// The same JSON without white space between its tokens.
pub(super) fn minified(json: &str) -> String {
    let bytes = json.as_bytes();
    let mut out = String::with_capacity(json.len());
    let mut at = 0;
    while at < bytes.len() {
        let from = at;
        at += 1;
        match bytes[from] {
            b' ' | b'\n' | b'\r' | b'\t' => continue,
            b'"' => at += string_length(&bytes[at..]),
            _ => {}
        }
        out.push_str(&json[from..at]);
    }
    out
}

/// Number of values in a JSON text, the outermost one and names of fields included.
pub(super) fn count_values(json: &str) -> usize {
    let bytes = json.as_bytes();
    let (mut count, mut at) = (1, 0);
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => at += string_length(&bytes[at..]),
            b',' | b':' => count += 1,
            b'[' | b'{' if !matches!(bytes.get(at), Some(b']' | b'}')) => count += 1,
            _ => {}
        }
    }
    count
}
