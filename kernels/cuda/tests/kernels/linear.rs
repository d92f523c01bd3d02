//! Linear layers by both kernels against the reference.

use cuda_kernels::{
    DevicePtr, Fp8Scales, Launch, Linear, LinearInput, LinearStore, LinearWeight, Tolerance,
    swiglu_turns_reference,
};
use ops::{Norm, reference};

use super::device::{Device, in_both_orders, near, round, values};
use super::fp8::Fp8Weight;

const STORES: [LinearStore; 4] =
    [LinearStore::Bf16, LinearStore::F32, LinearStore::AddF32, LinearStore::SwiGlu];

/// A layer's sizes and values, and the kernel that is tested.
#[derive(Clone)]
struct Case {
    rows: usize,
    outputs: usize,
    inputs: usize,
    x: Vec<f32>,
    weight: Vec<f32>,
    /// The weight as it is stored; `None`: bf16.
    fp8: Option<Fp8Weight>,
    bias: Option<Vec<f32>>,
    store: LinearStore,
    kernel: fn(&Linear) -> Option<Launch>,
}

impl Case {
    fn new((rows, outputs, inputs): (usize, usize, usize), kernel: fn(&Linear) -> Option<Launch>) -> Self {
        Self {
            rows,
            outputs,
            inputs,
            x: values(rows * inputs, 1),
            weight: values(outputs * inputs, 2),
            fp8: None,
            bias: None,
            store: LinearStore::F32,
            kernel,
        }
    }

    /// A case with FP8 in quantisation blocks of `block_cols` columns.
    fn fp8(sizes: (usize, usize, usize), block_cols: usize, kernel: fn(&Linear) -> Option<Launch>) -> Self {
        let fp8 = Fp8Weight::new((sizes.1, sizes.2), block_cols, 2);
        Self { weight: fp8.values.clone(), fp8: Some(fp8), ..Self::new(sizes, kernel) }
    }

    fn with(&self, store: LinearStore, bias: bool) -> Self {
        let bias = bias.then(|| values(self.outputs, 3));
        Self { bias, store, ..self.clone() }
    }

    fn width(&self) -> usize {
        if self.store == LinearStore::SwiGlu { self.outputs / 2 } else { self.outputs }
    }

    fn parameters(&self, device: &Device, x: LinearInput, out: DevicePtr) -> Linear {
        Linear {
            x,
            weight: match &self.fp8 {
                Some(fp8) => LinearWeight { at: device.with(&fp8.codes), fp8: Some(fp8.on(device)) },
                None => LinearWeight::bf16(device.bf16(&self.weight)),
            },
            bias: self.bias.as_ref().map(|bias| device.f32(bias)),
            out,
            store: self.store,
            rows: self.rows as u32,
            outputs: self.outputs as u32,
            inputs: self.inputs as u32,
        }
    }

    /// Results of the kernel; where it adds to the output, the output has values before.
    fn run(&self, device: &Device, x: LinearInput) -> Vec<f32> {
        let len = self.rows * self.width();
        let out = match self.store {
            LinearStore::AddF32 => device.f32(&values(len, 4)),
            LinearStore::F32 => device.out::<f32>(len),
            LinearStore::Bf16 | LinearStore::SwiGlu => device.out::<u16>(len),
        };
        let launch = (self.kernel)(&self.parameters(device, x, out)).expect("the kernel takes these sizes");
        device.run(&launch);
        match self.store {
            LinearStore::AddF32 | LinearStore::F32 => device.read_f32(out, len),
            LinearStore::Bf16 | LinearStore::SwiGlu => device.read_bf16(out, len),
        }
    }

    fn wanted(&self) -> Vec<f64> {
        let sums = reference::linear(&self.x, &self.weight, self.bias.as_deref(), self.inputs);
        match self.store {
            LinearStore::Bf16 | LinearStore::F32 => sums,
            LinearStore::AddF32 => {
                let before = values(sums.len(), 4);
                sums.iter().zip(&before).map(|(sum, old)| sum + f64::from(*old)).collect()
            }
            LinearStore::SwiGlu => swiglu_turns_reference(&sums),
        }
    }

    fn check(&self, device: &Device) {
        let got = self.run(device, LinearInput::Bf16(device.bf16(&self.x)));
        let Self { rows, outputs, inputs, store, fp8, .. } = self;
        let format = if fp8.is_some() { "FP8" } else { "bf16" };
        let what = format!("{rows} rows, {outputs} of {inputs}, {format}, {store:?}");
        near(self.tolerance(), &got, &self.wanted(), &what);
    }

