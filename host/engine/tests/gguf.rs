//! GGUF files of the tiny models give the logits of the checkpoints that they were made of, bit for
//! bit; matrices in blocks give those of their values in f32.
#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use std::path::{Path, PathBuf};

use engine::cpu::{self, CpuOptions, CpuRunner, KvDtype, Numerics, Threads};
use engine::models::LoadError;
use engine::runner::Runner;
use engine::{GgufFiles, ModelFiles};
use kernels::ggml::{Block, BlockType};

#[path = "gguf/nvfp4.rs"]
mod nvfp4;
mod steps;
#[path = "../../gguf/tests/tools/mod.rs"]
mod tools;
use steps::{Sequence, batch, run};
use tools::convert::convert;
use tools::writer::Writer;

/// Tiny models, a checkpoint of each kind that converters take.
const MODELS: [&str; 29] = [
    "odd-f32",
    "tied-bf16",
    "gqa4-f16",
    "yarn-bf16",
    "llama2-f16",
    "mistral-bf16",
    "mixtral-bf16",
    "mixtral-sharded-bf16",
    "ministral3-bf16",
    "smollm3-bf16",
    "granite-bf16",
    "gemma3-bf16",
    "gemma4-small-bf16",
    "gemma4-large-bf16",
    "gemma4-experts-bf16",
    "phi3-long-f32",
    "phi3-short-bf16",
    "qwen2-bf16",
    "moe-bf16",
    "qwen3-next-bf16",
    "gpt-oss-bf16",
    "gpt-oss-mxfp4",
    "glm4-moe-bf16",
    "deepseek-bf16",
    "lfm2-bf16",
    "lfm2-moe-bf16",
    "../../../models/qwen3-tiny",
    "../../../models/gpt-oss-tiny",
    "../../../models/kimi-tiny",
];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens").join(name)
}

/// Logits of all positions of one prompt.
fn logits(files: &ModelFiles) -> Vec<f32> {
    loaded(files).unwrap()
}

fn loaded(files: &ModelFiles) -> Result<Vec<f32>, LoadError> {
    loaded_as(files, Numerics::EXACT)
}

fn loaded_as(files: &ModelFiles, numerics: Numerics) -> Result<Vec<f32>, LoadError> {
    let options = CpuOptions { kv_cache_bytes: 16 << 20, numerics, ..CpuOptions::default() };
    let mut runner: CpuRunner = cpu::load(files, &Threads::start(Some(1)).unwrap(), &options, &mut |_| {})?;
    let vocab = u32::try_from(runner.shape().vocab).unwrap();
    let tokens: Vec<u32> = (0..40).map(|i| i * 7 % vocab).collect();
    Ok(run(&mut runner, &batch(&[&Sequence::new(&tokens, 0, 1)], &[tokens.len()], true)).unwrap())
}

fn logits_of(writer: &Writer) -> Vec<f32> {
    loaded_of(writer).unwrap()
}

/// Logits, or the message of the error without the file's path.
fn loaded_of(writer: &Writer) -> Result<Vec<f32>, String> {
    loaded_of_as(writer, Numerics::EXACT)
}

fn loaded_of_as(writer: &Writer, numerics: Numerics) -> Result<Vec<f32>, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    std::fs::write(&path, writer.finish()).unwrap();
    let loaded = loaded_as(&ModelFiles::Gguf(GgufFiles::open(&path).unwrap()), numerics);
    loaded.map_err(|error| error.to_string().replace(path.to_str().unwrap(), "model.gguf"))
}

#[test]
fn gguf_logits_equal_those_of_the_checkpoint() {
    for name in MODELS {
        let folder = folder(name);
        let wanted = logits(&ModelFiles::Directory(folder.clone()));
        assert!(logits_of(&convert(&folder)) == wanted, "{name}");
    }
}

