//! Every operation once, on small inputs and two threads, against its reference: what Miri can run
//! (`tests/miri.sh`).
#![expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "small counts and codes")]

use half::{bf16, f16};

use kernels::cpu::{
    AttentionParams, Cpu, DeltaLayer, Elements, Expert, ExpertScratch, FirstState, Fp8Blocks, InputRounding,
    Isa, KvCache, KvDtype, KvShape, Matrix, MlaScratch, MlaWeights, Mxfp4, QuantizeTo, QuantizedMatrix,
    RepackedMatrix, RopeAngles, Routes, SequenceRows, ShortConv, StatePool, StatePoolShape, StateSave,
    StateSequence, attention, clamped_swiglu, embed, experts, gate_mul, gated_delta, linear,
    linear_reference, mla_attention, mla_write, qk_norm_rope_write, rms_norm, short_conv,
};
use ops::{
    AttentionSpec, DeltaLayout, DeltaShape, DeltaWeights, ExpertActivation, GateActivation, HeadNorms,
    HeadPairing, MlaShape, Norm, QkvShape, ShortConvShape, ShortConvWeights, StoreMode, reference,
};

fn values(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f32 / 1001.0 - 1.0).collect()
}

fn cpus() -> impl Iterator<Item = Cpu> {
    Isa::available().into_iter().map(|isa| Cpu::with_isa(2, isa))
}

fn near(got: &[f32], wanted: &[f64], error: f64) {
    assert_eq!(got.len(), wanted.len());
    for (i, (a, b)) in got.iter().zip(wanted).enumerate() {
        assert!((f64::from(*a) - b).abs() <= error * (1.0 + b.abs()), "{i}: {a} {b}");
    }
}

/// Multiplies some numbers of rows by a matrix, twice at once so that there are two tasks, and
/// compares with the reference.
fn multiply(numbers: &[usize], matrix: Matrix<'_>, error: f64) {
    let (n, k) = (matrix.rows(), matrix.cols());
    for rows in numbers {
        let x: Vec<f32> = values(rows * k, 1).iter().map(|x| bf16::from_f32(*x).to_f32()).collect();
        let once = linear_reference(&x, &matrix);
        let wanted: Vec<f64> = once.chunks_exact(n).flat_map(|row| [row, row].concat()).collect();
        for cpu in cpus() {
            let mut out = vec![f32::NAN; rows * 2 * n];
            linear(&cpu, &x, &[matrix, matrix], None, StoreMode::Overwrite, &mut out);
            near(&out, &wanted, error);
        }
    }
}

#[test]
fn plain_weights() {
    let (n, k) = (7, 37);
    let f32s = values(n * k, 2);
    let bf16s: Vec<bf16> = f32s.iter().map(|x| bf16::from_f32(*x)).collect();
    let f16s: Vec<f16> = f32s.iter().map(|x| f16::from_f32(*x)).collect();
    for elements in [Elements::F32(&f32s), Elements::Bf16(&bf16s), Elements::F16(&f16s)] {
        multiply(&[1, 7], Matrix::new(elements, n, k), 1e-5);
    }
    multiply(
        &[1, 7],
        Matrix::new(Elements::Bf16(&bf16s), n, k).with_inputs(InputRounding::Bf16IfExact),
        1e-5,
    );
}

#[test]
fn packed_weights() {
    let (n, k) = (5, 96);
    let fp8: Vec<u8> = (0..n * k).map(|i| ((i * 89 % 0x70) | (i % 2 * 0x80)) as u8).collect();
    let scales: Vec<f32> = (0..2).map(|i| 0.001 + i as f32 * 0.0003).collect();
    let fp8 = Matrix::new(Elements::Fp8(Fp8Blocks::new(&fp8, k, &scales, (4, 128))), n, k);
    let codes: Vec<u8> = (0..n * k / 2).map(|i| (i * 37) as u8).collect();
    let scales: Vec<u8> = (0..n * k / 32).map(|i| 120 + (i % 5) as u8).collect();
    let mxfp4 = Matrix::new(Elements::Mxfp4(Mxfp4::new(&codes, &scales, k)), n, k);
    for matrix in [fp8, mxfp4] {
        multiply(&[2, 9], matrix, 1e-4);
        multiply(&[2, 9], matrix.with_inputs(InputRounding::Bf16IfExact), 1e-4);
    }
}