    /// Tolerance for sums of up to a few thousand products of numbers below one, or of FP8 below 32.
    fn tolerance(&self) -> Tolerance {
        let rounding = match self.store {
            LinearStore::AddF32 | LinearStore::F32 => Tolerance::F32,
            LinearStore::Bf16 | LinearStore::SwiGlu => Tolerance::BF16,
        };
        Tolerance { absolute: if self.fp8.is_some() { 2e-3 } else { 2e-4 }, ..rounding }
    }
}

#[test]
fn tiles_take_any_shape() {
    let shapes = [
        (1, 1, 1),
        (3, 5, 7),
        (64, 64, 32),
        (65, 130, 96),
        (129, 257, 40),
        (70, 31, 33),
        (17, 48, 264),
        (2, 200, 24),
        (130, 16, 8),
        (130, 136, 296),
        (20, 70, 840),
    ];
    in_both_orders(|device| {
        for shape in shapes {
            Case::new(shape, Linear::tiles).check(device);
        }
    });
}

#[test]
fn skinny_layers_take_up_to_sixteen_rows_of_any_width() {
    let shapes =
        [(1, 1, 8), (1, 16, 128), (2, 17, 1032), (3, 40, 2056), (8, 33, 520), (9, 16, 136), (16, 50, 1024)];
    in_both_orders(|device| {
        for shape in shapes {
            Case::new(shape, Linear::skinny).check(device);
        }
    });
}

#[test]
fn skinny_layers_read_wide_x_from_the_caches() {
    in_both_orders(|device| {
        for shape in [(8, 17, 4104), (16, 16, 2056), (11, 20, 3000)] {
            Case::new(shape, Linear::skinny).check(device);
        }
    });
}

#[test]
fn sums_get_a_bias_and_are_stored_in_every_way() {
    in_both_orders(|device| {
        let tiles = [(70, 144, 72), (5, 48, 33), (129, 16, 64)].map(|shape| Case::new(shape, Linear::tiles));
        let skinny =
            [(1, 32, 264), (7, 48, 72), (12, 16, 1040)].map(|shape| Case::new(shape, Linear::skinny));
        for case in tiles.iter().chain(&skinny) {
            for store in STORES {
                case.with(store, false).check(device);
                case.with(store, true).check(device);
            }
        }
    });
}

#[test]
fn tiles_take_fp8_of_any_number_of_rows() {
    let shapes = [
        (1, 8, 16),
        (3, 24, 48),
        (64, 64, 32),
        (65, 136, 96),
        (129, 264, 144),
        (17, 48, 272),
        (130, 136, 304),
        (20, 72, 848),
        (33, 72, 336),
        (70, 40, 1040),
    ];
    in_both_orders(|device| {
        for shape in shapes {
            for block_cols in [32, 64, 128, 1024] {
                Case::fp8(shape, block_cols, Linear::tiles).check(device);
            }
        }
    });
}

#[test]
fn skinny_layers_take_fp8_in_blocks_of_128_columns() {
    let shapes = [
        (1, 8, 16),
        (1, 16, 128),
        (2, 24, 1040),
        (3, 40, 2064),
        (8, 40, 528),
        (9, 16, 144),
        (16, 56, 1024),
        // x comes from the caches.
        (8, 24, 4112),
        (16, 16, 2064),
    ];
    in_both_orders(|device| {
        for shape in shapes {
            Case::fp8(shape, 128, Linear::skinny).check(device);
        }
    });
}

#[test]
fn sums_of_fp8_get_a_bias_and_are_stored_in_every_way() {
    in_both_orders(|device| {
        let tiles = [(70, 144, 80), (5, 48, 48), (40, 48, 48), (129, 16, 64)];
        let skinny = [(1, 32, 272), (7, 48, 80), (12, 16, 1040)];
        let tiles = tiles.map(|shape| Case::fp8(shape, 32, Linear::tiles));
        let skinny = skinny.map(|shape| Case::fp8(shape, 128, Linear::skinny));
        for case in tiles.iter().chain(&skinny) {
            for store in STORES {
                case.with(store, false).check(device);
                case.with(store, true).check(device);
            }
        }
    });
}

#[test]
fn odd_outputs_are_stored_one_by_one() {
    in_both_orders(|device| {
        for store in [LinearStore::Bf16, LinearStore::F32, LinearStore::AddF32] {
            Case::new((66, 67, 40), Linear::tiles).with(store, true).check(device);
            Case::new((5, 19, 40), Linear::skinny).with(store, true).check(device);
        }
    });
}

#[test]
fn every_input_counts_once() {
    in_both_orders(|device| {
        for inputs in [8, 24, 31, 32, 40, 104, 128, 136, 160, 1016, 1024, 1032, 1152, 2184] {
            let mut case = Case::new((3, 20, inputs), Linear::tiles);
            (case.x, case.weight) = (vec![1.0; 3 * inputs], vec![1.0; 20 * inputs]);
            let wanted = vec![inputs as f32; 3 * 20];
            assert_eq!(case.run(device, LinearInput::Bf16(device.bf16(&case.x))), wanted, "{inputs} inputs");
            if inputs.is_multiple_of(8) {
                case.kernel = Linear::skinny;
                assert_eq!(
                    case.run(device, LinearInput::Bf16(device.bf16(&case.x))),
                    wanted,
                    "{inputs} inputs"
                );
            }
        }
    });
}

