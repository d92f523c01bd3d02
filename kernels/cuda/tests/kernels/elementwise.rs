//! RMS norm and gates against their references.

use cuda_kernels::{GateMul, RmsNorm, Tolerance};
use ops::{GateActivation, Norm, StoreMode, reference};

use super::device::{in_both_orders, values};

#[test]
fn a_norm_of_any_width_is_its_reference() {
    in_both_orders(|device| {
        for (rows, cols) in [(1, 1), (3, 7), (2, 8), (5, 64), (1, 257), (2, 2880), (1, 5001)] {
            let (x, weight) = (values(rows * cols, 1), values(cols, 2));
            let x: Vec<f32> = x.iter().map(|x| x * 3.0).collect();
            let out = device.out::<u16>(rows * cols);
            let (px, pweight) = (device.f32(&x), device.f32(&weight));
            let norm = RmsNorm {
                x: px,
                weight: pweight,
                out,
                store: StoreMode::Overwrite,
                rows: rows as u32,
                cols: cols as u32,
                eps: 1e-6,
            };
            device.run(&norm.launch());
            let wanted = reference::rms_norm(&x, Norm { weight: &weight, eps: 1e-6 });
            device.check_bf16(out, &wanted, Tolerance::BF16, &format!("{rows} rows of {cols}"));
            let old = values(rows * cols, 3);
            let sums = device.f32(&old);
            device.run(&RmsNorm { out: sums, store: StoreMode::Accumulate, ..norm }.launch());
            for ((got, old), wanted) in device.read_f32(sums, rows * cols).iter().zip(&old).zip(&wanted) {
                let apart = (f64::from(*got) - f64::from(*old) - wanted).abs();
                assert!(apart <= 1e-5 * (1.0 + wanted.abs()), "{rows} rows of {cols}: {got}");
            }
        }
    });
}

#[test]
fn a_norm_of_zeros_is_zero() {
    in_both_orders(|device| {
        let out = device.out::<u16>(16);
        let (x, weight) = (device.f32(&[0.0; 16]), device.f32(&[1.0; 16]));
        device.run(
            &RmsNorm { x, weight, out, store: StoreMode::Overwrite, rows: 1, cols: 16, eps: 1e-6 }.launch(),
        );
        assert_eq!(device.read_bf16(out, 16), [0.0; 16]);
    });
}

#[test]
fn gated_columns_come_in_groups() {
    in_both_orders(|device| {
        for (rows, cols, group) in
            [(1, 1, 1), (3, 7, 7), (2, 16, 16), (2, 24, 8), (2, 12, 4), (1, 4104, 4104)]
        {
            let gate_up: Vec<f32> = values(2 * rows * cols, 3).iter().map(|x| x * 8.0).collect();
            let out = device.out::<u16>(rows * cols);
            let gate = device.bf16(&gate_up);
            let (r, c, g) = (rows as u32, cols as u32, group as u32);
            for (activation, wanted) in [
                (GateActivation::Silu, reference::silu_mul(&gate_up, cols, group)),
                (GateActivation::GeluTanh, reference::gelu_mul(&gate_up, cols, group)),
            ] {
                device.run(&GateMul { activation, gate_up: gate, out, rows: r, cols: c, group: g }.launch());
                let what = format!("{activation:?}, {rows} rows of {cols} by {group}");
                device.check_bf16(out, &wanted, Tolerance::BF16, &what);
            }
        }
    });
}
