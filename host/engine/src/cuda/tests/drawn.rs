//! Random weights are drawn on the device with the bits that the host draws, and none of them are
//! copied.

use serde_json::{Value, json};

use super::fake::{Call, FakeDriver, lock};
use super::goldens::{Tolerance, assert_close};
use super::rig::{Part, batch, device, folder, options};
use crate::cpu::{CpuOptions, CpuRunner, Threads};
use crate::cuda::CudaRunner;
use crate::cuda::content::Content;
use crate::cuda::driver::Driver;
use crate::cuda::weights::WeightUpload;
use crate::models::{ModelConfig, Weights};
use crate::runner::Runner;

/// A golden's configuration with other values of some fields.
fn config(name: &str, changes: &Value) -> ModelConfig {
    let text = std::fs::read(folder(name).join("config.json")).unwrap();
    let mut config: Value = serde_json::from_slice(&text).unwrap();
    for (field, value) in changes.as_object().into_iter().flatten() {
        config[field] = value.clone();
    }
    ModelConfig::parse("config.json", config.to_string().as_bytes()).unwrap()
}

/// FP8 in quantisation blocks of published models, with sizes that the kernels for few rows take. A
/// layer has several quantisation blocks along both dimensions, the last ones partial.
fn published_fp8(name: &str) -> ModelConfig {
    let mut changes =
        json!({ "hidden_size": 192, "intermediate_size": 144, "moe_intermediate_size": 192, "head_dim": 64 });
    changes["quantization_config"] =
        json!({ "quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128] });
    config(name, &changes)
}

fn on(driver: Box<dyn Driver>, config: &ModelConfig) -> CudaRunner {
    let weights = Weights::random_as(config.quantization, 5);
    CudaRunner::on(driver, config, &weights, &options(), &mut |_| {}).unwrap()
}

#[test]
fn the_device_draws_the_bits_that_the_host_draws() {
    let weights = Weights::random(5);
    let whole = weights.tensor("a", &[3, 8, 20]).unwrap();
    let odd = weights.tensor("b", &[3, 3]).unwrap();
    let parts = [whole.index(1), odd.index(1), whole.index(2), whole.clone(), odd];
    let contents: Vec<_> = parts.iter().map(Content::Plain).collect();
    let mut driver = device();
    let at = WeightUpload::new(driver.as_mut()).unwrap().put(driver.as_mut(), &contents).unwrap();
    let wanted: Vec<u8> = parts.iter().flat_map(|part| part.bytes().to_vec()).collect();
    let mut memory = driver.pinned(wanted.len()).unwrap();
    driver.download(at, wanted.len(), memory.as_mut()).unwrap();
    driver.synchronize().unwrap();
    assert!(memory.bytes()[..wanted.len()] == wanted);
}

#[test]
fn random_weights_are_not_copied() {
    for (name, changes, kernels) in [
        ("tied-bf16", Value::Null, &["random_weights"][..]),
        ("gpt-oss-mxfp4", Value::Null, &["random_weights", "random_codes"]),
        ("fp8", Value::Null, &["random_weights", "random_codes"]),
        // Rows of 24 codes would become bf16.
        ("moe-fp8", json!({ "moe_intermediate_size": 32 }), &["random_weights", "random_codes"]),
    ] {
        let (driver, log) = FakeDriver::new();
        let config = config(name, &changes);
        on(Box::new(driver), &config);
        let calls = &lock(&log).calls;
        let table = config.vocab * config.hidden * 2;
        for kernel in kernels {
            assert!(calls.contains(&Call::Launch(kernel)), "{name}: {kernel}");
        }
        assert!(
            !calls.iter().any(|call| matches!(call, Call::Upload { bytes, .. } if *bytes >= table)),
            "{name}"
        );
    }
}

/// The models have weights of all kinds: FP8 for all kernels, FP8 that is converted to bf16, codes
/// with exponents.
#[test]
fn random_model_has_the_logits_of_the_cpu() {
    for (name, config) in [
        ("deepseek-fp8", config("deepseek-fp8", &Value::Null)),
        ("gpt-oss-mxfp4", config("gpt-oss-mxfp4", &Value::Null)),
        ("fp8", published_fp8("fp8")),
        ("moe-fp8", published_fp8("moe-fp8")),
    ] {
        let tokens = [5, 17, 99, 3, 64];
        let mut cuda = on(device(), &config);
        cuda.forward(&batch(&[Part { lane: 0, tokens: &tokens, from: 0 }])).unwrap();
        let weights = Weights::random_as(config.quantization, 5);
        let threads = Threads::start(Some(1)).unwrap();
        let mut cpu =
            CpuRunner::new(&config, &weights, &threads, &CpuOptions::default(), &mut |_| {}).unwrap();
        cpu.forward(&batch(&[Part { lane: 0, tokens: &tokens, from: 0 }])).unwrap();
        let tolerance = Tolerance { greatest: 2e-2, root: 1.8e-2 };
        assert_close(name, &cuda.step_logits(), cpu.logits(), tolerance);
    }
}
