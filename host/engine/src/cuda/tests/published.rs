//! Shapes of published models (`tests/cuda/shapes`): the kernels that their starts compile are in
//! the list that `tests/cuda/compile.sh` compiles and checks.

use std::collections::HashSet;

use cuda_kernels::Variant;
use serde_json::Value;

use super::fake::{FakeDriver, lock};
use super::rig::root;
use crate::cuda::{CudaOptions, CudaRunner};
use crate::models::{ModelConfig, Weights};

/// The configuration with fewer layers, and with smaller sizes where no kernel is compiled for the
/// size.
fn smaller(text: &[u8]) -> ModelConfig {
    let mut config: Value = serde_json::from_slice(text).unwrap();
    let mut set = |field: &str, value: usize| {
        if config.get(field).is_some_and(|found| found.as_u64() > Some(value as u64)) {
            config[field] = value.into();
        }
    };
    set("num_hidden_layers", 2);
    set("first_k_dense_replace", 1);
    for (field, value) in [("vocab_size", 1024), ("intermediate_size", 256), ("moe_intermediate_size", 64)] {
        set(field, value);
    }
    if config.get("kv_lora_rank").is_some() {
        (config["num_attention_heads"], config["num_key_value_heads"]) = (16.into(), 16.into());
    }
    if let Some(Value::Array(types)) = config.get_mut("layer_types") {
        types.truncate(2);
    }
    ModelConfig::parse("config.json", config.to_string().as_bytes()).unwrap()
}

#[test]
fn kernels_of_published_models_are_all_checked() {
    let checked: HashSet<Variant> = cuda_kernels::variants().into_iter().collect();
    let mut models = 0;
    for entry in std::fs::read_dir(root().join("../../tests/cuda/shapes")).unwrap() {
        let path = entry.unwrap().path();
        let config = smaller(&std::fs::read(path.join("config.json")).unwrap());
        let (driver, log) = FakeDriver::new();
        let weights = Weights::random_as(config.quantization, 1);
        let options = CudaOptions { kv_cache_bytes: Some(64 << 20), ..CudaOptions::default() };
        CudaRunner::on(Box::new(driver), &config, &weights, &options, &mut |_| {}).unwrap();
        let log = lock(&log);
        assert!(log.prepared.len() > 10, "{}", path.display());
        for variant in &log.prepared {
            assert!(checked.contains(variant), "{}: {variant} isn't in variants.rs", path.display());
        }
        models += 1;
    }
    assert!(models >= 15, "only {models} shapes");
}
