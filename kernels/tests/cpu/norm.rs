//! RMS norm against its reference.

use proptest::prelude::*;

use kernels::cpu::{Cpu, Isa, rms_norm};
use ops::{Norm, reference};

proptest! {
    #[test]
    fn equals_the_reference_whatever_the_width(rows in 1usize..40, cols in 1usize..70, seed in 0usize..1000) {
        let value = |i: usize| ((i * 7919 + seed * 31) % 2000) as f32 / 300.0 - 3.0;
        let x: Vec<f32> = (0..rows * cols).map(value).collect();
        let weight: Vec<f32> = (0..cols).map(|i| value(i + 5)).collect();
        let wanted = reference::rms_norm(&x, Norm { weight: &weight, eps: 1e-6 });
        for isa in Isa::available() {
            let mut out = vec![f32::NAN; x.len()];
            rms_norm(&Cpu::with_isa(1, isa), &x, &weight, 1e-6, &mut out);
            for (a, b) in out.iter().zip(&wanted) {
                prop_assert!((f64::from(*a) - b).abs() <= 1e-5 * (1.0 + b.abs()), "{} {a} {b}", isa.name());
            }
        }
    }
}
