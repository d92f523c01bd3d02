//! Python's arithmetic with values, in which booleans are integers.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{FromPrimitive, Signed, ToPrimitive, Zero};

use crate::ast::BinaryOp;
use crate::error::{Error, Result};
use crate::number::Number;
use crate::value::Value;

/// Maximum size of an integer that a power or a product makes, in bits.
const MAX_BITS: u64 = 1 << 16;

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
    let (Some(a), Some(b)) = (a.number(), b.number()) else { return Ok(None) };
    let result = match (a, b) {
        (Number::Int(a), Number::Int(b)) => integers(op, &a, &b)?,
        (a, b) => Number::Float(floats(op, a.to_float()?, b.to_float()?)?),
    };
    Ok(Some(Value::of_number(result)))
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
    Some(match value.number()? {
        Number::Int(number) => Value::integer(if negative { -number } else { number }),
        Number::Float(number) => Value::Float(if negative { -number } else { number }),
    })
}

/// Python's `abs`; `None` if it is no number.
pub(crate) fn absolute(value: &Value) -> Option<Value> {
    Some(match value.number()? {
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
