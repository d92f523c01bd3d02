//! Errors that the shim finds, and results that must equal a device's.
#![expect(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "small whole numbers"
)]

use cuda_kernels::{Args, Defines, DevicePtr, KernelId, KernelSource, Launch};
use cuda_shim::{Shim, ShimError, ThreadOrder};

static SOURCE: KernelSource = KernelSource { name: "wrong.cu", text: include_str!("wrong.cu") };

fn launch(entry: &'static str, grid: u32, block: u32, shared_bytes: u32, args: Args) -> Launch {
    let kernel = KernelId { source: &SOURCE, defines: Defines::new(&[]), entry };
    Launch { kernel, grid: [grid, 1, 1], block: [block, 1, 1], shared_bytes, args, overlaps: false }
}

/// Text of the error of a launch of one block, whose first argument is a buffer of 64 floats.
fn error(entry: &'static str, block: u32, args: impl Fn(Args) -> Args) -> String {
    let shim = Shim::new();
    let x = shim.alloc_with(&[0.0f32; 64]).unwrap();
    let launch = launch(entry, 1, block, 0, args(Args::new().ptr(x)));
    shim.launch(&launch).expect_err("an error").to_string()
}

fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

#[test]
fn a_thread_that_left_before_a_barrier_is_named() {
    let text = error("early_exit", 64, |args| args);
    has(&text, &["early_exit of wrong.cu", "block [0, 0, 0], thread [0, 0, 0]"]);
    has(&text, &["63 of 64 threads have come", "thread [5, 0, 0] has ended"]);
}

#[test]
fn barriers_at_different_places_are_an_error() {
    has(&error("divergent_barrier", 64, |args| args), &["barrier 0 at line", "others wait for 64 at line"]);
}

#[test]
fn an_access_behind_a_buffer_is_an_error() {
    has(
        &error("behind_the_end", 1, |args| args.u32(64)),
        &["outside of memory: byte 256 of a buffer of 256"],
    );
    for far in [1 << 18, 1 << 22] {
        has(&error("behind_the_end", 1, |args| args.u32(far)), &["outside of memory", "of a buffer of 256"]);
    }
}

#[test]
fn write_past_a_buffers_end_is_found_when_read() {
    let shim = Shim::new();
    let x = shim.alloc_with(&[0.0f32; 3]).unwrap();
    shim.launch(&launch("behind_the_end", 1, 1, 0, Args::new().ptr(x).u32(3))).unwrap();
    let error = shim.read::<f32>(x, 3).unwrap_err();
    has(&error.to_string(), &["something was written around a buffer of 12 bytes"]);
}

#[test]
fn a_vector_at_a_misaligned_address_is_an_error() {
    has(&error("misaligned", 1, |args| args.u32(1)), &["misaligned"]);
}

// Only x86-64 faults at a division by zero.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_division_by_zero_is_an_error() {
    has(&error("division", 1, |args| args), &["division by zero"]);
}

#[test]
fn operations_of_a_warp_need_all_lanes_of_their_mask() {
    has(&error("missing_lane", 32, |args| args), &["lanes 0x00000008 have not come"]);
    has(&error("foreign_lane", 32, |args| args), &["a shuffle from a lane outside of the mask"]);
    has(&error("different_operations", 32, |args| args), &["lanes of one warp are at different operations"]);
}

#[test]
fn thread_overtaking_the_launch_in_front_is_an_error() {
    let shim = Shim::new();
    let x = shim.alloc_with(&[0.0f32; 64]).unwrap();
    let launch = launch("no_dependency_wait", 1, 32, 0, Args::new().ptr(x));
    shim.launch(&launch).unwrap();
    let error = shim.launch(&Launch { overlaps: true, ..launch }).unwrap_err();
    has(&error.to_string(), &["without grid_dependency_wait"]);
}

#[test]
fn shared_memory_has_the_size_of_the_launch() {
    let shim = Shim::new();
    let run = |bytes, at| {
        shim.launch(&launch("shared_past_the_end", 1, 1, bytes, Args::new().ptr(DevicePtr::NULL).u32(at)))
    };
    run(64, 63).unwrap();
    has(&run(64, 64).unwrap_err().to_string(), &["outside of memory"]);
    has(&run(60, 60).unwrap_err().to_string(), &["something was written around shared memory"]);
    has(&run(1 << 20, 0).unwrap_err().to_string(), &["1048576 bytes of shared memory"]);
}

#[test]
fn launches_that_no_device_takes_are_refused() {
    let shim = Shim::new();
    let refused = |launch: &Launch, parts: &[&str]| has(&shim.launch(launch).unwrap_err().to_string(), parts);
    refused(&launch("division", 0, 1, 0, Args::new()), &["a grid of [0, 1, 1] blocks"]);
    refused(&launch("division", 1, 2048, 0, Args::new()), &["a block of [2048, 1, 1] threads, 1024 at most"]);
    refused(&launch("division", 1, 1, 0, Args::new().u32(1)), &["arguments of [4] bytes, parameters of [8]"]);
    refused(&launch("absent", 1, 1, 0, Args::new()), &["no such kernel"]);
}

