//! The JSON scanner against itself and against serde: the oracle of its property tests and of its
//! fuzz target.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use contract::json_text::{Unescape, unescape};
use parser_sdk::json::{Event, Scanner};

/// A member of an object as the scanner finds it.
#[derive(Debug)]
pub struct Member {
    /// Its key, decoded; `None` is one too long to be kept.
    pub key: Option<String>,
    /// Its value as written.
    pub value: String,
    /// Its value decoded, if it is a string short enough to be kept.
    pub string: Option<String>,
}

/// The members of an object, found byte by byte.
pub fn scanned_members(json: &str) -> Vec<Member> {
    members(json.as_bytes(), &scanned(json.as_bytes()))
}

/// Scans `bytes` byte by byte and in pieces of `sizes` bytes (over and over), which must give the
/// same events; where serde reads an object in them, the members found are serde's: names, order,
/// spans; and every string's inside is decoded as serde decodes it.
///
/// # Panics
/// Events, members or strings differ.
pub fn check_scan(bytes: &[u8], sizes: &[usize]) {
    let each = scanned(bytes);
    check_pieces(bytes, sizes, &each);
    check_end(bytes, sizes, &each);
    check_unescape(bytes, sizes);
    let Ok(Object(expected)) = serde_json::from_slice(bytes) else { return };
    let found = members(bytes, &each);
    assert_eq!(found.len(), expected.len(), "{found:?}\nserde: {expected:?}");
    for (Member { key, value, .. }, (serde_key, serde_value)) in found.iter().zip(&expected) {
        assert!(key.as_ref().is_none_or(|key| key == serde_key), "{key:?}, serde: {serde_key:?}");
        assert_eq!(value, serde_value);
    }
}

fn scanned(bytes: &[u8]) -> Vec<(Event, Option<String>)> {
    let mut scanner = Scanner::default();
    bytes.iter().map(|byte| pushed(&mut scanner, *byte)).collect()
}

/// Pushes a byte. Returns its event, and the string that is known after it.
fn pushed(scanner: &mut Scanner, byte: u8) -> (Event, Option<String>) {
    (scanner.push(byte), scanner.string().map(Cow::into_owned))
}

/// Checks that bytes that may be skipped have no event, and that the bytes after them have the
/// events that they have without skipping.
fn check_pieces(bytes: &[u8], sizes: &[usize], each: &[(Event, Option<String>)]) {
    let (mut scanner, mut at) = (Scanner::default(), 0);
    for size in sizes.iter().cycle() {
        let end = bytes.len().min(at + (*size).max(1));
        while at < end {
            let skipped = scanner.skip(&bytes[at..end]);
            assert!(
                each[at..at + skipped].iter().all(|(event, _)| *event == Event::Nothing),
                "skipped at {at}"
            );
            at += skipped;
            if at < end {
                assert_eq!(pushed(&mut scanner, bytes[at]), each[at], "at byte {at}");
                at += 1;
            }
        }
        if at == bytes.len() {
            return;
        }
    }
}

/// Checks that reading finds the object's end, however the bytes are cut.
fn check_end(bytes: &[u8], sizes: &[usize], each: &[(Event, Option<String>)]) {
    let expected = each.iter().position(|(event, _)| *event == Event::End).map(|at| at + 1);
    let (mut scanner, mut rest, mut read) = (Scanner::default(), bytes, 0);
    for size in sizes.iter().cycle() {
        let (piece, later) = rest.split_at(rest.len().min((*size).max(1)));
        if let Some(end) = scanner.read(piece) {
            assert_eq!(Some(read + end), expected);
            return;
        }
        (rest, read) = (later, read + piece.len());
        if rest.is_empty() {
            break;
        }
    }
    assert_eq!(expected, None);
}

/// Checks that a string's inside is decoded alike in pieces and whole, and as serde decodes it.
fn check_unescape(bytes: &[u8], sizes: &[usize]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let (mut decoder, mut out) = (Unescape::default(), String::new());
    for piece in super::cut(text, sizes) {
        decoder.push(piece, &mut out);
    }
    decoder.finish(&mut out);
    let whole = unescape(text);
    assert_eq!(out, whole);
    if let Ok(expected) = serde_json::from_str::<String>(&format!("\"{text}\"")) {
        assert_eq!(whole, expected);
    }
}

fn members(bytes: &[u8], each: &[(Event, Option<String>)]) -> Vec<Member> {
    let (mut key, mut start, mut members) = (None, None, Vec::new());
    for (at, (event, string)) in each.iter().enumerate() {
        let end = match event {
            Event::Key => {
                key.clone_from(string);
                continue;
            }
            Event::ValueStart => {
                start = Some(at);
                continue;
            }
            Event::ValueEnd => at + 1,
            Event::ValueEndBefore | Event::End => at,
            Event::Nothing | Event::Object | Event::NotAnObject | Event::Stray => continue,
        };
        if let Some(start) = start.take() {
            let value = String::from_utf8_lossy(&bytes[start..end]).into_owned();
            members.push(Member { key: key.clone(), value, string: string.clone() });
        }
    }
    members
}

/// An object's members as serde finds them, in their order, with duplicates.
struct Object(Vec<(String, String)>);

impl<'de> serde::Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    members.push((key, value.get().to_owned()));
                }
                Ok(Object(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}
