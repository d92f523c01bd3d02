//! The experts' linear layers in all formats, with experts that have no rows, few rows, and more
//! than a tile of rows.

use cuda_kernels::{
    DevicePtr, ExpertFormat, Fp8Scales, MXFP4_MAX_SCALE, MoeLayer, MoeLinear, StoredExperts, Tolerance,
    moe_align_reference, pack_mxfp4,
};
use ops::{E2M1_VALUES, E4M3_VALUES, reference};

use super::device::{Device, in_both_orders, near, values};
use super::fp8::{Fp8Weight, bytes};

/// Experts in a stored format, and the values of their weights.
struct Stored {
    at: DevicePtr,
    format: ExpertFormat,
    values: Vec<f32>,
}

#[derive(Debug, Clone, Copy)]
enum Format {
    Bf16,
    Mxfp4,
    /// Columns of a quantisation block.
    Fp8(usize),
}

fn store(device: &Device, format: Format, experts: usize, n: usize, k: usize) -> Stored {
    let len = experts * n * k;
    match format {
        Format::Bf16 => {
            let weights = values(len, 1);
            Stored { at: device.bf16(&weights), format: ExpertFormat::Bf16, values: weights }
        }
        Format::Mxfp4 => {
            let codes = bytes(len / 2, 2);
            let scales: Vec<u8> = bytes(len / 32, 3).iter().map(|x| 122 + x % 5).collect();
            let value = |i: usize| {
                E2M1_VALUES[usize::from(codes[i / 2] >> (4 * (i % 2)) & 15)]
                    * 2f32.powi(i32::from(scales[i / 32]) - 127)
            };
            let values = (0..len).map(value).collect();
            let scales = device.with(&scales);
            let packed: Vec<u8> = codes.as_chunks().0.iter().flat_map(|eight| pack_mxfp4(*eight)).collect();
            Stored { at: device.with(&packed), format: ExpertFormat::Mxfp4 { scales }, values }
        }
        Format::Fp8(block_cols) => {
            let weight = Fp8Weight::new((experts * n, k), block_cols, 4);
            let format = ExpertFormat::Fp8(weight.on(device));
            Stored { at: device.with(&weight.codes), format, values: weight.values }
        }
    }
}

struct Case {
    format: Format,
    tokens: usize,
    per_token: usize,
    experts: usize,
    n: usize,
    k: usize,
    down: bool,
    bias: bool,
}

impl Case {
    fn check(&self, device: &Device) {
        let Self { tokens, per_token, experts, n, k, down, .. } = *self;
        let routes = tokens * per_token;
        // Expert 1 has no routes, expert 0 has half of all.
        let expert = |i: usize| {
            if i.is_multiple_of(2) || experts < 3 { 0 } else { (2 + i * 7 % (experts - 2)) as u32 }
        };
        let chosen: Vec<u32> = (0..routes).map(expert).collect();
        let (order, starts) = moe_align_reference(&chosen, experts as u32);
        let rows = if down { routes } else { tokens };
        let (x, biases) = (values(rows * k, 7), values(experts * n, 8));
        let stored = store(device, self.format, experts, n, k);
        let out = if down { device.out::<f32>(routes * n) } else { device.out::<u16>(routes * n) };
        let bias = self.bias.then(|| device.f32(&biases));
        let linear = MoeLinear {
            x: device.bf16(&x),
            order: device.u32(&order),
            starts: device.u32(&starts),
            weights: StoredExperts { at: stored.at, format: stored.format, bias },
            out,
            routes: routes as u32,
            experts: experts as u32,
            n: n as u32,
            k: k as u32,
            layer: if down { MoeLayer::Down } else { MoeLayer::GateUp { per_token: per_token as u32 } },
        };
        let mut wanted = vec![0.0; routes * n];
        for (place, route) in order.iter().map(|route| *route as usize).enumerate() {
            let (from, to) = if down { (place, route) } else { (route / per_token, place) };
            let expert = chosen[route] as usize;
            let weight = &stored.values[expert * n * k..][..n * k];
            let bias = self.bias.then(|| &biases[expert * n..][..n]);
            wanted[to * n..][..n].copy_from_slice(&reference::linear(&x[from * k..][..k], weight, bias, k));
        }
        // Sums of k products of numbers about one, in f32.
        let sums = |tolerance: Tolerance| Tolerance { absolute: 1e-5 * k as f64, ..tolerance };
        let what = format!("{:?}, {tokens} tokens, {n} by {k}", self.format);
        for launch in [linear.launch(), linear.tiles()] {
            device.spoil(out, routes * n * if down { 4 } else { 2 });
            device.run(&launch);
            if down {
                near(sums(Tolerance::F32), &device.read_f32(out, routes * n), &wanted, &what);
            } else {
                device.check_bf16(out, &wanted, sums(Tolerance::BF16), &what);
            }
        }
    }
}

