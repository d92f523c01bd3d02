//! Calls that a runner makes of its driver, in which order, and what follows from failures.

use cuda_kernels::DevicePtr;

use super::fake::{Call, FakeDriver, calls, lock};
use super::rig::{Part, batch, fake, greedy, load, one, options, step};
use crate::batch::LAST;
use crate::cuda::{CudaError, CudaOptions, DeviceInfo};
use crate::generation::{Engine, Finish};
use crate::models::EngineProgress;
use crate::options::LocalOptions;
use crate::runner::{Draws, RunError, Runner};
use crate::tests::fake::request;
use crate::{GenerationError, LocalEngine, LocalRunner};

fn call_error(code: u32) -> CudaError {
    CudaError::Call { call: "cuGraphLaunch", code, name: "CUDA_ERROR_X".into() }
}

/// Device address of a step's arrays, taken from the first upload.
fn inputs(calls: &[Call]) -> DevicePtr {
    let to = |call: &Call| if let Call::Upload { to, .. } = call { Some(*to) } else { None };
    calls.iter().find_map(to).expect("something was copied")
}

fn is_replay(call: &Call) -> bool {
    matches!(call, Call::Replay(_))
}

#[test]
fn start_compiles_then_runs_and_records_decode_steps() {
    let (_runner, log) = fake();
    let calls = calls(&log);
    let place = |wanted: fn(&Call) -> bool| calls.iter().position(wanted).unwrap();
    let prepared = place(|call| matches!(call, Call::Prepare(_)));
    let launched = place(|call| matches!(call, Call::Launch(_)));
    let captured = place(|call| *call == Call::BeginCapture);
    assert!(prepared < launched && launched < captured, "{calls:?}");
    assert_eq!(
        calls[captured - 1],
        Call::Synchronize,
        "what fails while kernels run fails before graphs are recorded"
    );
    // Buckets of 1, 2, 4 and 8 rows: up to the number of lanes.
    assert_eq!(calls.iter().filter(|call| **call == Call::EndCapture).count(), 4);
    assert!(!calls.iter().any(is_replay));
}

#[test]
fn progress_is_of_weights_and_then_of_kernels() {
    let mut seen = Vec::new();
    load(Box::new(FakeDriver::new().0), "tied-bf16", &options(), &mut |progress| seen.push(progress))
        .unwrap();
    let kernels =
        seen.iter().position(|progress| matches!(progress, EngineProgress::Kernels { .. })).unwrap();
    assert!(seen[..kernels].iter().all(|progress| matches!(progress, EngineProgress::Weights { .. })));
    let Some(EngineProgress::Kernels { done, of }) = seen.last() else { panic!("{seen:?}") };
    assert!(done == of && *of > 0);
}

#[test]
fn decode_step_replays_samples_and_returns_tokens() {
    let (mut runner, log) = fake();
    step(&mut runner, &batch(&[Part { lane: 0, tokens: &[1, 2, 3], from: 0 }])).unwrap();
    calls(&log);
    step(&mut runner, &batch(&[one(0, 3)])).unwrap();
    let told = calls(&log);
    let told: Vec<Call> = told.into_iter().filter(|call| !matches!(call, Call::Record(_))).collect();
    // The first wait is for the staging buffer, which the third step before this one used; the last
    // is for the token.
    let [
        Call::Wait(_),
        Call::Upload { .. },
        Call::Replay(0),
        Call::Upload { .. },
        Call::Launch("sample"),
        Call::Download { bytes: 16 },
        Call::Wait(_),
    ] = &told[..]
    else {
        panic!("{told:?}")
    };
}

