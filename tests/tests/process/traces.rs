//! Traces of answers, as a collector gets them: their spans, what they hold, and collectors that take
//! none.

use http::HeaderValue;
use serde_json::{Value, json};
use tests::client::{json_request, metric, open, post, send};
use tests::collector::{Behaviour, Collector};
use tests::fake_engine::{Action, FakeEngine, whole};
use tests::process::ServerProcess;
use tests::tools::eventually;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";
/// Word of the request that no span may hold.
const SECRET: &str = "Xanthippe";

fn traced(collector: &Collector) -> Vec<String> {
    vec!["--otlp-endpoint".to_owned(), collector.url()]
}

/// Answer to a request with this header.
async fn ask(server: &ServerProcess, path: &str, body: &Value, traceparent: &str) -> Value {
    let mut request = json_request(path, body.to_string());
    request.headers_mut().insert("traceparent", HeaderValue::from_str(traceparent).expect("a header"));
    send(server.address, request).await.json()
}

/// Value of an attribute of a span.
fn attribute<'a>(span: &'a Value, key: &str) -> &'a Value {
    let all = span["attributes"].as_array().expect("a list");
    all.iter().find(|one| one["key"] == key).map_or(&Value::Null, |one| &one["value"])
}

fn named<'a>(spans: &'a [Value], name: &str) -> &'a Value {
    spans.iter().find(|span| span["name"] == name).unwrap_or_else(|| panic!("{name}: {spans:?}"))
}

