//! The experts' linear layers in all formats, with experts that have no rows, few rows, and more than a tile of rows.

use cuda_kernels::{
    DevicePtr, ExpertFormat, MoeLayer, MoeLinear, StoredExperts, Tolerance, e2m1_value, e4m3_value,
    expert_linear_reference, moe_align_reference, pack_mxfp4,
};

use super::device::{Device, in_both_orders, near, round, values};

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
    /// Rows and columns of a quantisation block, and number of matrices that are stacked.
    Fp8(usize, usize, usize),
}

/// Bytes without a pattern.
fn bytes(len: usize, seed: u32) -> Vec<u8> {
    values(len, seed)
        .iter()
        .enumerate()
        .map(|(i, x)| (x.to_bits().rotate_left(11) as u8).wrapping_mul(37) ^ i as u8)
        .collect()
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
                e2m1_value(codes[i / 2] >> (4 * (i % 2))) * 2f32.powi(i32::from(scales[i / 32]) - 127)
            };
            let values = (0..len).map(value).collect();
            let scales = device.with(&scales);
            let packed: Vec<u8> = codes.as_chunks().0.iter().flat_map(|eight| pack_mxfp4(*eight)).collect();
            Stored { at: device.with(&packed), format: ExpertFormat::Mxfp4 { scales }, values }
        }
        Format::Fp8(rows, cols, parts) => {
            // Codes that are NaN don't occur: a model with them is refused at load.
            let codes: Vec<u8> =
                bytes(len, 4).iter().map(|x| if x & 0x7f > 0x58 { x & 0xcf } else { *x }).collect();
            let (part, across) = (n / parts, k.div_ceil(cols));
            let blocks = experts * parts * part.div_ceil(rows) * across;
            let scales: Vec<f32> = values(blocks, 5).iter().map(|x| 0.1 + x.abs()).collect();
            let value = |i: usize| {
                let (expert, row, col) = (i / (n * k), i / k % n, i % k);
                let block = (expert * parts + row / part) * part.div_ceil(rows) + row % part / rows;
                round(e4m3_value(codes[i]) * scales[block * across + col / cols])
            };
            let values = (0..len).map(value).collect();
            let scales = device.f32(&scales);
            let format =
                ExpertFormat::Fp8 { scales, block: (rows as u32, cols as u32), part_rows: part as u32 };
            Stored { at: device.with(&codes), format, values }
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
        device.run(&linear.launch());
        let mut wanted = vec![0.0; routes * n];
        for (place, route) in order.iter().map(|route| *route as usize).enumerate() {
            let (from, to) = if down { (place, route) } else { (route / per_token, place) };
            let expert = chosen[route] as usize;
            let weight = &stored.values[expert * n * k..][..n * k];
            let bias = self.bias.then(|| &biases[expert * n..][..n]);
            wanted[to * n..][..n].copy_from_slice(&expert_linear_reference(
                &x[from * k..][..k],
                weight,
                bias,
            ));
        }
        // Sums of k products of numbers about one, in f32.
        let sums = |tolerance: Tolerance| Tolerance { absolute: 1e-5 * k as f64, ..tolerance };
        let what = format!("{:?}, {tokens} tokens, {n} by {k}", self.format);
        if down {
            near(sums(Tolerance::F32), &device.read_f32(out, routes * n), &wanted, &what);
        } else {
            device.check_bf16(out, &wanted, sums(Tolerance::BF16), &what);
        }
    }
}

#[test]
fn rows_meet_their_experts_weights_in_every_format() {
    in_both_orders(|device| {
        for format in [Format::Bf16, Format::Mxfp4, Format::Fp8(16, 8, 2), Format::Fp8(128, 128, 1)] {
            for down in [false, true] {
                let (tokens, per_token, experts) = (7, 3, 5);
                Case { format, tokens, per_token, experts, n: 70, k: 288, down, bias: down }.check(device);
            }
        }
    });
}

#[test]
fn many_rows_take_large_tiles_and_a_token_alone_has_one_each() {
    in_both_orders(|device| {
        for format in [Format::Bf16, Format::Mxfp4, Format::Fp8(32, 32, 1)] {
            for (tokens, down) in [(90, false), (90, true), (1, false)] {
                Case { format, tokens, per_token: 2, experts: 4, n: 66, k: 160, down, bias: true }
                    .check(device);
            }
        }
    });
}

#[test]
fn inner_dimensions_need_not_fill_a_step() {
    in_both_orders(|device| {
        for (k, format) in [(8, Format::Bf16), (40, Format::Bf16), (72, Format::Fp8(64, 24, 1))] {
            Case { format, tokens: 3, per_token: 1, experts: 1, n: 2, k, down: false, bias: false }
                .check(device);
        }
    });
}