/// Name of the kernel that is launched for so many routes and columns.
fn entry(format: ExpertFormat, routes: u32, experts: u32, k: u32) -> &'static str {
    let at = DevicePtr(1 << 20);
    let weights = StoredExperts { at, format, bias: None };
    let (x, order, starts, out, layer) = (at, at, at, at, MoeLayer::Down);
    let linear = MoeLinear { x, order, starts, weights, out, routes, experts, n: 64, k, layer };
    linear.launch().kernel.entry
}

#[test]
fn few_routes_of_an_expert_have_a_kernel_of_their_own() {
    let scales = DevicePtr(1 << 20);
    for format in [ExpertFormat::Bf16, ExpertFormat::Mxfp4 { scales }] {
        assert_eq!(entry(format, 4, 32, 64), "moe_skinny");
        assert_eq!(entry(format, 128, 32, 64), "moe_skinny");
        assert_eq!(entry(format, 129, 32, 64), "moe_linear");
    }
    let fp8 = |block_cols| ExpertFormat::Fp8(Fp8Scales { at: scales, block_cols });
    assert_eq!(entry(fp8(128), 4, 32, 64), "moe_skinny");
    assert_eq!(entry(fp8(128), 129, 32, 64), "moe_linear");
    assert_eq!((entry(fp8(64), 4, 32, 64), entry(fp8(128), 4, 32, 80)), ("moe_linear", "moe_linear"));
}

/// Cases of (tokens, experts of a token, experts, rows of a weight).
fn check_few(device: &Device, format: Format, k: usize, cases: &[(usize, usize, usize, usize)]) {
    for (tokens, per_token, experts, n) in cases.iter().copied() {
        for down in [false, true] {
            Case { format, tokens, per_token, experts, n, k, down, bias: !down }.check(device);
        }
    }
}

#[test]
fn few_rows_meet_inner_dimensions_of_any_length() {
    in_both_orders(|device| {
        for k in [96, 160, 352, 512, 1056, 2176, 2880] {
            check_few(device, Format::Mxfp4, k, &[(1, 4, 8, 34)]);
        }
        for k in [8, 72, 96, 160, 352, 520, 1032, 2880] {
            check_few(device, Format::Bf16, k, &[(1, 4, 8, 18)]);
        }
        for k in [64, 128, 192, 320, 512, 576, 1088, 2880] {
            check_few(device, Format::Fp8(128), k, &[(1, 4, 8, 40)]);
        }
    });
}

#[test]
fn experts_have_no_few_or_more_rows_than_a_tile() {
    in_both_orders(|device| {
        let any = [2, 66, 30];
        for (format, odd, k) in
            [(Format::Bf16, any, 224), (Format::Mxfp4, any, 224), (Format::Fp8(128), [8, 72, 24], 320)]
        {
            for tokens in 1..=16 {
                check_few(device, format, k, &[(tokens, 3, 16, 32)]);
            }
            // Expert 0 has 17 rows and then 33; experts are more than lanes of a warp.
            let cases = [(17, 2, 70, odd[0]), (33, 2, 40, odd[1]), (2, 2, 1, odd[2])];
            check_few(device, format, k - 128, &cases);
        }
    });
}