fn time(span: &Value, key: &str) -> u64 {
    span[key].as_str().and_then(|text| text.parse().ok()).expect("nanoseconds as text")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_have_times_and_counts_but_no_content() {
    let collector = Collector::start(Behaviour::Takes).await;
    let arguments = traced(&collector);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let server = ServerProcess::start_with_engine("local", &arguments);
    let body = json!({ "model": "bench", "input": SECRET, "max_output_tokens": 16, "temperature": 0.5 });
    let answer = ask(&server, "/v1/responses", &body, &format!("00-{TRACE}-{CALLER}-01")).await;
    let spans = collector.spans(4).await;
    assert_eq!(spans.len(), 4, "{spans:?}");
    let whole = named(&spans, "chat bench");
    assert_eq!(
        (&whole["traceId"], &whole["parentSpanId"], &whole["kind"]),
        (&json!(TRACE), &json!(CALLER), &json!(2))
    );
    let usage = &answer["usage"];
    for (key, value) in [
        ("gen_ai.operation.name", json!({ "stringValue": "chat" })),
        ("gen_ai.provider.name", json!({ "stringValue": "sluice" })),
        ("gen_ai.request.model", json!({ "stringValue": "bench" })),
        ("gen_ai.request.max_tokens", json!({ "intValue": "16" })),
        ("gen_ai.request.temperature", json!({ "doubleValue": 0.5 })),
        ("gen_ai.response.id", json!({ "stringValue": answer["id"] })),
        (
            "gen_ai.response.finish_reasons",
            json!({ "arrayValue": { "values": [{ "stringValue": "length" }] } }),
        ),
        ("gen_ai.usage.input_tokens", json!({ "intValue": usage["input_tokens"].to_string() })),
        ("gen_ai.usage.output_tokens", json!({ "intValue": usage["output_tokens"].to_string() })),
        ("error.type", Value::Null),
    ] {
        assert_eq!(attribute(whole, key), &value, "{key}");
    }
    let stages = ["queue", "prefill", "decode"].map(|name| named(&spans, name));
    for stage in stages {
        assert_eq!(
            (&stage["traceId"], &stage["parentSpanId"], &stage["kind"]),
            (&json!(TRACE), &whole["spanId"], &json!(1))
        );
    }
    let mut times = vec![time(whole, "startTimeUnixNano")];
    times.extend(
        stages.iter().flat_map(|stage| ["startTimeUnixNano", "endTimeUnixNano"].map(|key| time(stage, key))),
    );
    times.push(time(whole, "endTimeUnixNano"));
    assert!(times.is_sorted(), "{times:?}");
    assert!(!format!("{spans:?}").contains(SECRET), "{spans:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_and_refusals_are_told_by_their_codes() {
    let collector = Collector::start(Behaviour::Takes).await;
    let arguments = traced(&collector);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let server = ServerProcess::start(&json!([{ "text": "Hello." }]), &arguments);
    // Its length is known once its tokens are.
    let long = json!({ "model": "bench", "input": "Why? ".repeat(5000) });
    assert_eq!(post(server.address, "/v1/responses", &long).await.status, 400);
    let refused = &collector.spans(1).await[0];
    assert_eq!((&refused["name"], &refused["status"]), (&json!("chat bench"), &json!({ "code": 2 })));
    assert_eq!(attribute(refused, "error.type"), &json!({ "stringValue": "context_length_exceeded" }));
    assert_eq!(refused["parentSpanId"], Value::Null);
    // A caller that doesn't keep its trace gets no spans.
    let body = json!({ "model": "bench", "input": "Hi" });
    ask(&server, "/v1/responses", &body, &format!("00-{TRACE}-{CALLER}-00")).await;
    let kept = TRACE.replace('4', "5");
    ask(&server, "/v1/responses", &body, &format!("00-{kept}-{CALLER}-01")).await;
    let spans = collector.spans(2).await;
    assert!(spans[1..].iter().all(|span| span["traceId"] == kept.as_str()), "{spans:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn engines_are_told_of_the_trace_they_work_for() {
    let collector = Collector::start(Behaviour::Takes).await;
    let engine = FakeEngine::start(|_, _| vec![Action::Send(whole("<think>\n\n</think>\n\nHello."))]).await;
    let body = json!({ "model": "bench", "input": "Hi" });
    let caller = format!("00-{TRACE}-{CALLER}-01");
    let arguments = traced(&collector);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let server = ServerProcess::start_with_engine(&engine.url(), &arguments);
    ask(&server, "/v1/responses", &body, &caller).await;
    let spans = collector.spans(1).await;
    let own = named(&spans, "chat bench")["spanId"].as_str().expect("an id").to_owned();
    let head = engine.received.head();
    assert!(head.contains(&format!("traceparent: 00-{TRACE}-{own}-01\r\n")), "{head}");
    // Without a collector the caller's own span is passed on; what isn't one is left out.
    let server = ServerProcess::start_with_engine(&engine.url(), &[]);
    ask(&server, "/v1/responses", &body, &caller).await;
    assert!(engine.received.head().contains(&format!("traceparent: {caller}\r\n")));
    ask(&server, "/v1/responses", &body, "00-not-a-trace-01").await;
    assert!(!engine.received.head().contains("traceparent"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn collectors_that_take_nothing_change_no_answer() {
    let lost = async |server: &ServerProcess| metric(server.address, "sluice_spans_lost_total").await;
    for behaviour in [
        Behaviour::Answers(500),
        Behaviour::Answers(307),
        Behaviour::Closes,
        Behaviour::Silent,
        Behaviour::Takes,
    ] {
        let collector = Collector::start(behaviour).await;
        let arguments = traced(&collector);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let server = ServerProcess::start(&json!([{ "text": "Hello." }]), &arguments);
        if behaviour == Behaviour::Takes {
            // Nobody is at the address.
            drop(collector);
        }
        let body = json!({ "model": "bench", "prompt": "Hi", "max_tokens": 1 });
        // A silent collector keeps its request; what follows waits until the queue is full.
        let answers = if behaviour == Behaviour::Silent { 2000 } else { 3 };
        for _ in 0..answers {
            assert_eq!(post(server.address, "/v1/completions", &body).await.status, 200, "{behaviour:?}");
        }
        eventually("spans are lost", async || lost(&server).await >= 3.0).await;
        assert!(server.resident_mib() < 400.0, "{behaviour:?}: {} MiB", server.resident_mib());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn collector_that_reads_nothing_changes_no_answer() {
    // The system connects for a program that never accepts.
    let unread = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let endpoint = format!("http://{}", unread.local_addr().expect("bound"));
    let server = ServerProcess::start(&json!([{ "text": "Hello." }]), &["--otlp-endpoint", &endpoint]);
    let body = json!({ "model": "bench", "prompt": "Hi", "max_tokens": 1 });
    for _ in 0..2000 {
        assert_eq!(post(server.address, "/v1/completions", &body).await.status, 200);
    }
    eventually("spans are lost", async || metric(server.address, "sluice_spans_lost_total").await >= 3.0)
        .await;
    assert!(metric(server.address, "sluice_spans_exported_total").await < 1.0);
    assert!(server.resident_mib() < 400.0, "{} MiB", server.resident_mib());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn last_spans_are_sent_before_the_process_ends() {
    let collector = Collector::start(Behaviour::Takes).await;
    let arguments = traced(&collector);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let server = ServerProcess::start(&json!([{ "text": "Hello." }]), &arguments);
    let body = json!({ "model": "bench", "input": "Hi", "stream": true });
    let mut answer = open(server.address, json_request("/v1/responses", body.to_string())).await;
    while answer.next().await.is_some() {}
    drop(server.stop());
    let spans = collector.spans(2).await;
    assert_eq!(named(&spans, "chat bench")["status"], json!({}));
}