/// Files of Qwen3.5 have value heads in another order, in which the output projection adds them up.
#[test]
fn gguf_of_qwen35_has_its_value_heads_apart() {
    for name in ["qwen35-bf16", "qwen35-moe-f32"] {
        let source = folder(name);
        let wanted = logits(&ModelFiles::Directory(source.clone()));
        let apart = furthest_apart(&logits_of(&convert(&source)), &wanted);
        assert!(apart < 1e-5, "{name}: {apart}");
        // With one head in each sum, the order makes no difference.
        let copy = tempfile::tempdir().unwrap();
        for file in ["config.json", "model.safetensors"] {
            std::fs::copy(source.join(file), copy.path().join(file)).unwrap();
        }
        tools::delta::thin_out_projections(&copy.path().join("model.safetensors"));
        let wanted = logits(&ModelFiles::Directory(copy.path().to_owned()));
        assert!(logits_of(&convert(copy.path())) == wanted, "{name}");
    }
}

/// Greatest difference, as a part of the greatest value.
fn furthest_apart(got: &[f32], wanted: &[f32]) -> f32 {
    let greatest = wanted.iter().fold(0f32, |most, x| most.max(x.abs()));
    got.iter().zip(wanted).fold(0f32, |most, (a, b)| most.max((a - b).abs())) / greatest
}

/// The file has what frequencies are divided by, rounded to f32.
#[test]
fn gguf_of_llama3_has_its_stretched_frequencies() {
    let folder = folder("llama3-bf16");
    let wanted = logits(&ModelFiles::Directory(folder.clone()));
    let got = logits_of(&convert(&folder));
    let apart = furthest_apart(&got, &wanted);
    assert!(apart < 1e-5, "{apart}");
}

/// Newer converters write gate and up of all experts of a layer as one tensor.
#[test]
fn fused_experts_give_the_same_logits() {
    const APART: [&str; 2] = ["ffn_gate_exps.weight", "ffn_up_exps.weight"];
    for name in [
        "moe-bf16",
        "mixtral-bf16",
        "qwen35-moe-f32",
        "qwen3-next-bf16",
        "glm4-moe-bf16",
        "deepseek-bf16",
        "lfm2-moe-bf16",
        "../../../models/kimi-tiny",
    ] {
        let apart = convert(&folder(name));
        let mut fused = apart.clone();
        assert!(fused.fuse(APART, "ffn_gate_up_exps.weight") > 0, "{name} has no experts");
        assert!(logits_of(&fused) == logits_of(&apart), "{name}");
        // A file that has both doesn't say which are the model's.
        let mut both = apart;
        both.tensor("blk.1.ffn_gate_up_exps.weight", 0, &[1, 1, 1], vec![0; 4]);
        assert!(loaded_of(&both).unwrap_err().contains("blk.1.ffn_gate_up_exps.weight"), "{name}");
    }
}

#[test]
fn parts_of_a_gguf_model_give_the_same_logits() {
    let source = folder("moe-bf16");
    let wanted = logits(&ModelFiles::Directory(source.clone()));
    let folder = tempfile::tempdir().unwrap();
    let path = |number: usize| folder.path().join(format!("m-{number:05}-of-00003.gguf"));
    for (at, part) in convert(&source).parts(3).into_iter().enumerate() {
        std::fs::write(path(at + 1), part).unwrap();
    }
    for opened in 1..=3 {
        let files = GgufFiles::open(&path(opened)).unwrap();
        assert_eq!((files.parts().len(), files.model_name().as_str()), (3, "m"));
        assert!(logits(&ModelFiles::Gguf(files)) == wanted, "opened by part {opened}");
    }
    std::fs::remove_file(path(2)).unwrap();
    let error = GgufFiles::open(&path(1)).unwrap_err().to_string();
    assert!(error.contains("m-00002-of-00003.gguf: No such file"), "{error}");
    std::fs::rename(path(3), path(2)).unwrap();
    std::fs::copy(path(2), path(3)).unwrap();
    let error = GgufFiles::open(&path(1)).unwrap_err().to_string();
    assert!(error.ends_with("m-00002-of-00003.gguf: this is part 3 of 3, expected part 2 of 3"), "{error}");
}