#[test]
fn a_norm_on_the_way_is_the_norm_before() {
    in_both_orders(|device| {
        let bf16 = [(1, 8), (1, 2056), (3, 1000), (4, 128)];
        let bf16 = bf16.map(|(rows, inputs)| Case::new((rows, 32, inputs), Linear::skinny));
        let fp8 = [(1, 16), (3, 2064)];
        let fp8 = fp8.map(|(rows, inputs)| Case::fp8((rows, 32, inputs), 128, Linear::skinny));
        for mut case in bf16.into_iter().chain(fp8) {
            let (rows, inputs) = (case.rows, case.inputs);
            let x: Vec<f32> = case.x.iter().map(|x| x * 5.0).collect();
            let norm = values(inputs, 5);
            case.x = reference::rms_norm(&x, Norm { weight: &norm, eps: 1e-6 })
                .into_iter()
                .map(|x| round(x as f32))
                .collect();
            let input = LinearInput::Normed { x: device.f32(&x), weight: device.f32(&norm), eps: 1e-6 };
            // A normed value between two bf16 values may be rounded to either of them.
            let greatest = if case.fp8.is_some() { 32.0 } else { 1.0 };
            let tolerance = Tolerance { absolute: 0.02 * greatest, ..Tolerance::BF16 };
            for store in STORES {
                let case = case.with(store, true);
                let got = case.run(device, input);
                near(tolerance, &got, &case.wanted(), &format!("{rows} rows of {inputs}"));
            }
        }
    });
}

/// Tiles of all sizes add in the same order, as a deterministic engine needs it.
#[test]
fn a_row_does_not_depend_on_the_rows_beside_it() {
    in_both_orders(|device| {
        let (few, more, many) = ((16, 40, 528), (40, 40, 528), (70, 40, 528));
        for case in [
            Case::new(few, Linear::skinny),
            Case::fp8(few, 128, Linear::skinny),
            Case::new(many, Linear::tiles),
            Case::fp8(more, 32, Linear::tiles),
            Case::fp8(many, 32, Linear::tiles),
        ] {
            let all = case.run(device, LinearInput::Bf16(device.bf16(&case.x)));
            for row in [0, 5, case.rows - 1] {
                let x = case.x[row * 528..][..528].to_vec();
                let one = Case { rows: 1, x, ..case.clone() };
                let got = one.run(device, LinearInput::Bf16(device.bf16(&one.x)));
                assert_eq!(got, all[row * 40..][..40], "row {row} of {}", case.rows);
            }
        }
    });
}

#[test]
fn the_kernel_follows_from_the_sizes() {
    let (at, out) = (DevicePtr(4096), DevicePtr(8192));
    let entry_of = |weight, rows, inputs, x| {
        let store = LinearStore::F32;
        let linear = Linear { x, weight, bias: None, out, store, rows, outputs: 8, inputs };
        linear.launch().kernel.entry
    };
    let bf16 = LinearWeight::bf16(at);
    let entry = |rows, inputs, x| entry_of(bf16, rows, inputs, x);
    let plain = LinearInput::Bf16(DevicePtr(16));
    assert_eq!(entry(16, 64, plain), "linear_skinny");
    assert_eq!(entry(17, 64, plain), "linear_tiles");
    assert_eq!(entry(1, 63, plain), "linear_tiles");
    assert_eq!(entry(1, 64, LinearInput::Bf16(DevicePtr(24))), "linear_tiles");
    let normed = LinearInput::Normed { x: DevicePtr(16), weight: DevicePtr(16), eps: 1e-6 };
    assert_eq!(entry(4, 64, normed), "linear_skinny");
    let takes = |rows, inputs| Linear::takes_norm(rows, inputs, &bf16);
    assert!(!takes(5, 64) && !takes(1, 63) && !takes(4, 1 << 16));
    let fp8 = |block_cols| LinearWeight { at, fp8: Some(Fp8Scales { at, block_cols }) };
    assert_eq!(entry_of(fp8(128), 16, 64, plain), "linear_skinny");
    assert_eq!(entry_of(fp8(128), 17, 64, plain), "linear_tiles");
    assert_eq!(entry_of(fp8(64), 1, 64, plain), "linear_tiles");
    assert!(Linear::takes_norm(1, 64, &fp8(128)) && !Linear::takes_norm(1, 64, &fp8(64)));
}
