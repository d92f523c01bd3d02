//! Norms of heads, rotary embedding and writes to the KV cache against the reference.

use cuda_kernels::{QkNormRopeWrite, Tolerance, kv_index};
use ops::{HeadNorms, Norm, QkvShape, QueryScaling, reference};

use super::device::{Device, in_both_orders, near, values};

/// Number of KV blocks in the cache.
const BLOCKS: usize = 3;

struct Case {
    rows: usize,
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    norms: bool,
    /// Number of dimensions that are rotated.
    rotated: usize,
    query_scaling: Option<QueryScaling>,
}

/// Heads that are rotated whole.
const WHOLE: Case =
    Case { rows: 5, heads: 4, kv_heads: 2, head_dim: 64, norms: true, rotated: 64, query_scaling: None };

impl Case {
    fn all_heads(&self) -> usize {
        self.heads + 2 * self.kv_heads
    }

    fn run(&self, device: &Device) {
        let Self { rows, heads, kv_heads, head_dim, .. } = *self;
        let qkv = values(rows * self.all_heads() * head_dim, 1);
        let norms = [values(head_dim, 2), values(head_dim, 3)];
        let pairs = self.rotated / 2;
        let frequencies: Vec<f32> =
            (0..pairs.max(1)).map(|i| 10_000f32.powf(-2.0 * i as f32 / head_dim as f32)).collect();
        let positions: Vec<u32> = (0..rows).map(|row| [0, 1, 77, 40_000, 1_000_003][row % 5]).collect();
        // Slots lie in all blocks, at both ends of a block, and differ from each other.
        let slots: Vec<u32> = (0..rows).map(|row| (row * 59 % (64 * BLOCKS)) as u32).collect();
        let cache = BLOCKS * kv_heads * 64 * head_dim;
        let parameters = QkNormRopeWrite {
            qkv: device.bf16(&qkv),
            norms: self.norms.then(|| HeadNorms {
                q: device.f32(&norms[0]),
                k: device.f32(&norms[1]),
                values: false,
                eps: 1e-6,
            }),
            frequencies: device.f32(&frequencies),
            pairs: pairs as u32,
            rope_factor: 1.25,
            query_scaling: self.query_scaling,
            positions: device.u32(&positions),
            slots: device.u32(&slots),
            keys: device.out::<u16>(cache),
            values: device.out::<u16>(cache),
            rows: rows as u32,
            shape: QkvShape { heads, kv_heads, head_dim },
        };
        device.run(&parameters.launch());
        let head = |row: usize, head: usize| &qkv[(row * self.all_heads() + head) * head_dim..][..head_dim];
        let rotated = |row: usize, at: usize| {
            let norm = &norms[usize::from(at >= heads)];
            let norm = self.norms.then_some(Norm { weight: &norm[..], eps: 1e-6 });
            reference::norm_rope(head(row, at), norm, &frequencies[..pairs], 1.25, positions[row])
        };
        let exact = |x: &[f32]| x.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();

        // Keys and values are in their slots, and nothing else of the cache was written.
        let (mut keys, mut values) = (vec![f64::NAN; cache], vec![f64::NAN; cache]);
        for (row, at) in (0..rows).flat_map(|row| (0..kv_heads).map(move |at| (row, at))) {
            let (key, value) = (rotated(row, heads + at), exact(head(row, heads + kv_heads + at)));
            for dim in 0..head_dim {
                let index = kv_index(slots[row] as usize, at, dim, kv_heads, head_dim);
                (keys[index], values[index]) = (key[dim], value[dim]);
            }
        }
        self.check(&device.read_bf16(parameters.keys, cache), &keys, TOLERANCE);
        self.check(&device.read_bf16(parameters.values, cache), &values, Tolerance::EXACT);

        // Queries are changed in place; keys and values in `qkv` are unchanged.
        let wanted = |row: usize, at: usize| {
            if at >= heads {
                return exact(head(row, at));
            }
            let factor = f64::from(self.query_scaling.map_or(1.0, |scaling| scaling.factor(positions[row])));
            rotated(row, at).iter().map(|x| x * factor).collect()
        };
        let wanted: Vec<f64> = (0..rows)
            .flat_map(|row| (0..self.all_heads()).map(move |at| (row, at)))
            .flat_map(|(row, at)| wanted(row, at))
            .collect();
        self.check(&device.read_bf16(parameters.qkv, wanted.len()), &wanted, TOLERANCE);
    }

    /// Compares values where they aren't NaN; NaN must be where NaN is wanted.
    fn check(&self, got: &[f32], wanted: &[f64], tolerance: Tolerance) {
        let Self { rows, heads, kv_heads, head_dim, norms, rotated, query_scaling } = self;
        let what = format!(
            "{rows} rows, heads {heads} and {kv_heads} of {head_dim}, norms {norms}, {rotated} rotated, {query_scaling:?}"
        );
        let same = got.iter().zip(wanted).position(|(got, wanted)| got.is_nan() != wanted.is_nan());
        assert_eq!(same, None, "{what}: written or not");
        let (got, wanted): (Vec<f32>, Vec<f64>) =
            got.iter().zip(wanted).filter(|(got, _)| !got.is_nan()).unzip();
        near(tolerance, &got, &wanted, &what);
    }
}

/// The sum of two products may be far smaller than the products.
const TOLERANCE: Tolerance = Tolerance { absolute: 2e-5, ..Tolerance::BF16 };

#[test]
fn heads_of_any_width_are_rotated_into_their_slots() {
    in_both_orders(|device| {
        for head_dim in [2, 12, 16, 24, 32, 64, 80, 96, 128, 256] {
            for norms in [false, true] {
                Case { head_dim, norms, rotated: head_dim, ..WHOLE }.run(device);
            }
        }
    });
}

#[test]
fn any_numbers_of_rows_and_heads_fill_a_grid() {
    in_both_orders(|device| {
        for (rows, heads, kv_heads) in [(1, 1, 1), (1, 7, 1), (33, 3, 3), (130, 2, 1)] {
            Case { rows, heads, kv_heads, ..WHOLE }.run(device);
        }
    });
}

#[test]
fn dimensions_behind_the_rotated_part_stay() {
    in_both_orders(|device| {
        for (head_dim, rotated) in [(128, 64), (128, 96), (64, 0), (24, 6), (32, 16), (256, 64)] {
            Case { head_dim, rotated, ..WHOLE }.run(device);
        }
    });
}

#[test]
fn queries_are_scaled_by_their_position() {
    in_both_orders(|device| {
        let query_scaling = Some(QueryScaling { beta: 0.1, original: 60 });
        Case { query_scaling, ..WHOLE }.run(device);
        Case { query_scaling, rotated: 32, ..WHOLE }.run(device);
    });
}
