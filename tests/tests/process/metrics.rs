//! Metrics of the engine's work, with the names that dashboards of vLLM ask for: each token, turn
//! and time is counted once, of answers that end and of answers whose client leaves.

use serde_json::json;
use tests::client::{get, json_request, metric, open, post};
use tests::process::ServerProcess;
use tests::tools::eventually;

/// Value of a metric of vLLM's, of the only model.
async fn value(server: &ServerProcess, name: &str) -> f64 {
    metric(server.address, &format!("vllm:{name}{{model_name=\"bench\"}}")).await
}

fn server(arguments: &[&str]) -> ServerProcess {
    let arguments = [&["--metrics-prefix", "vllm:", "--speculation", "off"], arguments].concat();
    ServerProcess::start_with_engine("local", &arguments)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_token_turn_and_time_is_counted_once() {
    let server = server(&[]);
    let body = json!({ "model": "bench", "prompt": "The weather in Helsinki is said to be", "n": 2,
        "max_tokens": 40, "ignore_eos": true, "temperature": 0 });
    let usage = post(server.address, "/v1/completions", &body).await.json()["usage"].clone();
    assert_eq!(usage["completion_tokens"], 80, "{usage}");
    let prompt = usage["prompt_tokens"].as_f64().expect("a number");
    // The engine tells its figures behind the step whose tokens end the answer.
    eventually("no turn runs", async || value(&server, "num_requests_running").await < 1.0).await;
    for (name, expected) in [
        ("generation_tokens_total", 80.0),
        ("prompt_tokens_total", prompt),
        ("prefix_cache_queries_total", 2.0 * prompt),
        ("inter_token_latency_seconds_count", 78.0),
        ("time_per_output_token_seconds_count", 78.0),
        ("request_time_per_output_token_seconds_count", 2.0),
        ("request_max_num_generation_tokens_sum", 80.0),
        ("request_queue_time_seconds_count", 2.0),
        ("request_prefill_time_seconds_count", 2.0),
        ("request_decode_time_seconds_count", 2.0),
        ("request_prompt_tokens_sum", prompt),
        ("request_generation_tokens_sum", 80.0),
        ("time_to_first_token_seconds_count", 1.0),
        ("e2e_request_latency_seconds_count", 2.0),
        ("num_requests_running", 0.0),
        ("num_requests_waiting", 0.0),
        ("num_preemptions_total", 0.0),
    ] {
        assert_eq!(value(&server, name).await.to_string(), expected.to_string(), "{name}");
    }
    let ended = r#"vllm:request_success_total{model_name="bench",finished_reason="length"}"#;
    assert_eq!(metric(server.address, ended).await.to_string(), "2");
    // The gaps are the time between the first token and the last.
    let sums = [
        value(&server, "inter_token_latency_seconds_sum").await,
        value(&server, "request_decode_time_seconds_sum").await,
    ];
    assert!(sums[0] > 0.0 && (sums[0] - sums[1]).abs() < 1e-6, "{sums:?}");
    let means = value(&server, "request_time_per_output_token_seconds_sum").await;
    assert!((means - sums[1] / 39.0).abs() < 1e-6, "{means} {sums:?}");
    let text = String::from_utf8(get(server.address, "/metrics").await.body.to_vec()).expect("text");
    let (bounds, calls) = (
        text.matches("vllm:inter_token_latency_seconds_bucket").count(),
        metric(server.address, r#"sluice_parser_calls_total{model_name="bench",parser="none"}"#).await,
    );
    assert!(bounds == 23 && calls >= 2.0, "{calls} {text}");
    assert!(!text.contains("sluice_generation"), "one name each: {text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_picker_finds_its_gauges_before_any_request() {
    let server = server(&["--kv-cache", "64"]);
    let text = String::from_utf8(get(server.address, "/metrics").await.body.to_vec()).expect("text");
    for name in ["num_requests_waiting", "num_requests_running", "kv_cache_usage_perc"] {
        assert!(
            text.contains(&format!("# TYPE vllm:{name} gauge\nvllm:{name}{{model_name=\"bench\"}} 0\n")),
            "{text}"
        );
    }
    let blocks = metric(server.address, "sluice_kv_cache_blocks{model_name=\"bench\"}").await;
    let labels = format!("model_name=\"bench\",block_size=\"16\",num_gpu_blocks=\"{blocks}\"");
    let config = format!("# TYPE vllm:cache_config_info gauge\nvllm:cache_config_info{{{labels}}} 1\n");
    assert!(blocks >= 1.0 && text.contains(&config), "{config} {text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answer_without_its_client_counts_as_aborted() {
    let server = server(&[]);
    let body = json!({ "model": "bench", "prompt": "Hello", "max_tokens": 4000, "ignore_eos": true, "stream": true });
    let mut answer = open(server.address, json_request("/v1/completions", body.to_string())).await;
    answer.next().await.expect("an event");
    drop(answer);
    let aborted = r#"vllm:request_success_total{model_name="bench",finished_reason="abort"}"#;
    eventually("it is counted", async || metric(server.address, aborted).await >= 1.0).await;
    assert!(value(&server, "generation_tokens_total").await >= 1.0);
    assert_eq!(value(&server, "request_generation_tokens_count").await.to_string(), "1");
}