#[test]
fn repacked_and_quantized_weights() {
    let (n, k) = (17, 33);
    let w = values(n * k, 3);
    let b: Vec<bf16> = w.iter().map(|x| bf16::from_f32(*x)).collect();
    let repacked = RepackedMatrix::new(&Cpu::new(2), &b, (n, k)).unwrap();
    multiply(&[1, 5], Matrix::new(Elements::Repacked(&repacked), n, k), 1e-5);
    for to in [QuantizeTo::Q8, QuantizeTo::Q4] {
        let plain = Matrix::new(Elements::F32(&w), n, k);
        let quantized = QuantizedMatrix::new(&Cpu::new(2), plain, to).unwrap();
        // Inputs are rounded to eight bits.
        multiply(&[1, 5], Matrix::new(Elements::Quantized(&quantized), n, k), 0.1);
    }
}

#[test]
fn blocks_of_files_as_stored_and_in_panels() {
    use kernels::cpu::FileBlocks;
    use kernels::ggml::BlockType;

    let n = 17;
    for kind in [BlockType::Q8_0, BlockType::Q4_K, BlockType::Q5_K, BlockType::Q6_K, BlockType::IQ2_S] {
        let (k, size) = (kind.block_len(), kind.block_bytes());
        // Factors are small, positive and finite, wherever they are.
        let bytes: Vec<u8> = (0..n * size).map(|i| (i * 89 % 64) as u8).collect();
        let stored = Matrix::new(Elements::FileBlocks(FileBlocks::new(kind, &bytes, k)), n, k);
        let packed = QuantizedMatrix::new(&Cpu::new(2), stored, QuantizeTo::Q8).unwrap();
        let packed = Matrix::new(Elements::Quantized(&packed), n, k);
        let x = values(3 * k, 1);
        let wanted = linear_reference(&x, &stored);
        let most = wanted.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        // In panels, inputs are rounded to eight bits.
        for (matrix, error) in [(stored, 1e-5), (packed, 0.02)] {
            for cpu in cpus() {
                let mut out = vec![f32::NAN; 3 * n];
                linear(&cpu, &x, &[matrix], None, StoreMode::Overwrite, &mut out);
                let is_near = |(got, wanted): (&f32, &f64)| (f64::from(*got) - wanted).abs() <= error * most;
                assert!(out.iter().zip(&wanted).all(is_near), "{} {error}", kind.name());
            }
        }
    }
}

#[test]
fn rows_of_a_table_norms_and_activations() {
    // Enough for two tasks of rows.
    let (rows, cols) = (18, 35);
    let (x, weight) = (values(rows * cols, 4), values(cols, 5));
    let gate_up = values(2 * rows * cols, 6);
    let rows_of_table: Vec<u32> = (0..rows as u32).map(|row| (row + 1) % rows as u32).collect();
    for cpu in cpus() {
        let mut out = vec![f32::NAN; x.len()];
        embed(&cpu, Matrix::new(Elements::F32(&x), rows, cols), &rows_of_table, &mut out);
        assert_eq!(out, x[cols..].iter().chain(&x[..cols]).copied().collect::<Vec<_>>());
        let norm = Norm { weight: &weight[..], eps: 1e-6 };
        rms_norm(&cpu, &x, norm, StoreMode::Overwrite, &mut out);
        near(&out, &reference::rms_norm(&x, norm), 1e-5);
        gate_mul(&cpu, GateActivation::Silu, &gate_up, cols, &mut out);
        near(&out, &reference::silu_mul(&gate_up, cols, cols), 1e-5);
        clamped_swiglu(&cpu, &gate_up, (1.7, 0.5), &mut out);
        near(&out, &reference::clamped_swiglu(&gate_up, 1.7, 0.5), 1e-5);
    }
}

#[test]
fn experts_of_some_tokens() {
    let (tokens, hidden, width, per_token) = (3, 18, 10, 2);
    let x = values(tokens * hidden, 7);
    let routes = Routes { per_token, experts: vec![0, 1, 1, 2, 2, 0], weights: values(6, 8) };
    let weights: Vec<_> =
        (0..3).map(|e| (values(2 * width * hidden, e), values(hidden * width, e + 9))).collect();
    let expert = |id: usize| Expert {
        gate_up: vec![Matrix::new(Elements::F32(&weights[id].0), 2 * width, hidden)],
        gate_up_bias: None,
        down: vec![Matrix::new(Elements::F32(&weights[id].1), hidden, width)],
        down_bias: None,
    };
    let mut wanted = vec![0.0; x.len()];
    for (row, (id, weight)) in routes.experts.iter().zip(&routes.weights).enumerate() {
        let at = row / per_token * hidden;
        let Expert { gate_up, down, .. } = expert(*id as usize);
        let narrow = |all: Vec<f64>| -> Vec<f32> { all.into_iter().map(|x| x as f32).collect() };
        let middle = narrow(linear_reference(&x[at..][..hidden], &gate_up[0]));
        let result = linear_reference(&narrow(reference::silu_mul(&middle, width, width)), &down[0]);
        result.iter().zip(&mut wanted[at..]).for_each(|(x, to)| *to += f64::from(*weight) * x);
    }
    for cpu in cpus() {
        let (mut out, mut scratch) = (vec![0.0; x.len()], ExpertScratch::default());
        experts(&cpu, &x, &routes, expert, ExpertActivation::SwiGlu, &mut scratch, &mut out);
        near(&out, &wanted, 1e-4);
    }
}

