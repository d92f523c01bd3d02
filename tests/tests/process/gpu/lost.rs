//! A GPU that fails while it computes.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::client::{Answer, post};

use super::machine::{Machine, Server};

/// Types of the events that end an answer.
const ENDS: [&str; 4] = ["response.completed", "response.failed", "response.incomplete", "error"];

fn question(input: &str) -> Value {
    json!({ "model": "qwen3-tiny", "input": input, "stream": true, "ignore_eos": true, "max_output_tokens": 500 })
}

/// Types of the events that end an answer, in order.
fn ends(answer: &Answer) -> Vec<String> {
    let types = answer.events().into_iter().map(|event| event["type"].as_str().expect("a type").to_owned());
    types.filter(|kind| ENDS.contains(&kind.as_str())).collect()
}

/// One decode step fails with an error that passes, a later one with an error that a device doesn't
/// recover from. The machine has no cuBLASLt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the simulated CUDA: tests/nightly.sh"]
async fn failed_step_errs_once_per_stream_lost_gpu_exits() {
    let machine = Machine::new();
    std::fs::remove_file(machine.libraries().join("libcublasLt.so.13")).expect("it is there");
    let failures = "fail=cuGraphLaunch:3:2,fail=cuGraphLaunch:20:700";
    let server = Server::start(&mut machine.serve(failures, &["--device", "cuda:0"]));
    let first = post(server.address, "/v1/responses", &question("Who are you?")).await;
    assert_eq!(ends(&first), ["error", "response.failed"]);
    assert!(health(server.address).expect("an answer").starts_with("HTTP/1.1 200 "));
    let bodies = ["Who are you?", "Hello"].map(question);
    let asked = bodies.iter().map(|body| post(server.address, "/v1/responses", body));
    let answers = futures_util::future::join_all(asked).await;
    for answer in &answers {
        assert_eq!(ends(answer), ["error", "response.failed"]);
        assert!(answer.events().len() > 6, "tokens came before");
    }
    unhealthy(server.address);
    let (status, errors) = server.ended();
    assert!(status.code().is_some_and(|code| code != 0), "{status}");
    assert!(!errors.contains("panicked") && !errors.contains("simulated CUDA:"), "{errors}");
    for part in ["CUDA_ERROR_OUT_OF_MEMORY (2)", "CUDA_ERROR_ILLEGAL_ADDRESS (700)"] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
    assert!(errors.contains("libcublasLt.so.13 not found: own kernels"), "{errors}");
}

/// Waits until the server says that it isn't healthy, or is gone.
fn unhealthy(address: SocketAddr) {
    let began = Instant::now();
    while health(address).is_ok_and(|answer| answer.starts_with("HTTP/1.1 200 ")) {
        assert!(began.elapsed() < Duration::from_secs(10), "it stays healthy");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn health(address: SocketAddr) -> std::io::Result<String> {
    let (mut socket, mut answer) = (TcpStream::connect(address)?, String::new());
    socket.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    socket.read_to_string(&mut answer)?;
    Ok(answer)
}
