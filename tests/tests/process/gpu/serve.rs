//! A server on the GPU: its answers are those of the CPU, and it frees everything when it ends.

use serde_json::{Value, json};
use tests::client::{Answer, get, post};
use tests::server::{Setup, TestServer};

use super::machine::{Machine, Server, run};

const QUESTIONS: [&str; 3] = ["Who are you?", "What is the weather in Helsinki?", "Hello"];

fn question(input: &str) -> Value {
    json!({ "model": "qwen3-tiny", "input": input, "temperature": 0, "max_output_tokens": 60 })
}

/// The answer without what differs each time.
fn content(answer: &Answer) -> Vec<Value> {
    let answer = answer.json();
    let items = answer["output"].as_array().expect("a list of items").clone();
    assert!(!items.is_empty(), "{answer}");
    items
        .into_iter()
        .map(|item| json!([item["type"], item["content"], item["name"], item["arguments"]]))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the simulated CUDA: tests/nightly.sh"]
async fn greedy_answers_are_the_cpus_and_all_is_freed() {
    let machine = Machine::new();
    let gpu = Server::start(&mut machine.serve("", &["--device", "auto"]));
    let cpu = TestServer::start(Setup::default()).await;
    let bodies = QUESTIONS.map(question);
    let asked = bodies.iter().map(|body| post(gpu.address, "/v1/responses", body));
    let answers = futures_util::future::join_all(asked).await;
    for (body, answer) in bodies.iter().zip(&answers) {
        assert_eq!(answer.status, 200);
        assert_eq!(content(answer), content(&post(cpu.address, "/v1/responses", body).await), "{body}");
    }
    gpu.terminate();
    let (status, errors) = gpu.ended();
    assert!(status.success() && !errors.contains("simulated CUDA:"), "{errors}");
    assert!(!errors.contains("WARN"), "{errors}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the simulated CUDA: tests/nightly.sh"]
async fn context_cut_by_gpu_cache_is_told_at_start_and_list() {
    let machine = Machine::new();
    let gpu = Server::start(&mut machine.serve("", &["--device", "cuda", "--kv-cache", "1"]));
    let listed = get(gpu.address, "/v1/models").await.json()["data"][0]["max_model_len"].clone();
    assert!(listed.as_u64().is_some_and(|tokens| (1..4096).contains(&tokens)), "{listed}");
    gpu.terminate();
    let (_, errors) = gpu.ended();
    let said = format!(
        "may have {listed} of the 4096 tokens of the context: the KV cache on the device has no room"
    );
    assert!(errors.contains(&said), "{errors}");
}

/// `auto` doesn't fail where a GPU can't be used.
#[test]
#[ignore = "needs the simulated CUDA: tests/nightly.sh"]
fn a_gpu_that_cannot_be_used_leaves_the_cpu() {
    let machine = Machine::new();
    for (settings, warned) in
        [("version=12040", "driver has CUDA 12.4"), ("compute=7.5", "7.5; needs 8.0"), ("devices=0", "")]
    {
        let bench = [
            "bench",
            "model",
            "--device",
            "auto",
            "-p",
            "4",
            "-n",
            "1",
            "--parallel",
            "1",
            "-r",
            "1",
            "--read-buffer",
            "16",
        ];
        let (done, out, errors) = run(&mut machine.host(settings, &bench));
        assert!(done && out.contains("engine   cpu"), "{settings}: {out}{errors}");
        assert!(
            errors.contains(warned) && errors.contains("WARN") != warned.is_empty(),
            "{settings}: {errors}"
        );
    }
}

#[test]
#[ignore = "needs the simulated CUDA: tests/nightly.sh"]
fn the_gpu_is_listed() {
    let machine = Machine::new();
    let libraries = machine.libraries().to_str().expect("UTF-8");
    let (listed, out, errors) = run(&mut machine.host("", &["devices", "--cuda-libs", libraries]));
    assert!(listed && errors.is_empty(), "{errors}");
    for line in ["driver   CUDA 13.0", "nvrtc    CUDA 13.0", "cublaslt CUDA 13.0", "auto     cuda:0"] {
        assert!(out.lines().any(|found| found == line), "{line:?} is not in {out}");
    }
    let gpu = out.lines().find(|line| line.starts_with("cuda:0")).expect("it is listed");
    let words: Vec<_> = gpu.split_whitespace().collect();
    assert_eq!(words, ["cuda:0", "Simulated", "GPU", "2048", "MiB", "132", "9.0"]);
}