/// Blocks of any codes, with small factors.
fn blocks(kind: BlockType, count: usize) -> Vec<u8> {
    let [factor, minimum] = [0.01, -0.05].map(|x| half::f16::from_f32(x).to_le_bytes());
    let mut state = 1u32;
    let mut bytes = Vec::new();
    for _ in 0..count {
        let mut block: Vec<u8> = (0..kind.block_bytes())
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state.to_be_bytes()[0]
            })
            .collect();
        match kind {
            BlockType::MXFP4 => block[0] = 120,
            // Factors from 1/128 to 1/32.
            BlockType::NVFP4 => block[..4].iter_mut().for_each(|byte| *byte = *byte % 16 + 8),
            BlockType::Q4_1 | BlockType::Q5_1 => {
                block[..2].copy_from_slice(&factor);
                block[2..4].copy_from_slice(&minimum);
            }
            _ => block[..2].copy_from_slice(&factor),
        }
        bytes.extend(block);
    }
    bytes
}

fn values(kind: BlockType, bytes: &[u8]) -> Vec<u8> {
    let (mut block, mut values) = (Block::default(), vec![0.0; kind.block_len()]);
    let value_bytes = |bytes| {
        kind.decode(bytes, &mut block);
        block.values(kind, &mut values);
        values.iter().flat_map(|value: &f32| value.to_le_bytes()).collect::<Vec<u8>>()
    };
    bytes.chunks_exact(kind.block_bytes()).flat_map(value_bytes).collect()
}

#[test]
fn matrices_in_blocks_have_the_logits_of_their_values() {
    for (name, kind, number) in [
        ("llama3-bf16", BlockType::Q8_0, 8),
        ("llama3-bf16", BlockType::Q4_0, 2),
        ("tied-bf16", BlockType::Q4_1, 3),
        ("tied-bf16", BlockType::MXFP4, 39),
        ("tied-bf16", BlockType::NVFP4, 40),
        ("tied-bf16", BlockType::Q2_0, 42),
        ("glm4-moe-bf16", BlockType::Q5_0, 6),
        ("qwen35-bf16", BlockType::Q8_0, 8),
        ("qwen35-moe-f32", BlockType::Q4_0, 2),
        ("qwen3-next-bf16", BlockType::Q5_0, 6),
        ("gpt-oss-bf16", BlockType::Q5_1, 7),
        ("gemma4-small-bf16", BlockType::Q8_0, 8),
        ("gemma4-experts-bf16", BlockType::Q5_0, 6),
        ("gpt-oss-bf16", BlockType::IQ4_NL, 20),
        ("../../../models/kimi-tiny", BlockType::Q8_0, 8),
    ] {
        let (stored, widened) = in_blocks(name, kind, number);
        assert!(logits_of(&stored) == logits_of(&widened), "{name} {}", kind.name());
    }
}

/// A model with matrices in blocks of type `number`, and with the blocks' values in f32.
fn in_blocks(name: &str, kind: BlockType, number: u32) -> (Writer, Writer) {
    let mut stored = convert(&folder(name));
    let mut widened = stored.clone();
    let mut replaced = 0;
    let is_matrix = |name: &str, shape: &[usize]| {
        shape.len() > 1
            && shape[shape.len() - 1].is_multiple_of(kind.block_len())
            && !name.contains("bias")
            && !name.contains("gate_inp")
    };
    let count = |shape: &[usize]| shape.iter().product::<usize>() / kind.block_len();
    stored.replace(|name, shape, _| {
        replaced += usize::from(is_matrix(name, shape));
        is_matrix(name, shape).then(|| (number, blocks(kind, count(shape))))
    });
    widened.replace(|name, shape, _| {
        is_matrix(name, shape).then(|| (0, values(kind, &blocks(kind, count(shape)))))
    });
    assert!(replaced > 8, "{name}: only {replaced} matrices");
    (stored, widened)
}

#[test]
fn small_models_in_blocks_round_inputs_to_sixteen_bits() {
    let (stored, widened) = in_blocks("tied-bf16", BlockType::Q4_1, 3);
    let numerics = Numerics { kv_cache_dtype: KvDtype::F32, ..Numerics::default() };
    let apart = furthest_apart(&loaded_of_as(&stored, numerics).unwrap(), &logits_of(&widened));
    // Eight bits make it 2e-3.
    assert!((1e-7..1e-4).contains(&apart), "{apart}");
}
