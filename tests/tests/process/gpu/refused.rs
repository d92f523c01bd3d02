//! Machines on which the server doesn't start on the GPU: the error is one line that says what to
//! do, and the process fails.

use std::process::Command;

use super::machine::{Machine, run};

/// Runs a command that must fail with one line of error, which has all `parts`.
fn refuses(command: &mut Command, parts: &[&str]) {
    let (started, out, errors) = run(command);
    assert!(!started && out.is_empty(), "{command:?}: {out}");
    let lines: Vec<&str> = errors.lines().filter(|line| line.starts_with("error: ")).collect();
    let [error] = lines.as_slice() else { panic!("{command:?}: {errors}") };
    assert!(errors.trim_end().ends_with(error), "{command:?}: {errors}");
    for part in parts {
        assert!(error.contains(part), "{part:?} is not in {error}");
    }
}

const ON_GPU: [&str; 2] = ["--device", "cuda:0"];

#[test]
#[ignore = "needs the simulated CUDA: tests/nightly.sh"]
fn a_machine_that_lacks_something_says_what() {
    let machine = Machine::new();
    let cases: [(&str, &[&str]); 8] = [
        ("version=12040", &["driver has CUDA 12.4; needs 13.0 (580)"]),
        ("devices=0", &["finds no GPU"]),
        ("compute=7.5", &["Simulated GPU", "7.5; needs 8.0"]),
        ("nvrtc=12.8", &["libnvrtc has CUDA 12.8; needs 13"]),
        ("exclusive", &["in use in exclusive mode"]),
        ("memory=100000000", &["not enough memory on the GPU", "needed", "free", "total 96 MiB"]),
        ("fail=cuInit:1:999", &["cuInit: CUDA_ERROR_UNKNOWN (999)"]),
        ("fail=cuModuleLoadData:2:209", &["cuModuleLoadData: CUDA_ERROR_NO_BINARY_FOR_GPU (209)"]),
    ];
    for (settings, parts) in cases {
        refuses(&mut machine.serve(settings, &ON_GPU), parts);
    }
}

#[test]
fn a_machine_without_a_driver_says_that_the_cpu_works() {
    if std::path::Path::new("/dev/nvidiactl").exists() {
        tests::skip("a machine without a driver: this one has a driver, which would be found");
        return;
    }
    let machine = Machine::without_driver();
    refuses(
        &mut machine.serve_without_libraries("", &ON_GPU),
        &["no NVIDIA driver (libcuda.so.1 not found); --device cpu works"],
    );
    let (listed, out, errors) = run(&mut machine.host("", &["devices"]));
    assert!(listed && errors.is_empty() && out.contains("auto     cpu\n"), "{out}{errors}");
}

/// Errors late in the start: while kernels run for the first time, and while graphs are recorded.
#[test]
#[ignore = "needs the simulated CUDA: tests/nightly.sh"]
fn a_gpu_that_fails_at_the_start_ends_it() {
    let machine = Machine::new();
    for (settings, part) in [
        ("fail=cuLaunchKernelEx:3:719", "cuLaunchKernelEx: CUDA_ERROR_LAUNCH_FAILED (719)"),
        ("fail=cuStreamEndCapture:1:901", "cuStreamEndCapture: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (901)"),
    ] {
        refuses(&mut machine.serve(settings, &ON_GPU), &[part]);
    }
}

#[test]
#[ignore = "needs the simulated CUDA: tests/nightly.sh"]
fn missing_library_is_named_with_its_wheel_and_switch() {
    let machine = Machine::new();
    let empty = tempfile::tempdir().expect("a temporary folder");
    let mut command = machine.serve_without_libraries("", &ON_GPU);
    refuses(
        command.arg("--cuda-libs").arg(empty.path()),
        &["--cuda-libs", "no libnvrtc.so.13 in it", "nvidia-cuda-nvrtc==13"],
    );
}

/// What such machines have in their loader's path: CUDA's libraries of another generation, under
/// names without a version.
#[test]
#[ignore = "needs the simulated CUDA: tests/nightly.sh"]
fn older_toolkit_is_not_taken_for_the_named_libraries() {
    let machine = Machine::new();
    machine.add_older_toolkit();
    let libraries = machine.libraries().to_str().expect("UTF-8");
    let (listed, out, errors) = run(&mut machine.host("", &["devices", "--cuda-libs", libraries]));
    assert!(listed && errors.is_empty(), "{errors}");
    assert!(out.contains("nvrtc    CUDA 13.0\ncublaslt CUDA 13.0\n"), "{out}");
    let mut command = machine.serve_without_libraries("", &ON_GPU);
    refuses(&mut command, &["libnvrtc.so.13 not found", "nvidia-cuda-nvrtc==13", "--cuda-libs DIR"]);
}
