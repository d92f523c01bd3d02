//! FP8 on the device: bytes of a dense model's weights, and the order of codes and scales.

use super::fake::{Call, FakeDriver, lock};
use super::rig::{device, load, options};
use crate::cuda::driver::Driver;
use crate::cuda::weights::{INTERLEAVED, WeightUpload};
use crate::models::{CodeKind, Codes, StoredMatrix, WeightRole, WeightTensor, Weights};
use crate::runner::Runner;

#[test]
fn dense_weights_in_fp8_take_one_byte_each() {
    let (driver, log) = FakeDriver::new();
    let runner = load(Box::new(driver), "fp8", &options(), &mut |_| {}).unwrap();
    let uploads = |wanted| {
        let calls = &lock(&log).calls;
        calls.iter().filter(|call| matches!(call, Call::Upload { bytes, .. } if *bytes == wanted)).count()
    };
    // Queries, keys and values; gate and up; down: of two layers each. Blocks of 32 columns: two
    // scales for each eight rows.
    let (qkv, gate_up, down) = (128 * 48, 160 * 48, 48 * 80);
    assert_eq!([qkv, gate_up, down].map(uploads), [2; 3]);
    assert_eq!([2 * qkv, 2 * gate_up].map(uploads), [0; 2]);
    assert_eq!([128 / 8 * 2 * 4, 160 / 8 * 2 * 4].map(uploads), [2; 2]);
    assert!(runner.shape().name.ends_with("bf16, fp8"), "{}", runner.shape().name);
}

fn download(driver: &mut dyn Driver, from: cuda_kernels::DevicePtr, bytes: usize) -> Vec<u8> {
    let mut memory = driver.pinned(bytes).unwrap();
    driver.download(from, bytes, memory.as_mut()).unwrap();
    driver.synchronize().unwrap();
    memory.bytes()[..bytes].to_vec()
}

/// A matrix with random codes and scales, in quantisation blocks of 16 rows and 32 columns.
fn matrix(name: &str, (rows, cols): (usize, usize)) -> (StoredMatrix, Codes, WeightTensor) {
    let weights = Weights::random(5);
    let codes = weights.codes(name, &[rows, cols], CodeKind::E4m3).unwrap();
    let scales = weights.tensor(name, &[rows.div_ceil(16), cols.div_ceil(32)]).unwrap();
    (StoredMatrix::Fp8 { codes: codes.clone(), scales: scales.clone(), block: (16, 32) }, codes, scales)
}

#[test]
fn gate_and_up_are_interleaved_with_their_scales() {
    let (rows, cols) = (40, 80);
    let parts = [matrix("gate", (rows, cols)), matrix("up", (rows, cols))];
    let stored = parts.each_ref().map(|(stored, ..)| stored.clone());
    let mut driver = device();
    let mut upload = WeightUpload::new(driver.as_mut()).unwrap();
    let matrix = upload.matrix(driver.as_mut(), &stored, WeightRole::GateUp).unwrap();
    let scales_at = matrix.weight.fp8.expect("it stays FP8").at;
    let (mut codes, mut scales) = (Vec::new(), Vec::new());
    for group in 0..rows / INTERLEAVED {
        for (_, of_part, scales_of_part) in &parts {
            codes.extend_from_slice(&of_part.bytes()[group * INTERLEAVED * cols..][..INTERLEAVED * cols]);
            // Two groups of eight rows lie in a quantisation block.
            scales.extend_from_slice(&scales_of_part.to_f32()[group / 2 * 3..][..3]);
        }
    }
    assert!(matrix.is_interleaved);
    assert!(download(driver.as_mut(), matrix.weight.at, codes.len()) == codes);
    let found = download(driver.as_mut(), scales_at, scales.len() * 4);
    assert_eq!(bytemuck::pod_collect_to_vec::<u8, f32>(&found), scales);
}

#[test]
fn stacked_matrices_have_their_own_scale_blocks() {
    let parts = [matrix("q", (40, 48)), matrix("k", (24, 48)), matrix("v", (8, 48))];
    let stored = parts.each_ref().map(|(stored, ..)| stored.clone());
    let mut driver = device();
    let mut upload = WeightUpload::new(driver.as_mut()).unwrap();
    let matrix = upload.matrix(driver.as_mut(), &stored, WeightRole::Linear).unwrap();
    let scales_at = matrix.weight.fp8.expect("it stays FP8").at;
    let codes: Vec<u8> = parts.iter().flat_map(|(_, codes, _)| codes.bytes().to_vec()).collect();
    assert!(download(driver.as_mut(), matrix.weight.at, codes.len()) == codes);
    // Index of the row of scales of each eight rows.
    let rows = [&[0, 0, 1, 1, 2][..], &[0, 0, 1], &[0]];
    let row = |part: usize, row: usize| parts[part].2.to_f32()[row * 2..][..2].to_vec();
    let scales: Vec<f32> =
        (0..3).flat_map(|part| rows[part].iter().flat_map(move |at| row(part, *at))).collect();
    let found = download(driver.as_mut(), scales_at, scales.len() * 4);
    assert_eq!(bytemuck::pod_collect_to_vec::<u8, f32>(&found), scales);
}

#[test]
fn an_embedding_is_converted() {
    let (table, ..) = matrix("table", (40, 48));
    let mut driver = device();
    let mut upload = WeightUpload::new(driver.as_mut()).unwrap();
    let role = WeightRole::Embedding { tied: true };
    let matrix = upload.matrix(driver.as_mut(), &[table], role).unwrap();
    assert_eq!(matrix.weight.fp8, None);
}