#[test]
fn attention_of_some_tokens_and_of_one() {
    let shape = QkvShape { heads: 8, kv_heads: 4, head_dim: 8 };
    let QkvShape { heads, kv_heads, head_dim } = shape;
    let (context, width) = (17, shape.width());
    let positions: Vec<u32> = (0..context as u32).collect();
    let blocks = [2, 0];
    let slots: Vec<u32> = positions.iter().map(|p| blocks[*p as usize / 16] * 16 + p % 16).collect();
    let ones = vec![1.0; head_dim];
    for cpu in cpus() {
        for dtype in [KvDtype::F16, KvDtype::F32] {
            let of_cache = KvShape { blocks: 3, kv_heads, head_dim, latent: false, dtype };
            let mut cache = KvCache::new(&[of_cache]).unwrap();
            let (mut qkv, mut angles) = (values(context * width, 9), RopeAngles::default());
            angles.fill(&positions, &[0.3; 4], 1.0);
            let norms = HeadNorms { q: &ones[..], k: &ones[..], values: false, eps: 1e-6 };
            qk_norm_rope_write(&cpu, shape, &mut qkv, Some(norms), &angles, &slots, cache.layer_mut(0));
            let (scale, window, sinks) = (0.3, Some(5), Some(&ones[..]));
            let params = AttentionParams::of_qkv(AttentionSpec { shape, scale, window, sinks });
            let run = |sequences: &[SequenceRows<'_>]| {
                let rows = sequences.iter().map(|sequence| sequence.rows).sum::<usize>();
                let mut out = vec![f32::NAN; rows * heads * head_dim];
                attention(
                    &cpu,
                    params,
                    &qkv[(context - rows) * width..],
                    sequences,
                    cache.layer(0),
                    &mut out,
                );
                out
            };
            // The last four tokens as two sequences, and the last one alone, whose parts are tasks.
            let some = run(&[
                SequenceRows { first_row: 0, rows: 2, context: context - 2, blocks: &blocks },
                SequenceRows { first_row: 2, rows: 2, context, blocks: &blocks },
            ]);
            let one = run(&[SequenceRows { first_row: 0, rows: 1, context, blocks: &blocks }]);
            assert_eq!(one, some[3 * heads * head_dim..]);
            // Results are means of values, which are at most one.
            assert!(some.iter().all(|x| x.abs() <= 1.0));
        }
    }
}

#[test]
fn attention_over_latent_rows() {
    let shape = MlaShape { heads: 2, rank: 8, nope: 4, rope: 4, value: 6 };
    let (context, blocks) = (5, [1]);
    let of_cache =
        KvShape { blocks: 2, kv_heads: 1, head_dim: shape.cached_width(), latent: true, dtype: KvDtype::F32 };
    let projection = values(shape.heads * (shape.nope + shape.value) * shape.rank, 11);
    let kv = values(context * shape.cached_width(), 12);
    let positions: Vec<u32> = (0..context as u32).collect();
    let slots: Vec<u32> = positions.iter().map(|p| blocks[0] * 16 + p).collect();
    let run = |cpu: &Cpu| {
        let (mut cache, mut angles) = (KvCache::new(&[of_cache]).unwrap(), RopeAngles::default());
        angles.fill(&positions, &[1.0, 0.1], 1.0);
        let mut queries = values(context * shape.query_width(), 13);
        let norm = Norm { weight: &[1.0; 8][..], eps: 1e-6 };
        mla_write(cpu, shape, norm, &angles, &slots, (&mut queries, &kv), cache.layer_mut(0));
        let weights = MlaWeights::new(shape, &projection);
        let mut out = vec![f32::NAN; context * shape.heads * shape.value];
        let sequence = SequenceRows { first_row: 0, rows: context, context, blocks: &blocks };
        let (layer, mut scratch) = (cache.layer(0), MlaScratch::default());
        mla_attention(cpu, &weights, (&queries, 0.3), &[sequence], layer, &mut scratch, &mut out);
        out
    };
    for cpu in cpus() {
        assert_eq!(run(&cpu), run(&Cpu::with_isa(1, cpu.isa())));
    }
}