#[test]
fn three_rows_are_padded_to_the_bucket_of_four() {
    let (mut runner, log) = fake();
    for lane in 0..3 {
        step(&mut runner, &batch(&[Part { lane, tokens: &[1, 2], from: 0 }])).unwrap();
    }
    calls(&log);
    let decode = batch(&[one(0, 2), one(1, 2), one(2, 2)]);
    assert_eq!(step(&mut runner, &decode).unwrap().len(), 3);
    let told = calls(&log);
    assert_eq!(told.iter().filter(|call| is_replay(call)).collect::<Vec<_>>(), [&Call::Replay(2)]);
    let to = inputs(&told);
    let log = lock(&log);
    let spare = u32::try_from(runner.shape().blocks).unwrap();
    assert_eq!(log.words(to, 4), [5, 5, 5, 0]);
    // Each array has room for one word more than the greatest number of rows, rounded up to a
    // multiple of 64 words.
    let array = |index: u64| log.words(DevicePtr(to.0 + index * 128 * 4), 4);
    assert_eq!((array(2), array(3)), (vec![2, 66, 130, spare * 64], vec![0, 1, 2, 8]));
    assert_eq!((array(5), array(6)), (vec![3, 3, 3, 1], vec![0, 1, 2, 8]));
}

#[test]
fn a_step_with_a_prompt_is_launched_kernel_by_kernel() {
    let (mut runner, log) = fake();
    step(&mut runner, &batch(&[one(0, 0)])).unwrap();
    calls(&log);
    step(&mut runner, &batch(&[one(0, 1), Part { lane: 1, tokens: &[7; 9], from: 0 }])).unwrap();
    let told = calls(&log);
    assert!(!told.iter().any(is_replay));
    assert!(told.iter().filter(|call| matches!(call, Call::Launch("embed"))).count() == 1, "{told:?}");
    assert!(told.contains(&Call::Launch("gather_rows")), "{told:?}");
}

#[test]
fn tables_change_on_the_device_where_batches_say_so() {
    let (mut runner, log) = fake();
    calls(&log);
    let tokens = [3; 64];
    step(&mut runner, &batch(&[Part { lane: 2, tokens: &tokens, from: 0 }])).unwrap();
    let Call::Upload { to: first, bytes: 4 } = calls(&log)[0] else {
        panic!("no entry of a table was written")
    };
    step(&mut runner, &batch(&[Part { lane: 2, tokens: &tokens, from: 64 }])).unwrap();
    let Call::Upload { to: second, bytes: 4 } = calls(&log)[0] else {
        panic!("no entry of a table was written")
    };
    assert_eq!(second.0, first.0 + 4);
    assert_eq!(lock(&log).words(first, 2), [2, 10]);
    step(&mut runner, &batch(&[one(2, 128)])).unwrap();
    step(&mut runner, &batch(&[one(2, 129)])).unwrap();
    let entries =
        calls(&log).into_iter().filter(|call| matches!(call, Call::Upload { bytes: 4, .. })).count();
    assert_eq!(entries, 1, "a new block is one more, for 64 tokens");
}

#[test]
fn a_token_that_is_on_its_way_is_named_by_its_lane() {
    let (mut runner, log) = fake();
    let first = batch(&[Part { lane: 4, tokens: &[9, 9], from: 0 }]);
    runner.forward(&first).unwrap();
    runner.sample(&Draws { rows: &greedy(&first), ..Draws::default() }).unwrap();
    calls(&log);
    runner.forward(&batch(&[Part { lane: 4, tokens: &[LAST], from: 2 }])).unwrap();
    let to = inputs(&calls(&log));
    // The kernel finds the token by the row's lane.
    let row_lanes = DevicePtr(to.0 + 3 * 128 * 4);
    let word = |at: DevicePtr| lock(&log).words(at, 1)[0];
    let words = [to, row_lanes].map(word);
    assert_eq!(words, [LAST, 4]);
    assert_eq!(runner.collect().unwrap().rows.len(), 1);
}

#[test]
fn nothing_is_allocated_behind_the_start() {
    for name in ["tied-bf16", "gpt-oss-mxfp4", "deepseek-fp8"] {
        let (driver, log) = FakeDriver::new();
        let mut runner = load(Box::new(driver), name, &options(), &mut |_| {}).unwrap();
        let room = lock(&log).room;
        for from in 0..200 {
            step(&mut runner, &batch(&[one(0, from), one(1, from)])).unwrap();
        }
        assert_eq!(lock(&log).room, room, "{name}");
    }
}

