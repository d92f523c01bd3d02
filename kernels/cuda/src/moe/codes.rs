//! Values of quantisation codes and the experts' linear layer, for references.

/// Value of an E2M1 code, in the lower four bits.
pub fn e2m1_value(code: u8) -> f32 {
    let value = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0][usize::from(code & 7)];
    if code & 8 == 0 { value } else { -value }
}

/// Value of an E4M3 code.
pub fn e4m3_value(code: u8) -> f32 {
    let (exponent, mantissa) = (i32::from(code >> 3 & 15), f32::from(code & 7));
    let value = match (exponent, code & 7) {
        (15, 7) => f32::NAN,
        (0, _) => mantissa / 8.0 * 2f32.powi(-6),
        _ => (1.0 + mantissa / 8.0) * 2f32.powi(exponent - 7),
    };
    if code & 0x80 == 0 { value } else { -value }
}

/// Reference for one row: `x · weightᵀ + bias`, for a weight `[n, k]`.
pub fn expert_linear_reference(x: &[f32], weight: &[f32], bias: Option<&[f32]>) -> Vec<f64> {
    let dot = |row: &[f32]| x.iter().zip(row).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum::<f64>();
    let mut out: Vec<f64> = weight.chunks_exact(x.len()).map(dot).collect();
    for (out, bias) in out.iter_mut().zip(bias.unwrap_or_default()) {
        *out += f64::from(*bias);
    }
    out
}
