//! RMS norm against its reference.

use proptest::prelude::*;

use kernels::cpu::{Cpu, Isa, rms_norm};
use ops::{Norm, StoreMode, reference};

proptest! {
    #[test]
    fn equals_the_reference_whatever_the_width(rows in 1usize..40, cols in 1usize..70, seed in 0usize..1000) {
        let value = |i: usize| ((i * 7919 + seed * 31) % 2000) as f32 / 300.0 - 3.0;
        let x: Vec<f32> = (0..rows * cols).map(value).collect();
        let weight: Vec<f32> = (0..cols).map(|i| value(i + 5)).collect();
        let norm = Norm { weight: &weight[..], eps: 1e-6 };
        let wanted = reference::rms_norm(&x, norm);
        for isa in Isa::available() {
            let cpu = Cpu::with_isa(1, isa);
            let (mut out, mut sum) = (vec![f32::NAN; x.len()], vec![1.5; x.len()]);
            rms_norm(&cpu, &x, norm, StoreMode::Overwrite, &mut out);
            rms_norm(&cpu, &x, norm, StoreMode::Accumulate, &mut sum);
            for ((a, sum), b) in out.iter().zip(&sum).zip(&wanted) {
                prop_assert!((f64::from(*a) - b).abs() <= 1e-5 * (1.0 + b.abs()), "{} {a} {b}", isa.name());
                prop_assert_eq!(sum.to_bits(), (1.5 + a).to_bits(), "{}", isa.name());
            }
        }
    }
}