#[test]
fn calls_out_of_order_are_errors() {
    let (mut runner, _log) = fake();
    assert_eq!(runner.sample(&Draws::default()), Err(RunError::Order("sample")));
    assert_eq!(runner.collect().unwrap_err(), RunError::Order("collect"));
}

#[test]
fn recoverable_failure_ends_only_the_steps_under_way() {
    let (mut runner, log) = fake();
    step(&mut runner, &batch(&[one(0, 0)])).unwrap();
    lock(&log).fails = Some((is_replay, 0, call_error(1)));
    let error = runner.forward(&batch(&[one(0, 1)])).unwrap_err();
    assert_eq!(error, RunError::Device("cuGraphLaunch: CUDA_ERROR_X (1)".into()));
    assert_eq!(runner.sample(&Draws::default()), Err(RunError::Order("sample")));
    step(&mut runner, &batch(&[one(0, 1)])).unwrap();
}

#[test]
fn a_sticky_failure_is_the_runners_end() {
    let (mut runner, log) = fake();
    step(&mut runner, &batch(&[one(0, 0)])).unwrap();
    lock(&log).fails = Some((is_replay, 0, call_error(700)));
    let lost = RunError::Lost("cuGraphLaunch: CUDA_ERROR_X (700)".into());
    for _ in 0..2 {
        assert_eq!(runner.forward(&batch(&[one(0, 1)])).unwrap_err(), lost);
    }
}

#[test]
fn lost_device_is_told_once_to_everyone_and_ends_work() {
    let (runner, log) = fake();
    let engine = LocalEngine::start(Box::new(runner), LocalOptions::default());
    // The driver waits for this lock until all requests are submitted.
    let mut held = lock(&log);
    held.fails = Some((is_replay, 3, call_error(719)));
    let mut generations: Vec<_> = (0..3).map(|n| engine.submit(request([n], 50)).unwrap()).collect();
    drop(held);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for generation in &mut generations {
        let mut ends = Vec::new();
        while let Some(step) = runtime.block_on(generation.next()) {
            ends.extend(step.finish);
        }
        let [Finish::Error(GenerationError::Run(RunError::Lost(reason)))] = &ends[..] else {
            panic!("{ends:?}")
        };
        assert!(reason.contains("719"), "{reason}");
    }
    while engine.is_alive() {
        std::thread::yield_now();
    }
    assert_eq!(
        engine.lost(),
        Some("the device is lost: cuGraphLaunch: CUDA_ERROR_X (719); start the server again")
    );
    assert!(engine.submit(request([1], 1)).is_err());
}

#[test]
fn no_memory_at_load_is_an_error_with_figures() {
    for room in [1 << 20, 520 << 20] {
        let (driver, log) = FakeDriver::new();
        lock(&log).room = room;
        let error = load(Box::new(driver), "tied-bf16", &options(), &mut |_| {}).unwrap_err().to_string();
        assert!(
            error.starts_with("not enough memory on the GPU for ") && error.ends_with("total 4096 MiB"),
            "{error}"
        );
    }
}

#[test]
fn a_context_is_no_longer_than_the_models() {
    let options = CudaOptions { context: Some(1 << 30), ..options() };
    let error =
        load(Box::new(FakeDriver::new().0), "tied-bf16", &options, &mut |_| {}).unwrap_err().to_string();
    assert!(error.starts_with("a context of 1073741824 tokens: expected 1 to "), "{error}");
}

#[test]
fn engine_holds_one_sequence_per_lane_of_the_gpu() {
    assert_eq!(LocalRunner::Cuda(Box::new(fake().0)).sequences(), options().lanes);
    assert_eq!(CudaOptions::default().lanes, 256);
}

#[test]
fn a_runner_says_what_it_is() {
    let (runner, _log) = fake();
    let DeviceInfo { name, .. } = super::fake::gpu();
    let shape = runner.shape();
    assert_eq!(
        (shape.name.as_str(), shape.block_size, shape.ahead),
        (&*format!("cuda:0, {name}, bf16"), 64, 1)
    );
}
