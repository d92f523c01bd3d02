//! From a parameter's text to its JSON, by the types that it may have.
//!
//! The text is JSON as it stands, or it is spelt as Python spells it (`True`, `None`: chat
//! templates write earlier calls that way), or it is a string. A number is JSON's number, as the
//! model wrote it; one beyond a double's range (`1e400`) stays a string, since many readers refuse
//! it, and one that is smaller than a double's (`1e-400`) is a number. `5.0` and `1e3` count as
//! integers, whose digits are moved and never rounded; one that is written out may have up to 4096
//! digits. Anything else is a string, whatever the schema says: the client sees what the model
//! wrote.

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

/// Whether a value of these types is a list, if it isn't null.
pub(crate) fn is_list_alone(types: Types) -> bool {
    types.allows(Types::ARRAY) && types.or(Types::NULL) == Types::ARRAY.or(Types::NULL)
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
        return numeric(text, types);
    }
    let boolean = ["true", "false"].into_iter().find(|word| text.eq_ignore_ascii_case(word));
    match boolean {
        Some(json) if types.allows(Types::BOOLEAN) => word(json),
        _ => Coerced::Text,
    }
}

/// What a number in JSON's syntax becomes.
fn numeric(text: &str, types: Types) -> Coerced {
    if types.allows(Types::INTEGER)
        && let Some(integer) = integer(text)
    {
        return if integer == text { Coerced::Verbatim } else { Coerced::As(integer) };
    }
    let is_finite = || text.parse().is_ok_and(f64::is_finite);
    if types.allows(Types::NUMBER) && is_finite() { Coerced::Verbatim } else { Coerced::Text }
}

/// The number as an integer, if it is one: its exponent moves its point.
fn integer(text: &str) -> Option<String> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    let digits = [whole, fraction].concat();
    let (behind, is_zero) = (digits.trim_end_matches('0').len(), digits.bytes().all(|digit| digit == b'0'));
    if is_zero {
        return Some([sign, "0"].concat());
    }
    // Nobody means the thousand digits of 1e999.
    if exponent != "0" && !text.parse().is_ok_and(f64::is_finite) {
        return None;
    }
    let length =
        usize::try_from(exponent.parse::<i64>().ok()?.checked_add_unsigned(whole.len() as u64)?).ok()?;
    if length < behind {
        return None;
    }
    let digits = format!("{digits:0<length$}");
    Some([sign, digits[..length].trim_start_matches('0')].concat())
}