#[test]
fn gated_delta_of_two_sequences_with_rows_taken_back() {
    let shape = DeltaShape {
        key_heads: 1,
        value_heads: 2,
        key_dim: 5,
        value_dim: 6,
        taps: 3,
        layout: DeltaLayout::Whole,
        pairing: HeadPairing::Neighbours,
    };
    let (conv, decay) = (values(shape.channels() * shape.taps, 1), [0.3, 1.2]);
    let norm = Norm { weight: &values(shape.value_dim, 2)[..], eps: 1e-6 };
    let weights = DeltaWeights { conv: &conv[..], decay: &decay[..], decay_bias: &[0.1, -0.4][..], norm };
    let (projected, rates) = (values(4 * shape.projected_width(), 3), values(4 * shape.rates_width(), 4));
    let wanted = reference::gated_delta(shape, weights, &projected, &rates);
    let layer = DeltaLayer::state_sizes(shape);
    let sizes = StatePoolShape { layer, layers: 1, slots: 3, lanes: 2, tentative: 2 };
    for cpu in cpus() {
        let (layer, mut states) = (DeltaLayer::new(shape, weights), StatePool::new(sizes).unwrap());
        let empty = StateSequence {
            first_row: 0,
            rows: 4,
            slot: 0,
            start: FirstState::Empty,
            tentative: 2,
            saves: vec![StateSave { rows: 3, slot: 2 }],
        };
        let mut out = vec![f32::NAN; 4 * shape.out_width()];
        let inputs = (&projected[..], &rates[..]);
        gated_delta(&cpu, &layer, inputs, std::slice::from_ref(&empty), states.layer_mut(0), &mut out);
        near(&out, &wanted, 1e-4);
        // The first sequence goes on behind one row that was right, beside one from the snapshot.
        states.copy(2, 1);
        let (wide, narrow) = (shape.projected_width(), shape.rates_width());
        let last = [&projected[3 * wide..], &projected[3 * wide..]].concat();
        let rates = [&rates[3 * narrow..], &rates[3 * narrow..]].concat();
        let goes_on = |row, accepted| StateSequence {
            first_row: row,
            rows: 1,
            slot: row,
            start: FirstState::Slot { accepted },
            tentative: 0,
            saves: Vec::new(),
        };
        let mut again = vec![f32::NAN; 2 * shape.out_width()];
        let both = [goes_on(0, 1), goes_on(1, 0)];
        gated_delta(&cpu, &layer, (&last, &rates), &both, states.layer_mut(0), &mut again);
        let row = &out[3 * shape.out_width()..];
        assert_eq!(again, [row, row].concat());
    }
}

#[test]
fn short_conv_of_two_sequences_with_rows_taken_back() {
    let shape = ShortConvShape { channels: 21, taps: 3 };
    let (factors, bias) = (values(63, 1), values(21, 2));
    let weights = ShortConvWeights { factors: &factors[..], bias: Some(&bias[..]) };
    let projected = values(4 * 63, 3);
    let wanted = reference::short_conv(shape, weights, &projected);
    let layer = ShortConv::state_sizes(shape);
    let sizes = StatePoolShape { layer, layers: 1, slots: 3, lanes: 2, tentative: 2 };
    let sequence = |first_row, rows, start| StateSequence {
        first_row,
        rows,
        slot: first_row,
        start,
        tentative: 0,
        saves: Vec::new(),
    };
    for cpu in cpus() {
        let (layer, mut states) = (ShortConv::new(shape, weights), StatePool::new(sizes).unwrap());
        let saves = vec![StateSave { rows: 3, slot: 2 }];
        let first = [StateSequence { tentative: 2, saves, ..sequence(0, 4, FirstState::Empty) }];
        let mut out = vec![f32::NAN; 4 * 21];
        short_conv(&cpu, &layer, &projected, &first, states.layer_mut(0), &mut out);
        near(&out, &wanted, 1e-5);
        // The first sequence goes on behind one row that was right, beside one from the snapshot.
        states.copy(2, 1);
        let last = [&projected[3 * 63..], &projected[3 * 63..]].concat();
        let both = [1, 0].map(|accepted| FirstState::Slot { accepted });
        let both = [sequence(0, 1, both[0]), sequence(1, 1, both[1])];
        let mut again = vec![f32::NAN; 2 * 21];
        short_conv(&cpu, &layer, &last, &both, states.layer_mut(0), &mut again);
        assert_eq!(again, [&out[3 * 21..], &out[3 * 21..]].concat());
    }
}
