//! Values of literals: integers in four bases, and strings with Python's escapes.

use num_bigint::BigInt;

use crate::number::parse_digits;
use crate::strings::push_hex_escape;

/// Length and value of the integer that `text` begins with; `None` if it is too long.
pub(super) fn integer(text: &str) -> Option<(usize, BigInt)> {
    let prefixed = [("0b", 2), ("0o", 8), ("0x", 16)].into_iter().find_map(|(prefix, radix)| {
        let head = text.get(..2)?.to_ascii_lowercase();
        let digits = text.get(2..)?.strip_prefix('_').unwrap_or(&text[2..]);
        let is_digit = |byte: &u8| char::from(*byte).is_digit(radix);
        let len = digits_len(digits, is_digit);
        (head == prefix && len > 0).then(|| (text.len() - digits.len() + len, &digits[..len], radix))
    });
    let decimal = || {
        // A zero ends a number that begins with it: `012` is two numbers.
        let is_digit = |byte: &u8| if text.starts_with('0') { *byte == b'0' } else { byte.is_ascii_digit() };
        let len = digits_len(text, is_digit);
        (len, &text[..len], 10)
    };
    let (len, digits, radix) = prefixed.unwrap_or_else(decimal);
    let number = parse_digits(&digits.replace('_', ""), radix)?;
    Some((len, number))
}

/// Replaces a string's escapes as Python's `unicode-escape` does. The error is a reason.
pub(super) fn unescape(inside: &str) -> Result<String, String> {
    let mut out = String::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = escape(&rest[at + 1..], &mut out)?;
    }
    out.push_str(rest);
    Ok(out)
}

/// Appends what the escape stands for, whose text behind the backslash is `text`, and returns the
/// text behind it.
fn escape<'a>(text: &'a str, out: &mut String) -> Result<&'a str, String> {
    let Some(c) = text.chars().next() else { return Err("\\ at end of string".to_owned()) };
    let rest = &text[c.len_utf8()..];
    let simple = match c {
        '\n' => return Ok(rest),
        '\\' | '\'' | '"' => c,
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        'x' => return hexadecimal(rest, 2, out),
        'u' => return hexadecimal(rest, 4, out),
        'U' => return hexadecimal(rest, 8, out),
        'N' => return Err("escapes by a character's name (\\N{…}) are not supported".to_owned()),
        '0'..='7' => {
            let len = text.bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
            let code = u32::from_str_radix(&text[..len], 8).unwrap_or_default();
            out.extend(char::from_u32(code));
            return Ok(&text[len..]);
        }
        _ => {
            // jinja2 spells other characters as escapes before it reads escapes, so a backslash
            // before one keeps the spelling.
            if c.is_ascii() {
                out.extend(['\\', c]);
            } else {
                push_hex_escape(c, out);
            }
            return Ok(rest);
        }
    };
    out.push(simple);
    Ok(rest)
}

fn hexadecimal<'a>(text: &'a str, len: usize, out: &mut String) -> Result<&'a str, String> {
    let digits = text.get(..len).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let digits = digits.ok_or_else(|| "truncated escape in a string".to_owned())?;
    let code = u32::from_str_radix(digits, 16).unwrap_or_default();
    let c = char::from_u32(code).ok_or_else(|| format!("U+{code:04X} is no character"))?;
    out.push(c);
    Ok(&text[len..])
}

/// Length of the digits that `text` begins with; single underscores may stand between them.
pub(super) fn digits_len(text: &str, is_digit: impl Fn(&u8) -> bool) -> usize {
    let bytes = text.as_bytes();
    let mut len = 0;
    while let Some(byte) = bytes.get(len) {
        let joins = *byte == b'_' && len > 0 && bytes.get(len + 1).is_some_and(&is_digit);
        if !is_digit(byte) && !joins {
            break;
        }
        len += 1;
    }
    len
}
