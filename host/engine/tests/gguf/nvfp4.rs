//! NVFP4, whose files have a factor of a matrix beside it: it counts, and a broken one is refused by
//! name.

use kernels::ggml::BlockType;

use super::tools::convert::convert;
use super::tools::writer::Writer;
use super::{blocks, folder, loaded_of, logits_of, values};

const KIND: BlockType = BlockType::NVFP4;

/// Factors of few bits, so that products with values are exact.
fn factor(of: usize) -> f32 {
    [0.5, 1.5, 0.75, 1.0, 0.625][of % 5]
}

/// Whether a matrix is stored as NVFP4 here.
fn is_nvfp4(name: &str, shape: &[usize]) -> bool {
    let named = name.contains("attn_output") || name.contains("ffn_") && !name.contains("gate_inp");
    named && shape.len() > 1 && shape[shape.len() - 1].is_multiple_of(64)
}

#[test]
fn nvfp4_matrices_have_the_factors_beside_them() {
    let count = |shape: &[usize]| shape.iter().product::<usize>() / KIND.block_len();
    let experts = |shape: &[usize]| if shape.len() == 3 { shape[0] } else { 1 };
    for name in ["tied-bf16", "../../../models/kimi-tiny"] {
        let mut stored = convert(&folder(name));
        let mut widened = stored.clone();
        let mut factored = Vec::new();
        stored.replace(|name, shape, _| {
            is_nvfp4(name, shape).then(|| {
                factored.push((name.replace(".weight", ""), experts(shape)));
                (40, blocks(KIND, count(shape)))
            })
        });
        for (name, experts) in &factored {
            let all = (0..*experts).flat_map(|i| factor(name.len() + i).to_le_bytes()).collect();
            stored.tensor(&format!("{name}.scale"), 0, &[*experts], all);
            stored.tensor(&format!("{name}.input_scale"), 0, &[1], 3f32.to_le_bytes().to_vec());
        }
        widened.replace(|name, shape, _| {
            is_nvfp4(name, shape).then(|| {
                let values = values(KIND, &blocks(KIND, count(shape)));
                let (of_expert, first) = (values.len() / 4 / experts(shape), name.len() - ".weight".len());
                let scaled = values.as_chunks().0.iter().enumerate().flat_map(|(i, bytes)| {
                    (f32::from_le_bytes(*bytes) * factor(first + i / of_expert)).to_le_bytes()
                });
                (0, scaled.collect())
            })
        });
        assert!(factored.len() > 6 && logits_of(&stored) == logits_of(&widened), "{name}: {factored:?}");
    }
}

/// A model whose matrices of this name are NVFP4.
fn with(model: &str, part: &str) -> Writer {
    let mut writer = convert(&folder(model));
    writer.replace(|name, shape, _| {
        let count = shape.iter().product::<usize>() / KIND.block_len();
        (is_nvfp4(name, shape) && name.contains(part)).then(|| (40, blocks(KIND, count)))
    });
    writer
}

/// The model, with these factors of one of the matrices.
fn with_factors(writer: &Writer, name: &str, factors: &[f32]) -> Writer {
    let mut writer = writer.clone();
    let bytes = factors.iter().flat_map(|factor| factor.to_le_bytes()).collect();
    writer.tensor(name, 0, &[factors.len()], bytes);
    writer
}

#[test]
fn broken_factors_of_nvfp4_are_refused_by_name() {
    const DENSE: &str = "blk.0.ffn_down.scale";
    const EXPERTS: &str = "blk.1.ffn_gate_exps.scale";
    let dense = with("tied-bf16", "ffn_down");
    let experts = with("../../../models/kimi-tiny", "ffn_gate_exps");
    let count = experts_of(&experts);
    let other = |value: f32| (0..count).map(|at| if at == 2 { value } else { 1.0 }).collect::<Vec<f32>>();
    let shape = |found: usize, count: usize| format!("expected shape [{count}], found [{found}]");
    let anew = |at: usize, value: &str| format!("element {at} is {value}; get the file anew");
    let too_large = "1e36 is too large for a factor of NVFP4".replace("1e36", &1e36f32.to_string());
    for (writer, name, factors, wanted) in [
        (&dense, DENSE, vec![f32::NAN], anew(0, "NaN")),
        (&dense, DENSE, vec![f32::INFINITY], anew(0, "inf")),
        (&dense, DENSE, vec![1e36], too_large),
        (&dense, DENSE, vec![1.0, 2.0], shape(2, 1)),
        (&experts, EXPERTS, other(f32::NAN), anew(2, "NaN")),
        (&experts, EXPERTS, other(f32::NEG_INFINITY), anew(2, "-inf")),
        (&experts, EXPERTS, vec![1.0; count - 1], shape(count - 1, count)),
        (&experts, EXPERTS, vec![1.0; count + 1], shape(count + 1, count)),
        (&experts, EXPERTS, vec![1.0], shape(1, count)),
    ] {
        let error = loaded_of(&with_factors(writer, name, &factors)).unwrap_err();
        assert_eq!(error, format!("model.gguf: tensor {name}: {wanted}"));
    }
    let mut matrix = dense.clone();
    matrix.tensor(DENSE, 0, &[1, 1], vec![0; 4]);
    let error = loaded_of(&matrix).unwrap_err();
    assert_eq!(error, format!("model.gguf: tensor {DENSE}: expected shape [1], found [1, 1]"));
    let mut codes = dense.clone();
    codes.tensor(DENSE, 8, &[32], vec![0; 34]);
    let error = loaded_of(&codes).unwrap_err();
    assert_eq!(error, format!("model.gguf: tensor {DENSE}: expected shape [1], found [32]"));
    // Of a matrix that isn't NVFP4, nothing reads it.
    let stray = with_factors(&dense, "blk.0.ffn_gate.scale", &[1.0]);
    assert!(loaded_of(&stray).unwrap_err().contains("blk.0.ffn_gate.scale"));
}

fn experts_of(writer: &Writer) -> usize {
    let mut count = 0;
    writer.clone().replace(|name, shape, _| {
        count = if name == "blk.1.ffn_gate_exps.weight" { shape[0] } else { count };
        None
    });
    count
}

#[test]
fn absent_and_negative_factors_of_nvfp4_are_numbers() {
    let plain = with("tied-bf16", "ffn_down");
    let logits = logits_of(&plain);
    // Converters leave out a factor of one; the others count all the same.
    let name = "blk.0.ffn_down.scale";
    assert!(logits_of(&with_factors(&plain, name, &[1.0])) == logits, "one for one of two layers");
    let negative = logits_of(&with_factors(&plain, name, &[-1.0]));
    let mut widened = plain;
    widened.replace(|name, shape, bytes| {
        (name == "blk.0.ffn_down.weight").then(|| {
            assert_eq!(bytes.len(), shape.iter().product::<usize>() / KIND.block_len() * KIND.block_bytes());
            let all = values(KIND, bytes);
            let values = all.as_chunks().0.iter().map(|bytes| -f32::from_le_bytes(*bytes));
            (0, values.flat_map(f32::to_le_bytes).collect())
        })
    });
    assert!(negative != logits && negative == logits_of(&widened));
}
