//! Filters of numbers.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::Pow;

use crate::Origin;
use crate::arguments::{Arguments, flag};
use crate::arithmetic;
use crate::error::{Error, Result};
use crate::eval::Run;
use crate::number::{self, Number};
use crate::strings::is_space;
use crate::value::Value;

impl Run<'_> {
    pub(super) fn number_filter(
        &mut self,
        name: &str,
        value: &Value,
        arguments: &Arguments,
    ) -> Result<Value> {
        match name {
            "abs" => {
                let [] = arguments.exactly(name)?;
                if let Value::Undefined(missing) = value {
                    return Err(missing.error());
                }
                let message = || format!("bad operand type for abs(): '{}'", self.type_name(value));
                arithmetic::absolute(value).ok_or_else(|| Error::runtime(message()))
            }
            "int" => {
                let [default, base] = arguments.bind(name, ["default", "base"], 0)?;
                let base = base.and_then(|base| base.as_index()).unwrap_or(10);
                let found = match value {
                    Value::Text(text) => parse_integer(text.as_str(), base).or_else(|| {
                        parse_float(text.as_str()).and_then(|float| arithmetic::truncate(float).ok())
                    }),
                    Value::Float(float) if float.is_infinite() => Some(arithmetic::truncate(*float)?),
                    Value::Float(float) => arithmetic::truncate(*float).ok(),
                    other if other.is_number() => arithmetic::signed(other, false),
                    Value::Undefined(missing) => return Err(missing.error()),
                    _ => None,
                };
                Ok(found.or(default).unwrap_or(Value::Int(0)))
            }
            "float" => {
                let [default] = arguments.bind(name, ["default"], 0)?;
                if let Value::Undefined(missing) = value {
                    return Err(missing.error());
                }
                let found = float_of(value).map(Value::Float);
                Ok(found.or(default).unwrap_or(Value::Float(0.0)))
            }
            "round" => round(value, arguments),
            _ => {
                let [binary] = arguments.bind(name, ["binary"], 0)?;
                let bytes = float_of(value).ok_or_else(|| Error::runtime("a size must be a number"))?;
                let text = file_size(bytes, flag(binary));
                Ok(Value::text(Origin::Request, text))
            }
        }
    }
}

/// `float(value)`.
fn float_of(value: &Value) -> Option<f64> {
    match value {
        Value::Text(text) => parse_float(text.as_str()),
        other => match arithmetic::arithmetic(crate::ast::BinaryOp::Mul, other, &Value::Float(1.0)) {
            Ok(Some(Value::Float(float))) => Some(float),
            _ => None,
        },
    }
}

/// `int(text, base)`.
fn parse_integer(text: &str, base: isize) -> Option<Value> {
    let text = text.trim_matches(is_space);
    let (negative, digits) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    let prefixes = [("0x", 16), ("0o", 8), ("0b", 2)];
    let lower = digits.to_ascii_lowercase();
    let prefixed =
        prefixes.iter().find(|(prefix, radix)| lower.starts_with(prefix) && (base == 0 || base == *radix));
    let (digits, radix) = match prefixed {
        Some((_, radix)) => (lower[2..].strip_prefix('_').unwrap_or(&lower[2..]), *radix),
        None if base == 0 => (&*lower, 10),
        None => (&*lower, base),
    };
    let radix = u32::try_from(radix).ok().filter(|radix| (2..=36).contains(radix))?;
    let digits = without_underscores(digits)?;
    let number = number::parse_digits(&digits, radix).filter(|_| !digits.starts_with(['-', '+']))?;
    Some(Value::integer(if negative { -number } else { number }))
}

/// Drops single underscores between digits; `None` if there are others.
fn without_underscores(text: &str) -> Option<String> {
    let is_wrong = text.starts_with('_') || text.ends_with('_') || text.contains("__") || text.is_empty();
    (!is_wrong).then(|| text.replace('_', ""))
}

/// `float(text)`.
fn parse_float(text: &str) -> Option<f64> {
    let text = text.trim_matches(is_space);
    let unsigned = text.trim_start_matches(['-', '+']).to_ascii_lowercase();
    let is_word = matches!(&*unsigned, "inf" | "infinity" | "nan");
    let is_number = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if !is_word && !is_number {
        return None;
    }
    without_underscores(text)?.parse().ok()
}

fn round(value: &Value, arguments: &Arguments) -> Result<Value> {
    let [precision, method] = arguments.bind("round", ["precision", "method"], 0)?;
    let precision = precision.map_or(Some(0), |precision| precision.as_index());
    let precision = precision.ok_or_else(|| Error::runtime("precision must be an integer"))?;
    let method = method.as_ref().map_or(Some("common"), Value::as_str);
    if let Value::Undefined(missing) = value {
        return Err(missing.error());
    }
    let number = value.number().ok_or_else(|| {
        Error::runtime(format!("type {} doesn't define __round__ method", value.type_name()))
    })?;
    match (method, number) {
        (Some("common"), Number::Int(integer)) => Ok(Value::integer(round_integer(&integer, precision))),
        (Some("common"), Number::Float(float)) => Ok(Value::Float(round_float(float, precision))),
        (Some(direction @ ("ceil" | "floor")), number) => {
            let float = match number {
                Number::Float(float) => float,
                Number::Int(_) => float_of(value).ok_or_else(Error::too_large)?,
            };
            let scale = 10.0_f64.powi(i32::try_from(precision.clamp(-400, 400)).unwrap_or(0));
            let scaled = float * scale;
            let whole = if direction == "ceil" { scaled.ceil() } else { scaled.floor() };
            arithmetic::truncate(whole)?;
            Ok(Value::Float(whole / scale))
        }
        _ => Err(Error::runtime("method must be common, ceil or floor")),
    }
}

fn round_float(float: f64, precision: isize) -> f64 {
    match usize::try_from(precision) {
        Ok(decimals) if decimals > 340 => float,
        Ok(decimals) => number::round_half_even(float, decimals),
        Err(_) => {
            let scale = 10.0_f64.powi(i32::try_from(-precision.max(-400)).unwrap_or(0));
            let rounded = (float / scale).round_ties_even() * scale;
            if rounded.is_nan() { 0.0 } else { rounded }
        }
    }
}

/// Rounds to tens, hundreds … for negative precisions; halves go to the even digit.
fn round_integer(integer: &BigInt, precision: isize) -> BigInt {
    let Ok(zeros) = u32::try_from(-precision.max(-10_000)) else { return integer.clone() };
    if zeros == 0 {
        return integer.clone();
    }
    let unit = BigInt::from(10).pow(zeros);
    let (quotient, rest) = integer.div_mod_floor(&unit);
    let doubled: BigInt = rest * 2;
    let up = doubled > unit || (doubled == unit && quotient.is_odd());
    (quotient + BigInt::from(u8::from(up))) * unit
}

fn file_size(bytes: f64, binary: bool) -> String {
    let base = if binary { 1024.0 } else { 1000.0 };
    let prefixes = ["k", "M", "G", "T", "P", "E", "Z", "Y"];
    if (bytes - 1.0).abs() < f64::EPSILON {
        return "1 Byte".to_owned();
    }
    if bytes < base {
        return format!("{:.0} Bytes", bytes.trunc());
    }
    let mut unit = base;
    let mut shown = prefixes[0];
    for prefix in prefixes {
        unit *= base;
        shown = prefix;
        if bytes < unit {
            break;
        }
    }
    let size = base * bytes / unit;
    if binary { format!("{size:.1} {}iB", shown.to_uppercase()) } else { format!("{size:.1} {shown}B") }
}
