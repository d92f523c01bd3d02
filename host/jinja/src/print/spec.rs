//! Python's format specifications (`[[fill]align][sign][#][0][width][grouping][.precision][type]`),
//! shared by `str.format` and `%`.

use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive};

use crate::error::{Error, Result};
use crate::number::Number;
use crate::text::{Origin, Text};
use crate::value::Value;

/// Maximum width and precision.
pub(crate) const MAX_WIDTH: usize = 1 << 15;

/// Parsed format specification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Spec {
    pub(crate) fill: Option<char>,
    pub(crate) align: Option<char>,
    pub(crate) sign: Option<char>,
    pub(crate) alternate: bool,
    pub(crate) zero: bool,
    pub(crate) width: usize,
    pub(crate) grouping: Option<char>,
    pub(crate) precision: Option<usize>,
    pub(crate) kind: Option<char>,
}

impl Spec {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut spec = Self::default();
        let chars: Vec<char> = text.chars().collect();
        let is_align = |c: Option<&char>| c.is_some_and(|c| matches!(c, '<' | '>' | '=' | '^'));
        let mut at = 0;
        if is_align(chars.get(1)) {
            (spec.fill, spec.align) = (Some(chars[0]), Some(chars[1]));
            at = 2;
        } else if is_align(chars.first()) {
            spec.align = Some(chars[0]);
            at = 1;
        }
        let mut next = |wanted: &[char]| {
            let found = chars.get(at).copied().filter(|c| wanted.contains(c));
            at += usize::from(found.is_some());
            found
        };
        spec.sign = next(&['+', '-', ' ']);
        spec.alternate = next(&['#']).is_some();
        spec.zero = next(&['0']).is_some();
        let number = |next: &mut dyn FnMut(&[char]) -> Option<char>| {
            let mut digits = String::new();
            while let Some(c) = next(&['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) {
                digits.push(c);
            }
            match digits.parse::<usize>() {
                Ok(number) if number <= MAX_WIDTH => Ok(Some(number)),
                Ok(_) => Err(Error::too_large()),
                Err(_) if digits.is_empty() => Ok(None),
                Err(_) => Err(Error::runtime("Too many decimal digits in format string")),
            }
        };
        spec.width = number(&mut next)?.unwrap_or(0);
        spec.grouping = next(&[',', '_']);
        if next(&['.']).is_some() {
            let precision = number(&mut next)?;
            spec.precision =
                Some(precision.ok_or_else(|| Error::runtime("Format specifier missing precision"))?);
        }
        spec.kind = chars.get(at).copied();
        if chars.len() > at + 1 {
            return Err(Error::runtime("Invalid format specifier"));
        }
        Ok(spec)
    }

    /// `format(value, spec)`.
    pub(crate) fn format(&self, value: &Value) -> Result<Text> {
        let unknown = |kind| {
            let name = value.type_name();
            Err(Error::runtime(format!("Unknown format code '{kind}' for object of type '{name}'")))
        };
        match (value, self.kind) {
            (Value::Text(text), None | Some('s')) => {
                if self.sign.is_some() || self.alternate || self.align == Some('=') || self.grouping.is_some()
                {
                    return Err(Error::runtime("this option isn't allowed in a string's format specifier"));
                }
                let cut =
                    self.precision.map(|count| text.slice(0..crate::strings::byte_of(text.as_str(), count)));
                Ok(self.pad(cut.as_ref().unwrap_or(text), '<'))
            }
            (Value::Bool(_), None | Some('s')) if self.kind.is_some() || *self == Self::default() => {
                Ok(self.pad(&Text::new(Origin::Request, super::scalar(value)), '<'))
            }
            _ if value.is_number() => self.format_number(value),
            (Value::Text(_), Some(kind)) => unknown(kind),
            _ => Err(Error::runtime(format!(
                "unsupported format string passed to {}.__format__",
                value.type_name()
            ))),
        }
    }

