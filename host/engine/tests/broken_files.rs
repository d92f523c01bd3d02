//! Broken model files give an error of one line that names what is wrong; none makes the loader or
//! a step panic.
#![expect(clippy::cast_possible_truncation, reason = "counts of a few hundred")]
#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use std::path::{Path, PathBuf};

use engine::ModelFiles;
use engine::cpu::{self, CpuOptions, CpuRunner, Threads};
use engine::models::LoadError;
use engine::runner::Runner;
use serde_json::{Value, json};
use tempfile::TempDir;

mod steps;
#[path = "broken_files/wrong_batches.rs"]
mod wrong_batches;
use steps::{Sequence, advance};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens").join(name)
}

/// A copy of a tiny model, to be broken.
fn copy(name: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(golden(name)).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    folder
}

fn one_thread() -> Threads {
    Threads::start(Some(1)).unwrap()
}

fn load(folder: &Path) -> Result<CpuRunner, LoadError> {
    let options = CpuOptions { kv_cache_bytes: 2 << 20, ..CpuOptions::default() };
    cpu::load(&ModelFiles::Directory(folder.to_owned()), &one_thread(), &options, &mut |_| {})
}

/// Message of the error of loading `folder`, without the folder's path.
fn error(folder: &TempDir) -> String {
    let Err(message) = load(folder.path()).map_err(|error| error.to_string()) else {
        panic!("the files are broken, and were loaded");
    };
    assert!(!message.contains('\n'), "{message}");
    message.replace(&format!("{}/", folder.path().display()), "")
}

fn edit_config(folder: &TempDir, edit: impl FnOnce(&mut Value)) {
    let path = folder.path().join("config.json");
    let mut config = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    edit(&mut config);
    std::fs::write(path, config.to_string()).unwrap();
}

/// Rewrites the header of `file`, with `padding` spaces after it.
fn edit_header(folder: &TempDir, file: &str, padding: usize, edit: impl FnOnce(&mut Value)) {
    let path = folder.path().join(file);
    let bytes = std::fs::read(&path).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    edit(&mut header);
    let header = header.to_string() + &" ".repeat(padding);
    let mut edited = (header.len() as u64).to_le_bytes().to_vec();
    edited.extend_from_slice(header.as_bytes());
    edited.extend_from_slice(&bytes[8 + length..]);
    std::fs::write(path, edited).unwrap();
}

/// Offset of a tensor's first byte in its file.
fn begin_of(bytes: &[u8], tensor: &str) -> usize {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    8 + length + header[tensor]["data_offsets"][0].as_u64().unwrap() as usize
}

#[test]
fn a_missing_file_is_named() {
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(error(&empty), "config.json: no such file; a model needs it");
    let folder = copy("odd-f32");
    std::fs::remove_file(folder.path().join("model.safetensors")).unwrap();
    assert_eq!(error(&folder), "model.safetensors: no such file; a model needs it");
    let folder = copy("bias-f32");
    std::fs::remove_file(folder.path().join("model-00002-of-00002.safetensors")).unwrap();
    assert_eq!(error(&folder), "model-00002-of-00002.safetensors: no such file; a model needs it");
}

#[test]
fn a_wrong_configuration_is_named() {
    let folder = copy("odd-f32");
    std::fs::write(folder.path().join("config.json"), "not json").unwrap();
    assert!(error(&folder).starts_with("config.json: not JSON: "), "{}", error(&folder));
    let folder = copy("odd-f32");
    edit_config(&folder, |config| config["architectures"] = json!(["PhiForCausalLM"]));
    let wanted = "config.json: architecture PhiForCausalLM is not supported; supported: llama, mistral";
    assert!(error(&folder).starts_with(wanted), "{}", error(&folder));
    let folder = copy("odd-f32");
    edit_config(&folder, |config| config["architectures"] = json!(["LlamaForCausalLM"]));
    let wanted = "model.safetensors: tensor model.layers.0.self_attn.k_norm.weight belongs to no layer of this architecture; config.json may name another";
    assert_eq!(error(&folder), wanted);
    let folder = copy("odd-f32");
    edit_config(&folder, |config| config["intermediate_size"] = json!(81));
    let wanted = "model.safetensors: tensor model.layers.0.mlp.gate_proj.weight: expected shape [81, 48], found [80, 48]";
    assert_eq!(error(&folder), wanted);
    let folder = copy("odd-f32");
    edit_config(&folder, |config| config["num_hidden_layers"] = json!(3));
    let wanted =
        "model.safetensors: no tensor model.layers.2.input_layernorm.weight; the configuration calls for it";
    assert_eq!(error(&folder), wanted);
}

