//! From a parameter's text to its JSON, by the types that it may have.
//!
//! The text is JSON as it stands, or it is spelt as Python spells it (`True`, `None`: chat
//! templates write earlier calls that way), or it is a string. A number is JSON's number and
//! finite; `5.0` and `1e3` count as integers. An integer may have any value, as it has in JSON; if
//! it is written with an exponent, it is at most 2^53, where doubles hold every integer. Anything
//! else is a string, whatever the schema says: the client sees what the model wrote.

use serde::de::IgnoredAny;

use contract::Types;
use contract::json_text::white;

/// Longest text of a null or boolean, in bytes.
const WORD: usize = 64;
/// Longest text of a number: it is held until it is whole.
const NUMBER: usize = 4096;

/// What a parameter's text becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Coerced {
    /// JSON as it stands, but for the white space around it.
    Verbatim,
    /// This JSON instead of the text.
    As(String),
    /// A string.
    Text,
}

/// What `text` becomes if its value may have any of `types`.
pub fn coerce(text: &str, types: Types) -> Coerced {
    let text = text.trim_matches(white);
    let is_json = || serde_json::from_str::<IgnoredAny>(text).is_ok();
    match text.as_bytes().first() {
        Some(b'{') if types.allows(Types::OBJECT) && is_json() => Coerced::Verbatim,
        Some(b'[') if types.allows(Types::ARRAY) && is_json() => Coerced::Verbatim,
        None if types.allows(Types::STRING) => Coerced::Text,
        None if types.allows(Types::ARRAY) => Coerced::As("[]".into()),
        None if types.allows(Types::OBJECT) => Coerced::As("{}".into()),
        None if types.allows(Types::NULL) => Coerced::As("null".into()),
        Some(b'{' | b'[') | None => Coerced::Text,
        Some(first) if text.len() <= longest(*first) => scalar(text, types),
        Some(_) => Coerced::Text,
    }
}

/// Whether a value with this text so far, whose first byte that isn't white space is `first`, can
/// become anything but a string.
pub(crate) fn may_be_typed(first: Option<u8>, text: &str, types: Types) -> bool {
    match first {
        Some(b'{') => types.allows(Types::OBJECT),
        Some(b'[') => types.allows(Types::ARRAY),
        None => true,
        Some(first) if text.len() > longest(first) => false,
        Some(_) if text.len() > WORD && !text.bytes().all(is_of_number) => false,
        Some(b'-' | b'0'..=b'9') => types.allows(Types::INTEGER.or(Types::NUMBER)),
        Some(b't' | b'T' | b'f' | b'F') => types.allows(Types::BOOLEAN),
        Some(b'n' | b'N') => types.allows(Types::NULL),
        Some(_) => false,
    }
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E') || white(char::from(byte))
}

/// Length in bytes of the longest null, boolean or number whose first byte is `first`.
fn longest(first: u8) -> usize {
    if matches!(first, b'-' | b'0'..=b'9') { NUMBER } else { WORD }
}

fn scalar(text: &str, types: Types) -> Coerced {
    let word = |json: &str| if text == json { Coerced::Verbatim } else { Coerced::As(json.into()) };
    if types.allows(Types::NULL) && (text.eq_ignore_ascii_case("null") || text == "None") {
        return word("null");
    }
    if text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
        && serde_json::from_str::<IgnoredAny>(text).is_ok()
    {
        return numeric(text, text.parse().unwrap_or(f64::INFINITY), types);
    }
    let boolean = ["true", "false"].into_iter().find(|word| text.eq_ignore_ascii_case(word));
    match boolean {
        Some(json) if types.allows(Types::BOOLEAN) => word(json),
        _ => Coerced::Text,
    }
}

/// What a number in JSON's syntax becomes; `number` is its value, perhaps rounded.
fn numeric(text: &str, number: f64, types: Types) -> Coerced {
    if types.allows(Types::INTEGER)
        && let Some(integer) = integer(text, number)
    {
        return if integer == text { Coerced::Verbatim } else { Coerced::As(integer) };
    }
    if types.allows(Types::NUMBER) && number.is_finite() { Coerced::Verbatim } else { Coerced::Text }
}

/// The number as an integer, if it is one.
fn integer(text: &str, number: f64) -> Option<String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if !text.contains(['e', 'E']) {
        return fraction.bytes().all(|digit| digit == b'0').then(|| whole.to_owned());
    }
    // Beyond this a double doesn't hold every integer.
    (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0).then(|| format!("{number:.0}"))
}
