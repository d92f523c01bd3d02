//! A server behind another one: the front's probes are nobody's answers, so they are in no record
//! and no trace, and in one metric, their own.

use http::HeaderValue;
use serde_json::{Value, json};
use tests::client::{json_request, metric, post, send};
use tests::collector::{Behaviour, Collector};
use tests::process::ServerProcess;

/// A request for so many tokens that says it is a probe.
async fn pretend(server: &ServerProcess, tokens: u32) {
    let body = json!({ "model": "bench", "prompt": "Hello", "max_tokens": tokens });
    let mut request = json_request("/v1/completions", body.to_string());
    request.headers_mut().insert("x-sluice-probe", HeaderValue::from_static("1"));
    assert_eq!(send(server.address, request).await.status, 200);
}

fn is_whole(span: &Value) -> bool {
    span["kind"] == json!(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn probes_are_counted_as_probes_only() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let records = folder.path().join("records");
    let collector = Collector::start(Behaviour::Takes).await;
    let endpoint = collector.url();
    let arguments = ["--record", records.to_str().expect("text"), "--otlp-endpoint", &endpoint];
    let back = ServerProcess::start_with_engine("local", &arguments);
    let front = ServerProcess::start_with_engine(&format!("http://{}", back.address), &[]);
    let body = json!({ "model": "bench", "input": "Hello", "max_output_tokens": 3 });
    assert_eq!(post(front.address, "/v1/responses", &body).await.status, 200);
    pretend(&back, 1).await;
    // More than a probe asks for.
    pretend(&back, 2).await;

    let count = async |name: &str| metric(back.address, &format!("{name}{{model_name=\"bench\"}}")).await;
    let generated = count("sluice_generation_tokens_total").await;
    let answers = count("sluice_e2e_request_latency_seconds_count").await;
    assert_eq!((generated, answers), (5.0, 2.0));
    // The front's own, which are one to three, and the one that pretends.
    let probes = count("sluice_probes_total").await;
    assert!((2.0..=4.0).contains(&probes), "{probes}");
    back.stop();
    let spans = collector.spans(2).await;
    assert_eq!(spans.iter().filter(|span| is_whole(span)).count(), 2, "{spans:?}");
    assert_eq!(std::fs::read_dir(records).expect("it is there").count(), 2);
}