#[test]
fn cache_too_small_for_a_block_says_the_blocks_size() {
    let options = CpuOptions { kv_cache_bytes: 1000, ..CpuOptions::default() };
    let files = ModelFiles::Directory(golden("odd-f32"));
    let error = cpu::load(&files, &one_thread(), &options, &mut |_| {}).unwrap_err().to_string();
    assert_eq!(error, "a KV cache of 1000 bytes holds no block; one block of 16 tokens takes 8192 bytes");
}

#[test]
fn threads_and_contexts_out_of_range_name_the_range() {
    let files = ModelFiles::Directory(golden("odd-f32"));
    let usual = CpuOptions { kv_cache_bytes: 4 << 20, ..CpuOptions::default() };
    let context = cpu::load(&files, &one_thread(), &usual, &mut |_| {}).unwrap().shape().context;
    for threads in [0, cpu::MAX_THREADS + 1] {
        let error = Threads::start(Some(threads)).unwrap_err().to_string();
        assert_eq!(error, format!("{threads} threads: expected 1 to 512, the most that start here"));
    }
    for asked in [0, context + 1] {
        let options = CpuOptions { context: Some(asked), ..usual };
        let error = cpu::load(&files, &one_thread(), &options, &mut |_| {}).unwrap_err().to_string();
        let said =
            format!("a context of {asked} tokens: expected 1 to {context}, the most that the model has");
        assert_eq!(error, said);
    }
    let most = CpuOptions { context: Some(context), ..usual };
    assert_eq!(cpu::load(&files, &one_thread(), &most, &mut |_| {}).unwrap().shape().context, context);
}

#[test]
fn a_file_cut_anywhere_is_truncated() {
    let folder = copy("tied-bf16");
    let path = folder.path().join("model.safetensors");
    let whole = std::fs::read(&path).unwrap();
    for length in (0..9).chain([500, 2000, 2471, 2472, 2473, 100_000, whole.len() - 1]) {
        std::fs::write(&path, &whole[..length]).unwrap();
        let message = error(&folder);
        assert!(message.contains("truncated"), "{length} bytes: {message}");
    }
    std::fs::write(&path, [&whole[..], &[0; 3]].concat()).unwrap();
    assert_eq!(error(&folder), "model.safetensors: 3 bytes after the last tensor");
}