    fn format_number(&self, value: &Value) -> Result<Text> {
        let number = value.number().ok_or_else(|| Error::runtime("a number is required"))?;
        let (negative, digits) = match (&number, self.kind) {
            (Number::Int(number), None | Some('d' | 'n' | 'b' | 'o' | 'x' | 'X' | 'c')) => {
                self.integer(number)?
            }
            (number, None | Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'n' | '%')) => {
                let float = match number {
                    Number::Float(float) => *float,
                    Number::Int(number) => number
                        .to_f64()
                        .filter(|float| float.is_finite())
                        .ok_or_else(|| Error::runtime("int too large to convert to float"))?,
                };
                (float.is_sign_negative() && !float.is_nan(), self.float(float.abs()))
            }
            (_, Some(kind)) => {
                let name = value.type_name();
                return Err(Error::runtime(format!(
                    "Unknown format code '{kind}' for object of type '{name}'"
                )));
            }
        };
        let sign = match (negative, self.sign) {
            (true, _) => "-",
            (false, Some('+')) => "+",
            (false, Some(' ')) => " ",
            _ => "",
        };
        Ok(self.pad_number(sign, &digits))
    }

    fn integer(&self, number: &BigInt) -> Result<(bool, String)> {
        let (radix, prefix) = match self.kind {
            Some('b') => (2, "0b"),
            Some('o') => (8, "0o"),
            Some('x') => (16, "0x"),
            Some('X') => (16, "0X"),
            Some('c') => {
                let c = number.to_u32().and_then(char::from_u32);
                let c = c.ok_or_else(|| Error::runtime("%c arg not in range(0x110000)"))?;
                return Ok((false, c.to_string()));
            }
            _ => (10, ""),
        };
        if self.precision.is_some() {
            return Err(Error::runtime("Precision not allowed in integer format specifier"));
        }
        let mut digits = number.abs().to_str_radix(radix);
        if self.kind == Some('X') {
            digits.make_ascii_uppercase();
        }
        let digits = self.grouped(&digits, if radix == 10 { 3 } else { 4 });
        let prefix = if self.alternate { prefix } else { "" };
        Ok((number.is_negative(), format!("{prefix}{digits}")))
    }

    /// Digits of a number that isn't negative.
    fn float(&self, number: f64) -> String {
        let precision = self.precision.unwrap_or(6);
        let upper = matches!(self.kind, Some('E' | 'F' | 'G'));
        let digits = match self.kind {
            _ if !number.is_finite() => not_finite(number).to_owned(),
            Some('%') => fixed(number * 100.0, precision, self.alternate),
            Some('e' | 'E') => exponential(number, precision, self.alternate),
            Some('f' | 'F') => fixed(number, precision, self.alternate),
            None if self.precision.is_none() => super::float(number),
            None => general(number, precision, self.alternate, true),
            _ => general(number, precision, self.alternate, false),
        };
        let whole = digits.bytes().take_while(u8::is_ascii_digit).count();
        let mut out = self.grouped(&digits[..whole], 3) + &digits[whole..];
        if self.kind == Some('%') {
            out.push('%');
        }
        if upper { out.to_uppercase() } else { out }
    }

    fn grouped(&self, digits: &str, size: usize) -> String {
        let Some(separator) = self.grouping else { return digits.to_owned() };
        let mut out = String::new();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(size) {
                out.push(separator);
            }
            out.push(digit);
        }
        out
    }

    /// Fills with zeros that are grouped, too.
    fn zero_grouped(&self, sign: &str, digits: &str) -> String {
        let whole = digits.find('.').unwrap_or(digits.len());
        let (whole, rest) = digits.split_at(whole);
        let separators = |c: char| Some(c) != self.grouping;
        let mut plain: String = whole.chars().filter(|c| separators(*c)).collect();
        let at_least = self.width.saturating_sub(sign.len() + rest.len()) * 3 / 4;
        plain.insert_str(0, &"0".repeat(at_least.saturating_sub(plain.len())));
        loop {
            let grouped = self.grouped(&plain, 3);
            if sign.len() + grouped.len() + rest.len() >= self.width {
                return format!("{sign}{grouped}{rest}");
            }
            plain.insert(0, '0');
        }
    }

    fn pad_number(&self, sign: &str, digits: &str) -> Text {
        if self.zero && self.align.is_none() && self.grouping.is_some() {
            return Text::new(Origin::Request, self.zero_grouped(sign, digits));
        }
        let after_sign = self.align == Some('=') || (self.zero && self.align.is_none());
        let len = sign.chars().count() + digits.chars().count();
        let missing = self.width.saturating_sub(len);
        if after_sign {
            let fill = self.fill.unwrap_or(if self.zero { '0' } else { ' ' });
            // A prefix such as `0x` stays before the filling.
            let prefix = if self.alternate && digits.starts_with('0') && digits.len() > 2 { 2 } else { 0 };
            let prefix =
                if digits[..prefix].ends_with(|c: char| c.is_ascii_alphabetic()) { prefix } else { 0 };
            let filling: String = std::iter::repeat_n(fill, missing).collect();
            let text = format!("{sign}{}{filling}{}", &digits[..prefix], &digits[prefix..]);
            return Text::new(Origin::Request, text);
        }
        self.pad(&Text::new(Origin::Request, format!("{sign}{digits}")), '>')
    }

    /// Pads to the width.
    pub(crate) fn pad(&self, text: &Text, default_align: char) -> Text {
        let missing = self.width.saturating_sub(text.char_count());
        let fill = self.fill.unwrap_or(if self.zero { '0' } else { ' ' });
        let left = match self.align.unwrap_or(default_align) {
            '<' => 0,
            '^' => missing / 2,
            _ => missing,
        };
        text.padded(left, missing - left, fill)
    }
}

pub(crate) fn not_finite(number: f64) -> &'static str {
    match number {
        _ if number.is_nan() => "nan",
        _ if number > 0.0 => "inf",
        _ => "-inf",
    }
}

fn fixed(number: f64, precision: usize, alternate: bool) -> String {
    let digits = format!("{number:.precision$}");
    if alternate && precision == 0 { digits + "." } else { digits }
}

fn exponential(number: f64, precision: usize, alternate: bool) -> String {
    let spelt = format!("{number:.precision$e}");
    let (digits, exponent) = spelt.split_once('e').unwrap_or((&spelt, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let point = if alternate && precision == 0 { "." } else { "" };
    format!("{digits}{point}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// The shorter of fixed and exponential with `precision` significant digits. `as_float` keeps one
/// digit behind the point.
fn general(number: f64, precision: usize, alternate: bool, as_float: bool) -> String {
    let precision = precision.max(1);
    let spelt = format!("{number:.*e}", precision - 1);
    let exponent: i32 = spelt.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let limit = i32::try_from(precision).unwrap_or(i32::MAX) - i32::from(as_float);
    let is_fixed = (-4..limit.max(i32::from(!as_float))).contains(&exponent);
    let trimmed = |digits: &str| {
        if digits.contains('.') && !alternate {
            digits.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            digits.to_owned()
        }
    };
    if is_fixed {
        let decimals = i32::try_from(precision).unwrap_or(i32::MAX) - 1 - exponent;
        let digits = trimmed(&format!("{number:.*}", usize::try_from(decimals).unwrap_or(0)));
        return if as_float && !digits.contains('.') { digits + ".0" } else { digits };
    }
    let spelt = exponential(number, precision - 1, alternate);
    let (digits, exponent) = spelt.split_once('e').unwrap_or((&spelt, "+00"));
    format!("{}e{exponent}", trimmed(digits))
}
