//! Matrix products of the library: of a GPU's cuBLASLt where the tests run on a GPU that has it,
//! else of the shim's own.

#![expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "small shapes")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cuda_kernels::{DevicePtr, Linear, LinearInput, LinearStore, LinearWeight, Tolerance};
use half::bf16;
use ops::reference;

use super::goldens::{RANDOM, TRAINED, check_on};
use super::rig::{Part, batch, device, is_a_gpu, load, options};
use super::shim::ShimDriver;
use crate::cuda::CudaOptions;
use crate::cuda::driver::Driver;
use crate::runner::Runner;

/// Driver with a library of matrix products, if there is one.
pub(super) fn device_with_library() -> Box<dyn Driver> {
    if is_a_gpu() { device() } else { Box::new(ShimDriver::with_library(Arc::default())) }
}

/// Values in -1..1 that bf16 holds exactly.
fn values(len: usize, seed: usize) -> Vec<f32> {
    let value = |i: usize| ((i * 7919 + seed * 104_729) % 257) as f32 / 128.0 - 1.0;
    (0..len).map(|i| bf16::from_f32(value(i)).to_f32()).collect()
}

fn bytes_of_bf16(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| bf16::from_f32(*value).to_le_bytes()).collect()
}

fn put(driver: &mut dyn Driver, bytes: &[u8]) -> DevicePtr {
    let at = driver.allocate("a test", bytes.len()).unwrap();
    let mut memory = driver.pinned(bytes.len()).unwrap();
    memory.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
    driver.upload(memory.as_ref(), 0..bytes.len(), at).unwrap();
    driver.synchronize().unwrap();
    at
}

fn get(driver: &mut dyn Driver, from: DevicePtr, bytes: usize) -> Vec<u8> {
    let mut memory = driver.pinned(bytes).unwrap();
    driver.download(from, bytes, memory.as_mut()).unwrap();
    driver.synchronize().unwrap();
    memory.bytes()[..bytes].to_vec()
}

/// Multiplies x by a weight, and compares with the reference; false where the library doesn't take
/// the sizes.
fn multiply(
    driver: &mut dyn Driver,
    (rows, outputs, inputs): (usize, usize, usize),
    store: LinearStore,
) -> bool {
    let (x, weight, before) =
        (values(rows * inputs, 1), values(outputs * inputs, 2), values(rows * outputs, 3));
    let mut wanted = reference::linear(&x, &weight, None, inputs);
    if store == LinearStore::AddF32 {
        wanted.iter_mut().zip(&before).for_each(|(sum, before)| *sum += f64::from(*before));
    }
    let (x, weight) = (put(driver, &bytes_of_bf16(&x)), put(driver, &bytes_of_bf16(&weight)));
    let out = put(driver, bytemuck::cast_slice(&before));
    let [rows, outputs, inputs] = [rows, outputs, inputs].map(|size| size as u32);
    let (x, weight) = (LinearInput::Bf16(x), LinearWeight::bf16(weight));
    let linear = Linear { x, weight, bias: None, out, store, rows, outputs, inputs };
    if !driver.multiply(&linear.product().expect("aligned sizes")).unwrap() {
        return false;
    }
    let (got, tolerance): (Vec<f32>, _) = if store == LinearStore::Bf16 {
        let bytes = get(driver, out, wanted.len() * 2);
        let got = bytes.as_chunks().0.iter().map(|bits| bf16::from_le_bytes(*bits).to_f32());
        (got.collect(), Tolerance { absolute: 1e-3, ..Tolerance::BF16 })
    } else {
        let bytes = get(driver, out, wanted.len() * 4);
        (bytemuck::pod_collect_to_vec(&bytes), Tolerance { absolute: 1e-3, ..Tolerance::F32 })
    };
    let what = format!("{rows} rows, {outputs} outputs, {inputs} inputs, {store:?}");
    tolerance.check(&got, &wanted).unwrap_or_else(|error| panic!("{what}: {error}"));
    true
}

/// Inner dimensions that no tile divides show kernels that drop their end.
#[test]
fn products_are_those_of_the_reference() {
    let mut driver = device_with_library();
    for sizes in [(17, 16, 8), (64, 72, 1000), (100, 48, 136), (257, 264, 520)] {
        for store in [LinearStore::Bf16, LinearStore::F32, LinearStore::AddF32] {
            let is_done = multiply(driver.as_mut(), sizes, store);
            assert!(is_done || is_a_gpu(), "{sizes:?}, {store:?}");
            println!("product {sizes:?}, {store:?}: {}", if is_done { "the library's" } else { "not taken" });
        }
    }
}

#[test]
fn models_have_the_same_logits_with_the_library() {
    check_on(device_with_library, "tied-bf16", RANDOM, 200);
    check_on(device_with_library, "qwen3-tiny", TRAINED, 300);
}

/// A step of so many rows is the library's from 17 rows on, and never of a deterministic engine.
#[test]
fn the_library_computes_steps_of_many_rows() {
    let counts = [(16, false), (17, false), (17, true)].map(|(rows, deterministic)| {
        let products = Arc::new(AtomicUsize::new(0));
        let driver = Box::new(ShimDriver::with_library(Arc::clone(&products)));
        let options = CudaOptions { deterministic, lanes: 2, ..options() };
        let mut runner = load(driver, "tied-bf16", &options, &mut |_| {}).unwrap();
        runner.forward(&batch(&[Part { lane: 1, tokens: &[5; 17][..rows], from: 0 }])).unwrap();
        products.load(Ordering::Relaxed)
    });
    assert!(counts[0] == 0 && counts[1] > 0 && counts[2] == 0, "{counts:?}");
}

/// Kernels that a library spares are compiled all the same, since a step shows only whether the
/// library takes its sizes.
#[test]
fn preparation_is_the_same_with_or_without_a_library() {
    let counts = [ShimDriver::new(), ShimDriver::with_library(Arc::default())].map(|driver| {
        let mut kernels = 0;
        load(Box::new(driver), "tied-bf16", &options(), &mut |progress| {
            if let crate::models::EngineProgress::Kernels { of, .. } = progress {
                kernels = of;
            }
        })
        .unwrap();
        kernels
    });
    assert!(counts[0] > 0 && counts[0] == counts[1], "{counts:?}");
}