#[test]
fn index_leading_outside_or_nowhere_is_refused() {
    let folder = copy("sharded-bf16");
    let path = folder.path().join("model.safetensors.index.json");
    for (file, shown) in [("../secret", "../secret"), ("a\nb", r"a\nb")] {
        std::fs::write(&path, json!({"weight_map": {"lm_head.weight": file}}).to_string()).unwrap();
        let expected =
            format!(r#"model.safetensors.index.json: "{shown}" is not the name of a file beside it"#);
        assert_eq!(error(&folder), expected);
    }
    std::fs::write(&path, "{}").unwrap();
    assert!(
        error(&folder).starts_with("model.safetensors.index.json: no index of weights: "),
        "{}",
        error(&folder)
    );
}

#[test]
fn an_integer_tensor_is_refused_by_name() {
    let folder = copy("odd-f32");
    edit_header(&folder, "model.safetensors", 0, |header| header["lm_head.weight"]["dtype"] = json!("I32"));
    let wanted = "model.safetensors: tensor lm_head.weight: I32 is not supported; supported: F32, BF16, F16";
    assert_eq!(error(&folder), wanted);
}

#[test]
fn nonfinite_weight_is_named_with_its_tensor_and_file() {
    let nan = [0xff; 4];
    for (name, file, tensor, size) in [
        ("odd-f32", "model.safetensors", "lm_head.weight", 4),
        ("odd-f32", "model.safetensors", "model.norm.weight", 4),
        ("tied-bf16", "model.safetensors", "model.embed_tokens.weight", 2),
        ("gqa4-f16", "model.safetensors", "model.layers.1.mlp.down_proj.weight", 2),
        ("bias-f32", "model-00002-of-00002.safetensors", "model.layers.1.self_attn.o_proj.bias", 4),
    ] {
        let folder = copy(name);
        let path = folder.path().join(file);
        let mut bytes = std::fs::read(&path).unwrap();
        let at = begin_of(&bytes, tensor) + 3 * size;
        bytes[at..at + size].copy_from_slice(&nan[..size]);
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(error(&folder), format!("{file}: tensor {tensor}: element 3 is NaN; get the file anew"));
    }
}

#[test]
fn unaligned_tensors_give_the_same_logits() {
    for name in ["odd-f32", "tied-bf16", "gqa4-f16"] {
        let tokens: Vec<u32> = (2..40).collect();
        let wanted = advance(&mut load(&golden(name)).unwrap(), &mut Sequence::new(&tokens, 0, 1), 38);
        for padding in 0..4 {
            let folder = copy(name);
            edit_header(&folder, "model.safetensors", padding, |_| {});
            let logits = advance(&mut load(folder.path()).unwrap(), &mut Sequence::new(&tokens, 0, 1), 38);
            assert!(logits == wanted, "{name}, {padding} bytes of padding");
        }
    }
}

#[test]
fn codes_and_scales_that_are_no_numbers_are_named() {
    for (name, tensor, code, wanted) in [
        ("fp8", "model.layers.0.mlp.up_proj.weight", 0xff, "element 3 is the code 0xff; get the file anew"),
        (
            "gpt-oss-mxfp4",
            "model.layers.1.mlp.experts.down_proj_scales",
            253,
            "element 3 is the code 0xfd; get the file anew",
        ),
    ] {
        let folder = copy(name);
        let path = folder.path().join("model.safetensors");
        let mut bytes = std::fs::read(&path).unwrap();
        let at = begin_of(&bytes, tensor) + 3;
        bytes[at] = code;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(error(&folder), format!("model.safetensors: tensor {tensor}: {wanted}"));
    }
}

#[test]
fn packed_weights_without_configuration_are_refused() {
    let folder = copy("moe-fp8");
    edit_config(&folder, |config| config["quantization_config"] = Value::Null);
    let wanted = r#"model.safetensors: tensor model.layers.0.self_attn.q_proj.weight: F8_E4M3 needs "quantization_config" with "quant_method" "fp8" in config.json"#;
    assert_eq!(error(&folder), wanted);
    let folder = copy("gpt-oss-mxfp4");
    edit_config(&folder, |config| config["quantization_config"] = Value::Null);
    let wanted = "model.safetensors: no tensor model.layers.0.mlp.experts.gate_up_proj; the configuration calls for it";
    assert_eq!(error(&folder), wanted);
}

#[test]
fn tensors_that_change_no_result_may_be_there() {
    let folder = copy("tied-bf16");
    edit_header(&folder, "model.safetensors", 0, |header| {
        let ends = header.as_object().unwrap().values().filter_map(|t| t["data_offsets"][1].as_u64());
        let end = ends.max().unwrap();
        for name in [
            "model.layers.0.self_attn.rotary_emb.inv_freq",
            "model.layers.2.eh_proj.weight",
            "lm_head.weight",
        ] {
            header[name] = json!({"dtype": "F32", "shape": [0], "data_offsets": [end, end]});
        }
    });
    load(folder.path()).unwrap();
}
