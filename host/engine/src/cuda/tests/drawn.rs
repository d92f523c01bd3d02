//! Random weights are drawn on the device with the bits that the host draws, and none of them are copied.

use super::fake::{Call, FakeDriver, lock};
use super::goldens::{Tolerance, assert_close};
use super::rig::{Part, batch, device, folder, options};
use crate::ModelFiles;
use crate::cpu::{CpuOptions, CpuRunner, Threads};
use crate::cuda::CudaRunner;
use crate::cuda::content::Content;
use crate::cuda::driver::Driver;
use crate::cuda::weights::WeightUpload;
use crate::models::{ModelConfig, Weights};
use crate::runner::Runner;

fn config(name: &str) -> ModelConfig {
    ModelConfig::read(&ModelFiles::Directory(folder(name))).unwrap()
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
    for (name, kernels) in [
        ("tied-bf16", &["random_weights"][..]),
        ("gpt-oss-mxfp4", &["random_weights", "random_codes"]),
        ("moe-fp8", &["random_weights", "random_codes"]),
    ] {
        let (driver, log) = FakeDriver::new();
        let config = config(name);
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

/// The two models have weights of all kinds: FP8 experts, FP8 that is converted to bf16, codes with exponents.
#[test]
fn a_random_model_has_the_logits_that_it_has_on_the_cpu() {
    for name in ["deepseek-fp8", "gpt-oss-mxfp4"] {
        let (config, tokens) = (config(name), [5, 17, 99, 3, 64]);
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
