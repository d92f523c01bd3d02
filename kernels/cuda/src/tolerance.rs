//! How far a kernel's results may differ from its reference, which sums in f64.

/// Greatest difference that is allowed: `absolute + relative * |wanted|`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Error of sums of values around one.
    pub absolute: f64,
    /// Error of rounding.
    pub relative: f64,
}

impl Tolerance {
    /// For kernels that only copy: results are equal.
    pub const EXACT: Self = Self { absolute: 0.0, relative: 0.0 };
    /// For results of a few f32 operations.
    pub const F32: Self = Self { absolute: 1e-5, relative: 1e-5 };
    /// For such results rounded to bf16: half of the last of eight bits, and a little for values
    /// that an f32 error moves across a tie.
    pub const BF16: Self = Self { absolute: 1e-5, relative: 1.0 / 256.0 };

    /// Describes the first result that is too far from the wanted one. An infinity must be met
    /// exactly, and a NaN is an error.
    pub fn check(&self, got: &[f32], wanted: &[f64]) -> Result<(), String> {
        if got.len() != wanted.len() {
            return Err(format!("{} results, wanted {}", got.len(), wanted.len()));
        }
        for (i, (got, wanted)) in got.iter().zip(wanted).enumerate() {
            let got = f64::from(*got);
            // Infinities are compared as a whole: their difference to themselves is NaN.
            let near = (got - wanted).abs() <= self.absolute + self.relative * wanted.abs();
            if !near && got.total_cmp(wanted).is_ne() {
                return Err(format!("result {i} is {got}, wanted {wanted}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_far_unwritten_or_missing_is_found() {
        assert_eq!(Tolerance::BF16.check(&[1.0, f32::INFINITY], &[1.003, f64::INFINITY]), Ok(()));
        assert!(Tolerance::BF16.check(&[1.0], &[1.01]).is_err());
        assert!(Tolerance::BF16.check(&[f32::NAN], &[0.0]).is_err());
        assert!(Tolerance::EXACT.check(&[1.0], &[1.0, 1.0]).is_err());
    }
}
