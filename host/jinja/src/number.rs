//! Python's numbers: integers of any length, and floats.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_traits::{FromPrimitive, ToPrimitive};

use crate::error::{Error, Result};

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
    pub(crate) fn to_float(&self) -> Result<f64> {
        match self {
            Self::Int(number) => number
                .to_f64()
                .filter(|number| number.is_finite())
                .ok_or_else(|| Error::runtime("int too large to convert to float")),
            Self::Float(number) => Ok(*number),
        }
    }

    /// Order of two numbers; `None` if one of them is NaN.
    pub(crate) fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(b),
            (Self::Int(a), Self::Float(b)) => compare_mixed(a, *b),
            (Self::Float(a), Self::Int(b)) => compare_mixed(b, *a).map(Ordering::reverse),
        }
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

/// Python's `round` to a number of decimals: halves go to the even digit, by the exact value of the
/// float.
pub(crate) fn round_half_even(number: f64, decimals: usize) -> f64 {
    format!("{number:.decimals$}").parse().unwrap_or(number)
}
