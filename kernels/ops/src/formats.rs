//! Number formats of quantised weights: the value of each code.

/// Number of neighbours in a row that share a scale in MXFP4 (OCP Microscaling specification 1.0).
pub const MXFP4_BLOCK: usize = 32;

/// Value of each code of E2M1 (FP4).
pub const E2M1_VALUES: [f32; 16] =
    [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0];

/// Value of each code of E4M3 (FP8): a sign, four bits of exponent with bias 7, and three of
/// mantissa. There is no infinity, and codes 0x7f and 0xff are NaN (arXiv:2209.05433).
#[expect(clippy::cast_precision_loss, reason = "numbers below eight")]
pub static E4M3_VALUES: [f32; 256] = {
    let mut values = [0.0; 256];
    let mut code: u32 = 0;
    while code < 256 {
        let magnitude = code & 0x7f;
        let value = match magnitude {
            // Subnormal codes: multiples of 2⁻⁹.
            0..8 => magnitude as f32 / 512.0,
            0x7f => f32::NAN,
            // Exponent and mantissa move to their places in f32, whose bias is 127.
            _ => f32::from_bits((magnitude + (120 << 3)) << 20),
        };
        values[code as usize] = if code < 0x80 { value } else { -value };
        code += 1;
    }
    values
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_e4m3_have_the_values_of_the_format() {
        for (code, wanted) in [
            (0x00, 0.0f32),
            (0x01, 0.001_953_125),
            (0x07, 0.013_671_875),
            (0x08, 0.015_625),
            (0x38, 1.0),
            (0x3f, 1.875),
            (0x7e, 448.0),
            (0xc0, -2.0),
            (0x80, -0.0),
        ] {
            assert_eq!(E4M3_VALUES[code].to_bits(), wanted.to_bits(), "{code:#x}");
        }
        assert!(E4M3_VALUES[0x7f].is_nan() && E4M3_VALUES[0xff].is_nan());
    }

    #[test]
    fn codes_of_e4m3_are_a_sign_an_exponent_and_a_mantissa() {
        for (code, value) in (0..=u8::MAX).zip(E4M3_VALUES).filter(|(code, _)| code & 0x7f != 0x7f) {
            let (exponent, mantissa) = (i32::from(code >> 3 & 15), f32::from(code & 7) / 8.0);
            let wanted = match exponent {
                0 => mantissa * 2f32.powi(-6),
                _ => (1.0 + mantissa) * 2f32.powi(exponent - 7),
            };
            let wanted = if code & 0x80 == 0 { wanted } else { -wanted };
            assert_eq!(value.to_bits(), wanted.to_bits(), "{code:#x}");
        }
    }
}