#[test]
fn a_missing_barrier_is_seen_in_one_order_of_threads() {
    let run = |order, barrier: u32| {
        let shim = Shim::with_order(order);
        let x = shim.alloc(64 * 4).unwrap();
        shim.launch(&launch("neighbours", 1, 64, 256, Args::new().ptr(x).u32(barrier))).unwrap();
        shim.read::<f32>(x, 64).unwrap().iter().filter(|x| x.is_nan()).count()
    };
    assert_eq!((run(ThreadOrder::Forward, 1), run(ThreadOrder::Backward, 1)), (0, 0));
    assert_eq!((run(ThreadOrder::Forward, 0), run(ThreadOrder::Backward, 0)), (63, 1));
}

#[test]
fn background_copy_arrives_when_it_is_awaited() {
    let shim = Shim::new();
    let values: Vec<f32> = (0..32 * 8).map(|i| i as f32).collect();
    let (from, to) = (shim.alloc_with(&values).unwrap(), shim.alloc(values.len() * 4).unwrap());
    let run = |wait: u32| {
        let args = Args::new().ptr(from).ptr(to).u32(wait);
        shim.launch(&launch("background_copy", 1, 32, 1024, args)).unwrap();
        shim.read::<f32>(to, values.len()).unwrap()
    };
    let wanted = |i: usize| if i % 8 < 6 { values[i] } else { 0.0 };
    assert!(run(1).iter().enumerate().all(|(i, x)| *x == wanted(i)));
    assert!(run(0).iter().enumerate().all(|(i, x)| if i % 8 < 4 { *x == values[i] } else { x.is_nan() }));
}

#[test]
fn a_product_of_matrices_is_that_of_a_tensor_core() {
    let shim = Shim::new();
    let value = |i: usize| (i * 37 % 17) as f32 - 8.0;
    let a: Vec<f32> = (0..256).map(value).collect();
    let b: Vec<f32> = (0..128).map(|i| value(i + 5)).collect();
    let bits = |values: &[f32]| values.iter().map(|x| (x.to_bits() >> 16) as u16).collect::<Vec<_>>();
    let (pa, pb) = (shim.alloc_with(&bits(&a)).unwrap(), shim.alloc_with(&bits(&b)).unwrap());
    let out = shim.alloc(128 * 4).unwrap();
    shim.launch(&launch("product", 1, 32, 768, Args::new().ptr(pa).ptr(pb).ptr(out))).unwrap();
    let dot = |i: usize| (0..16).map(|k| a[i / 8 * 16 + k] * b[i % 8 * 16 + k]).sum::<f32>();
    assert_eq!(shim.read::<f32>(out, 128).unwrap(), (0..128).map(dot).collect::<Vec<_>>());
}

#[test]
fn the_last_block_sees_what_the_others_wrote() {
    let shim = Shim::new();
    let count = shim.alloc_with(&[0u32]).unwrap();
    let (parts, out) = (shim.alloc(7 * 4).unwrap(), shim.alloc(4).unwrap());
    shim.launch(&launch("last_block", 7, 32, 0, Args::new().ptr(count).ptr(parts).ptr(out))).unwrap();
    assert_eq!(shim.read::<f32>(out, 1).unwrap(), [28.0]);
}

#[test]
fn threads_of_tests_run_launches_at_the_same_time() {
    let launches = || {
        let shim = Shim::new();
        let x = shim.alloc(8 * 256 * 4).unwrap();
        for _ in 0..4 {
            shim.launch(&launch("many_barriers", 8, 256, 0, Args::new().ptr(x).u32(50))).unwrap();
        }
        assert_eq!(shim.read::<u32>(x, 8 * 256).unwrap(), vec![1; 8 * 256]);
        has(&error("behind_the_end", 1, |args| args.u32(64)), &["outside of memory"]);
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(launches);
        }
    });
}

#[test]
fn memory_is_nan_until_written_and_ranges_are_checked() {
    let shim = Shim::new();
    let x = shim.alloc(10 * 4).unwrap();
    assert!(shim.read::<f32>(x, 10).unwrap().iter().all(|x| x.is_nan()));
    shim.fill(x, 0, 40).unwrap();
    shim.upload(x.offset(4), &[1.0f32, 2.0]).unwrap();
    shim.copy(x.offset(16), x, 12).unwrap();
    assert_eq!(shim.read::<f32>(x, 7).unwrap(), [0.0, 1.0, 2.0, 0.0, 0.0, 1.0, 2.0]);
    assert!(matches!(shim.upload(x.offset(36), &[0u64]), Err(ShimError::Memory { .. })));
    assert!(matches!(shim.free(x.offset(4)), Err(ShimError::Memory { .. })));
    shim.free(x).unwrap();
    assert!(matches!(shim.read::<f32>(x, 1), Err(ShimError::Memory { .. })));
}
