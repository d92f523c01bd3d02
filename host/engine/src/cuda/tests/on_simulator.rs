//! The tests of this folder once more through `real`: on CUDA's libraries as `cuda-simulator` has them. Each runs this program again, since
//! the loader reads where libraries are when a program starts.
//!
//! `ENGINE_TESTS_ON_SIMULATOR=all` runs all of them, which takes minutes.

use std::process::Command;

use super::rig::is_a_gpu;

/// Runs the tests whose names contain one of `names`. All must pass, at least `fewest` of them, without a wrong call, and all must be freed.
fn run(names: &[&str], fewest: usize) {
    // This is the program that was run again.
    if is_a_gpu() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let installed = cuda_simulator::install(folder.path()).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--test-threads", "2"])
        .args(names)
        .env("LD_LIBRARY_PATH", installed.driver)
        .env("ENGINE_TESTS_DEVICE", "cuda:0")
        .env("ENGINE_TESTS_CUDA_LIBS", installed.libraries)
        .env("ENGINE_TESTS_KERNEL_CACHE", folder.path().join("kernels"))
        .output()
        .unwrap();
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{errors}");
    assert!(!errors.contains("simulated CUDA:") && !out.contains("simulated CUDA:"), "{out}\n{errors}");
    let passed = out.lines().filter(|line| line.ends_with("... ok")).count();
    assert!(passed >= fewest, "only {passed} tests\n{out}");
}

#[test]
fn kernels_are_compiled_loaded_and_launched() {
    run(&["cuda::tests::kernels", "cuda::tests::nvrtc", "cuda::real"], 60);
}

#[test]
fn models_run_and_everything_is_freed() {
    let few = [
        "cuda::tests::sampling",
        "cuda::tests::products",
        "cuda::tests::drawn",
        "goldens::the_trained_model_has",
        "simulation::so_they_do_with_experts",
    ];
    match std::env::var("ENGINE_TESTS_ON_SIMULATOR") {
        Ok(_) => run(
            &[
                "products",
                "drawn",
                "goldens",
                "sampling",
                "families",
                "simulation",
                "deterministic",
                "beside_cpu",
            ],
            25,
        ),
        Err(_) => run(&few, 10),
    }
}
