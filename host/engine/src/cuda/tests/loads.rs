//! What a start copies to the device, how many KV blocks fit in a cache, and which models are
//! refused.

#[path = "../../../../gguf/tests/tools/mod.rs"]
mod tools;

use super::fake::{Call, FakeDriver, lock};
use super::rig::{folder, load, options};
use crate::{GgufFiles, ModelFiles};
use kernels::ggml::BlockType;

use crate::cuda::{CudaOptions, CudaRunner};
use crate::models::{ModelConfig, Weights};
use crate::runner::Runner;

#[test]
fn all_experts_of_a_layer_are_copied_together() {
    let (driver, log) = FakeDriver::new();
    load(Box::new(driver), "moe-bf16", &options(), &mut |_| {}).unwrap();
    let copies = |wanted| {
        let calls = &lock(&log).calls;
        calls.iter().filter(|call| matches!(call, Call::Upload { bytes, .. } if *bytes == wanted)).count()
    };
    // Eight experts with matrices of 24 · 48 in bf16, in two layers.
    assert_eq!((copies(8 * 2 * 24 * 48 * 2), copies(8 * 24 * 48 * 2), copies(24 * 48 * 2)), (2, 2, 0));
}

#[test]
fn a_compressed_row_counts_once_for_all_heads() {
    let blocks = |name, bytes| {
        let options = CudaOptions { kv_cache_bytes: Some(bytes), ..options() };
        load(Box::new(FakeDriver::new().0), name, &options, &mut |_| {}).unwrap().shape().blocks
    };
    // Two layers each: with compressed rows of 32 + 8, and with two planes of two heads of 16.
    assert_eq!(blocks("deepseek-bf16", 11 * 64 * 2 * 40 * 2), 10);
    assert_eq!(blocks("moe-bf16", 11 * 64 * 2 * 2 * 32 * 2), 10);
}

#[test]
fn what_has_no_kernel_is_refused_at_load() {
    let changes = [
        ("moe-bf16", "moe_intermediate_size", 20, "experts of 48 by 20"),
        ("moe-bf16", "num_experts", 2048, "2 of 2048 experts in 1 groups"),
        ("qwen3-next-bf16", "full_attention_interval", 4, "the gated delta rule (Gated DeltaNet)"),
        ("lfm2-bf16", "hidden_size", 32, "short gated convolutions"),
        ("qwen3-next-bf16", "full_attention_interval", 1, "output gates"),
        ("deepseek-bf16", "kv_lora_rank", 36, "compressed rows of 36 for heads of 16 + 8 and values of 20"),
    ];
    for (model, field, value, what) in changes {
        let text = std::fs::read(folder(model).join("config.json")).unwrap();
        let mut config: serde_json::Value = serde_json::from_slice(&text).unwrap();
        config[field] = value.into();
        let config = ModelConfig::parse("config.json", config.to_string().as_bytes()).unwrap();
        let driver = Box::new(FakeDriver::new().0);
        let loaded = CudaRunner::on(driver, &config, &Weights::random(1), &options(), &mut |_| {});
        let error = loaded.unwrap_err().to_string();
        assert_eq!(error, format!("cuda can't run {what} yet; --device cpu can"));
    }
}

/// Message of the error of loading a GGUF file made of a tiny model, where tensors with `part` in
/// their names are of another type of blocks.
fn refusal(model: &str, part: &str, (number, kind): (u32, BlockType)) -> Option<String> {
    let mut writer = tools::convert::convert(&folder(model));
    writer.replace(|name, shape, _| {
        let (rows, cols) = (shape[..shape.len() - 1].iter().product(), shape[shape.len() - 1]);
        let bytes = kind.matrix_bytes(rows, cols).filter(|_| name.contains(part) && shape.len() > 1)?;
        Some((number, vec![0; bytes]))
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    std::fs::write(&path, writer.finish()).unwrap();
    let files = ModelFiles::Gguf(GgufFiles::open(&path).unwrap());
    let (config, weights) = (ModelConfig::read(&files).unwrap(), Weights::open(&files).unwrap());
    let driver = Box::new(FakeDriver::new().0);
    let loaded = CudaRunner::on(driver, &config, &weights, &options(), &mut |_| {});
    loaded.err().map(|error| error.to_string().replace(path.to_str().unwrap(), "m.gguf"))
}

#[test]
fn block_types_without_kernels_are_named_with_a_tensor() {
    for (model, part, kind, what) in [
        (
            "tied-bf16",
            "ffn_down",
            (8, BlockType::Q8_0),
            "Q8_0 blocks (tensor blk.0.ffn_down.weight of m.gguf)",
        ),
        ("tied-bf16", "blk.1.", (2, BlockType::Q4_0), "Q4_0 blocks (tensor blk.1.attn_k.weight of m.gguf)"),
        (
            "tied-bf16",
            "ffn_up",
            (39, BlockType::MXFP4),
            "MXFP4 blocks (tensor blk.0.ffn_up.weight of m.gguf)",
        ),
        ("tied-bf16", "token", (40, BlockType::NVFP4), "NVFP4 blocks (tensor token_embd.weight of m.gguf)"),
    ] {
        let wanted = format!("cuda can't run {what} yet; --device cpu can");
        assert_eq!(refusal(model, part, kind), Some(wanted));
    }
    assert_eq!(refusal("gpt-oss-mxfp4", "nowhere", (39, BlockType::MXFP4)), None, "experts may be MXFP4");
}

#[test]
fn unfit_mxfp4_scales_are_refused_at_load() {
    let name = "gpt-oss-mxfp4";
    let mut bytes = std::fs::read(folder(name).join("model.safetensors")).unwrap();
    let header = 8 + usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap();
    let tensors: serde_json::Value = serde_json::from_slice(&bytes[8..header]).unwrap();
    let begin = tensors["model.layers.1.mlp.experts.down_proj_scales"]["data_offsets"][0].as_u64().unwrap();
    let at = header + usize::try_from(begin).unwrap() + 3;
    let copy = tempfile::tempdir().unwrap();
    std::fs::copy(folder(name).join("config.json"), copy.path().join("config.json")).unwrap();
    let mut error = |scale| {
        bytes[at] = scale;
        std::fs::write(copy.path().join("model.safetensors"), &bytes).unwrap();
        let files = ModelFiles::Directory(copy.path().to_owned());
        let (config, weights) = (ModelConfig::read(&files).unwrap(), Weights::open(&files).unwrap());
        let driver = Box::new(FakeDriver::new().0);
        CudaRunner::on(driver, &config, &weights, &options(), &mut |_| {})
            .err()
            .map(|error| error.to_string())
    };
    assert_eq!(error(128), None);
    let wanted =
        "cuda can't run MXFP4 weights with a scale of 129, more than 128 yet; --device cpu can".to_owned();
    assert_eq!(error(129), Some(wanted));
}

#[test]
fn kernel_over_the_gpus_shared_memory_fails_the_start() {
    let start = |name, shared| {
        let driver = FakeDriver::new().0.with_shared(shared);
        load(Box::new(driver), name, &options(), &mut |_| {}).map(|_| ()).map_err(|error| error.to_string())
    };
    for name in ["qwen3-tiny", "kimi-tiny", "moe-bf16", "gpt-oss-mxfp4"] {
        // The least that a supported GPU has.
        assert_eq!(start(name, 99 << 10), Ok(()));
    }
    let error = start("kimi-tiny", 4 << 10).unwrap_err();
    assert!(
        error.starts_with("kernel ") && error.contains(" bytes of shared memory, GPU 0 has 4096"),
        "{error}"
    );
}
