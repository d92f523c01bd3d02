//! The tests of this folder once more through `real`: on CUDA's libraries as `tests/cuda-simulator`
//! installs them in the folder `CUDA_SIMULATOR`. Each runs this program again, since the loader
//! reads where libraries are when a program starts.

use std::path::PathBuf;
use std::process::Command;

/// Runs the tests whose names contain one of `names`. All must pass, at least `fewest` of them,
/// without a wrong call, and all must be freed.
fn run(names: &[&str], fewest: usize) {
    let simulator = std::env::var_os("CUDA_SIMULATOR").map(PathBuf::from);
    let simulator = simulator.expect("CUDA_SIMULATOR names the simulator's folder: tests/nightly.sh");
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--include-ignored", "--test-threads", "2"])
        .args(names)
        .env("LD_LIBRARY_PATH", simulator.join("driver"))
        .env("ENGINE_TESTS_DEVICE", "cuda:0")
        .env("ENGINE_TESTS_CUDA_LIBS", simulator.join("libraries"))
        .env("ENGINE_TESTS_KERNEL_CACHE", folder.path().join("kernels"))
        .output()
        .unwrap();
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{errors}");
    assert!(!errors.contains("simulated CUDA:") && !out.contains("simulated CUDA:"), "{out}\n{errors}");
    let passed = out.lines().filter(|line| line.ends_with("... ok")).count();
    assert!(passed >= fewest, "only {passed} tests\n{out}");
    println!("{passed} tests on the simulator");
}

#[test]
#[ignore = "60 tests and more on a simulated CUDA: tests/nightly.sh"]
fn kernels_are_compiled_loaded_and_launched() {
    run(&["cuda::tests::kernels", "cuda::tests::nvrtc", "cuda::real"], 60);
}

#[test]
#[ignore = "25 tests and more on a simulated CUDA: tests/nightly.sh"]
fn models_run_and_everything_is_freed() {
    let names = [
        "cuda::tests::products",
        "cuda::tests::drawn",
        "cuda::tests::goldens",
        "cuda::tests::sampling",
        "cuda::tests::families",
        "cuda::tests::simulation",
        "cuda::tests::deterministic",
        "cuda::tests::beside_cpu",
    ];
    run(&names, 25);
}
