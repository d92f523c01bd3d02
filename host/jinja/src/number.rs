//! Python's arithmetic: integers of any length, floats, booleans as integers.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{FromPrimitive, Signed, ToPrimitive, Zero};

use crate::ast::BinaryOp;
use crate::error::{Error, Result};
use crate::value::Value;

/// Maximum size of an integer that a power or a product makes, in bits.
const MAX_BITS: u64 = 1 << 16;

/// Python refuses longer integers, since reading them takes time that grows with the square.
pub(crate) const MAX_DIGITS: usize = 4300;

/// Reads an integer; `None` if it is too long or none.
pub(crate) fn parse_digits(digits: &str, radix: u32) -> Option<BigInt> {
    if digits.len() > MAX_DIGITS { None } else { BigInt::parse_bytes(digits.as_bytes(), radix) }
}

/// A number of a template.
#[derive(Debug, Clone)]
pub(crate) enum Number {
    Int(BigInt),
    Float(f64),
}

impl Number {
    pub(crate) fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Bool(flag) => Self::Int(BigInt::from(u8::from(*flag))),
            Value::Int(number) => Self::Int(BigInt::from(*number)),
            Value::BigInt(number) => Self::Int((**number).clone()),
            Value::Float(number) => Self::Float(*number),
            _ => return None,
        })
    }

    fn into_value(self) -> Value {
        match self {
            Self::Int(number) => Value::integer(number),
            Self::Float(number) => Value::Float(number),
        }
    }

    fn to_float(&self) -> Result<f64> {
        match self {
            Self::Int(number) => number
                .to_f64()
                .filter(|number| number.is_finite())
                .ok_or_else(|| Error::runtime("int too large to convert to float")),
            Self::Float(number) => Ok(*number),
        }
    }
}

/// Order of two numbers; `None` if one of them is NaN or no number.
pub(crate) fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    if let (Value::Int(a), Value::Int(b)) = (a, b) {
        return Some(a.cmp(b));
    }
    match (Number::of(a)?, Number::of(b)?) {
        (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
        (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
        (Number::Int(a), Number::Float(b)) => compare_mixed(&a, b),
        (Number::Float(a), Number::Int(b)) => compare_mixed(&b, a).map(Ordering::reverse),
    }
}

fn compare_mixed(a: &BigInt, b: f64) -> Option<Ordering> {
    if b.is_nan() {
        return None;
    }
    let Some(floor) = BigInt::from_f64(b.floor()) else {
        return Some(if b > 0.0 { Ordering::Less } else { Ordering::Greater });
    };
    let order = a.cmp(&floor);
    Some(if order == Ordering::Equal && b > b.floor() { Ordering::Less } else { order })
}

/// Applies an operator to two numbers; `None` if a value is no number.
pub(crate) fn arithmetic(op: BinaryOp, a: &Value, b: &Value) -> Result<Option<Value>> {
    if let (Value::Int(a), Value::Int(b)) = (a, b) {
        let quick = match op {
            BinaryOp::Add => a.checked_add(*b),
            BinaryOp::Sub => a.checked_sub(*b),
            BinaryOp::Mul => a.checked_mul(*b),
            _ => None,
        };
        if let Some(number) = quick {
            return Ok(Some(Value::Int(number)));
        }
    }
    let (Some(a), Some(b)) = (Number::of(a), Number::of(b)) else { return Ok(None) };
    let result = match (a, b) {
        (Number::Int(a), Number::Int(b)) => integers(op, &a, &b)?,
        (a, b) => Number::Float(floats(op, a.to_float()?, b.to_float()?)?),
    };
    Ok(Some(result.into_value()))
}

fn integers(op: BinaryOp, a: &BigInt, b: &BigInt) -> Result<Number> {
    let divisor = |name: &str| if b.is_zero() { Err(Error::runtime(name)) } else { Ok(b) };
    Ok(Number::Int(match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => {
            check_bits(a.bits() + b.bits())?;
            a * b
        }
        BinaryOp::FloorDiv => a.div_floor(divisor("integer division or modulo by zero")?),
        BinaryOp::Mod => a.mod_floor(divisor("integer modulo by zero")?),
        BinaryOp::Div => {
            divisor("division by zero")?;
            return Ok(Number::Float(
                Number::Int(a.clone()).to_float()? / Number::Int(b.clone()).to_float()?,
            ));
        }
        BinaryOp::Pow if b.is_negative() => {
            let (a, b) = (Number::Int(a.clone()).to_float()?, Number::Int(b.clone()).to_float()?);
            return Ok(Number::Float(floats(op, a, b)?));
        }
        BinaryOp::Pow => {
            let exponent = b.to_u32().ok_or_else(Error::too_large)?;
            check_bits(a.bits().saturating_mul(u64::from(exponent)))?;
            a.pow(exponent)
        }
    }))
}

fn check_bits(bits: u64) -> Result<()> {
    if bits > MAX_BITS { Err(Error::too_large()) } else { Ok(()) }
}

fn floats(op: BinaryOp, a: f64, b: f64) -> Result<f64> {
    let divisor = |name: &str| if b == 0.0 { Err(Error::runtime(name)) } else { Ok(b) };
    Ok(match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div => a / divisor("float division by zero")?,
        BinaryOp::FloorDiv => floor_div(a, divisor("float floor division by zero")?),
        BinaryOp::Mod => modulo(a, divisor("float modulo")?),
        BinaryOp::Pow if a == 0.0 && b < 0.0 => {
            return Err(Error::runtime("0.0 cannot be raised to a negative power"));
        }
        BinaryOp::Pow if a < 0.0 && b.fract() != 0.0 && b.is_finite() => {
            return Err(Error::runtime("complex numbers are not supported"));
        }
        BinaryOp::Pow => a.powf(b),
    })
}

/// Remainder with the sign of the divisor.
fn modulo(a: f64, b: f64) -> f64 {
    let rest = a % b;
    if rest == 0.0 {
        return 0.0_f64.copysign(b);
    }
    if (rest < 0.0) == (b < 0.0) { rest } else { rest + b }
}

fn floor_div(a: f64, b: f64) -> f64 {
    let quotient = (a - modulo(a, b)) / b;
    let floor = quotient.floor();
    if quotient - floor > 0.5 { floor + 1.0 } else { floor }
}

/// `-value` or `+value`; `None` if it is no number.
pub(crate) fn signed(value: &Value, negative: bool) -> Option<Value> {
    Some(match Number::of(value)? {
        Number::Int(number) => Value::integer(if negative { -number } else { number }),
        Number::Float(number) => Value::Float(if negative { -number } else { number }),
    })
}

/// Python's `abs`; `None` if it is no number.
pub(crate) fn absolute(value: &Value) -> Option<Value> {
    Some(match Number::of(value)? {
        Number::Int(number) => Value::integer(number.abs()),
        Number::Float(number) => Value::Float(number.abs()),
    })
}

/// The integer part of a float.
pub(crate) fn truncate(number: f64) -> Result<Value> {
    let integer = BigInt::from_f64(number.trunc());
    integer.map(Value::integer).ok_or_else(|| {
        let what = if number.is_nan() { "float NaN" } else { "float infinity" };
        Error::runtime(format!("cannot convert {what} to integer"))
    })
}

/// Python's `round` to a number of decimals: halves go to the even digit, by the exact value of the
/// float.
pub(crate) fn round_half_even(number: f64, decimals: usize) -> f64 {
    format!("{number:.decimals$}").parse().unwrap_or(number)
}