/// Each input has one column that isn't zero, so each result is a weight. Smaller scales are left
/// out: what a device does with subnormal operands of products isn't specified.
#[test]
fn mxfp4_weights_are_exact_from_scale_2_to_the_last() {
    let (n, k) = (usize::from(MXFP4_MAX_SCALE), 32usize);
    let scales: Vec<u8> = (0..n).map(|row| (row as u8 + 2).min(MXFP4_MAX_SCALE)).collect();
    let codes: Vec<u8> = (0..n).flat_map(|_| (0..16u8).map(|i| i % 8 * 0x22 + 0x10)).collect();
    let packed: Vec<u8> = codes.as_chunks().0.iter().flat_map(|eight| pack_mxfp4(*eight)).collect();
    let wanted: Vec<f64> = (0..16 * n)
        .map(|i| f64::from(E2M1_VALUES[i / n]) * 2f64.powi(i32::from(scales[i % n]) - 127))
        .collect();
    each_column_is_a_weight((n, k), &packed, &wanted, |device| ExpertFormat::Mxfp4 {
        scales: device.with(&scales),
    });
}

#[test]
fn rows_meet_their_experts_weights_in_every_format() {
    in_both_orders(|device| {
        for (format, n) in
            [(Format::Bf16, 70), (Format::Mxfp4, 70), (Format::Fp8(32), 72), (Format::Fp8(64), 136)]
        {
            for down in [false, true] {
                let (tokens, per_token, experts) = (7, 3, 5);
                Case { format, tokens, per_token, experts, n, k: 288, down, bias: down }.check(device);
            }
        }
    });
}

#[test]
fn many_rows_take_large_tiles_and_a_token_one_each() {
    in_both_orders(|device| {
        for (format, n) in
            [(Format::Bf16, 66), (Format::Mxfp4, 66), (Format::Fp8(32), 72), (Format::Fp8(128), 72)]
        {
            for (tokens, down) in [(90, false), (90, true), (1, false)] {
                Case { format, tokens, per_token: 2, experts: 4, n, k: 160, down, bias: true }.check(device);
            }
        }
    });
}

#[test]
fn inner_dimensions_need_not_fill_a_step() {
    in_both_orders(|device| {
        for (k, n, format) in [(8, 2, Format::Bf16), (40, 2, Format::Bf16), (80, 8, Format::Fp8(64))] {
            Case { format, tokens: 3, per_token: 1, experts: 1, n, k, down: false, bias: false }
                .check(device);
        }
    });
}

/// Each input has one column that isn't zero, so each result is a weight: all codes that are
/// numbers, in both kernels.
#[test]
fn every_fp8_weight_is_exact() {
    let (n, k) = (256usize, 64usize);
    let codes: Vec<u8> =
        (0..n * k).map(|i| (i / k) as u8).map(|code| if code & 0x7f == 0x7f { 0 } else { code }).collect();
    let scales: Vec<f32> = (0..32).map(|group| 2f32.powi(group * 5 - 100) * 1.25).collect();
    let value = |row: usize| f64::from(E4M3_VALUES[usize::from(codes[row * k])]) * f64::from(scales[row / 8]);
    let wanted: Vec<f64> = (0..16 * n).map(|i| value(i % n)).collect();
    each_column_is_a_weight((n, k), &codes, &wanted, |device| {
        ExpertFormat::Fp8(Fp8Scales { at: device.f32(&scales), block_cols: 128 })
    });
}

/// Checks both kernels on inputs that have one column that isn't zero, so each result is a weight
/// of the first expert.
fn each_column_is_a_weight(
    (n, k): (usize, usize),
    codes: &[u8],
    wanted: &[f64],
    format: impl Fn(&Device) -> ExpertFormat,
) {
    let x: Vec<f32> = (0..16 * k).map(|i| if i % k == i / k { 1.0 } else { 0.0 }).collect();
    in_both_orders(|device| {
        let out = device.out::<f32>(16 * n);
        let linear = MoeLinear {
            x: device.bf16(&x),
            order: device.u32(&(0..16u32).collect::<Vec<_>>()),
            starts: device.u32(&[&[0, 16][..], &[16; 3]].concat()),
            weights: StoredExperts { at: device.with(codes), format: format(device), bias: None },
            out,
            routes: 16,
            experts: 4,
            n: n as u32,
            k: k as u32,
            layer: MoeLayer::Down,
        };
        for launch in [linear.launch(), linear.tiles()] {
            device.spoil(out, 16 * n * 4);
            device.run(&launch);
            near(Tolerance::EXACT, &device.read_f32(out, 16 * n), wanted, launch.kernel.entry);
        }
    });
}
