//! Parsers that are replaced while they serve: streams keep the parser they began with, and only
//! the operator notices a bad file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use api::Protocol;
use model::{LoadResult, ParserReport};
use parsers::digest;
use serde_json::{Value, json};
use tests::client::{get, post};
use tests::guests::guest;
use tests::server::{Setup, TestServer};
use tokio::task::JoinSet;

const TEXT: &str =
    "Some words that come one by one, while the parser that reads them is replaced again and again.";

/// Configuration of a server with a folder of plugins, in which `p.wasm` is the healthy guest.
struct Fixture {
    _folder: tempfile::TempDir,
    plugins: PathBuf,
    setup: Setup,
}

impl Fixture {
    fn new(parser: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let plugins = folder.path().join("plugins");
        std::fs::create_dir(&plugins).expect("made");
        let rules = json!([{ "text": TEXT, "tokens_per_step": 1, "pace_ms": 5 }]);
        let mut setup = Setup::replay(folder.path(), &rules).with_parser(parser);
        setup.model.plugins.clone_from(&plugins);
        setup.shared.parser_cache = Some(folder.path().join("cache"));
        let fixture = Self { _folder: folder, plugins, setup };
        fixture.replace("p.wasm", &guest("healthy"));
        fixture
    }

    /// Writes a plugin as a careful operator does: to another file, which is then renamed.
    fn replace(&self, name: &str, bytes: &[u8]) {
        let part = self.plugins.join("part");
        std::fs::write(&part, bytes).expect("written");
        std::fs::rename(part, self.plugins.join(name)).expect("renamed");
    }

    async fn start(&self) -> TestServer {
        TestServer::start(self.setup.clone()).await
    }
}

/// Type of the item that a stream's text became. Checks that the text is whole and in one item, and
/// that the stream is well-formed.
async fn kind(server: std::net::SocketAddr) -> String {
    let request = json!({ "model": "qwen3-tiny", "input": "x", "stream": true });
    let streamed = post(server, "/v1/responses", &request).await;
    let mut check = Protocol::Responses.check();
    check.feed(&streamed.body).and_then(|()| check.finish()).expect("a well-formed stream");
    let response = streamed.events().last().expect("a terminal event")["response"].clone();
    assert_eq!(response["status"], "completed", "{response}");
    let output = response["output"].as_array().expect("items");
    assert_eq!(output.len(), 1, "two versions in one stream: {response}");
    assert_eq!(output[0]["content"][0]["text"], TEXT);
    output[0]["type"].as_str().expect("a type").to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_swaps_under_two_hundred_streams() {
    const STREAMS: usize = 200;
    const SWAPS: usize = 1000;
    let fixture = Fixture::new("p");
    let server = fixture.start().await;
    let (over, kinds) =
        (Arc::new(AtomicBool::new(false)), Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]));
    let mut streams = JoinSet::new();
    for _ in 0..STREAMS {
        let (over, kinds, address) = (Arc::clone(&over), Arc::clone(&kinds), server.address);
        streams.spawn(async move {
            while !over.load(Ordering::Relaxed) {
                let reasoning = kind(address).await == "reasoning";
                kinds[usize::from(reasoning)].fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let builds = [guest("to_reasoning"), guest("healthy")];
    for swap in 0..SWAPS {
        fixture.replace("p.wasm", &builds[swap % 2]);
        let report = server.model.reload_parsers("test").await;
        assert_eq!(report.last_load.result, LoadResult::Swapped, "{swap}: {:?}", report.last_load);
    }
    over.store(true, Ordering::Relaxed);
    while let Some(stream) = streams.join_next().await {
        stream.expect("no stream failed");
    }
    assert!(
        kinds.iter().all(|kind| kind.load(Ordering::Relaxed) > STREAMS / 4),
        "both builds served: {kinds:?}"
    );
    let model = server.model.clone();
    server.stop().await;
    assert_eq!(model.parsers().in_memory, 1, "builds that no stream has are gone");
}

fn failed(report: &ParserReport, part: &str) {
    assert_eq!(report.last_load.result, LoadResult::Failed);
    let error = report.last_load.error.as_deref().expect("a reason");
    assert!(error.contains(part) && !error.contains('\n'), "{error}");
    assert_eq!(report.serving.sha256, digest(&guest("healthy")), "the old one serves on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_file_keeps_the_old_parser_and_says_why() {
    let fixture = Fixture::new("p");
    let server = fixture.start().await;
    let whole = guest("to_reasoning");
    for (bytes, part) in [
        (b"garbage".to_vec(), "not a WebAssembly component"),
        (Vec::new(), "the file is empty"),
        (whole[..whole.len() / 2].to_vec(), "not a valid component"),
        (guest("wrong_version"), "sluice:parser/parser@0.2.0"),
        (guest("imports"), "imports wasi"),
        (guest("trap_in_describe"), "failed in `describe`"),
        (guest("loop_in_describe"), "CPU"),
        (guest("marker_twice"), "stands twice"),
    ] {
        fixture.replace("p.wasm", &bytes);
        failed(&server.model.reload_parsers("test").await, part);
        assert_eq!(kind(server.address).await, "message");
    }
    std::fs::remove_file(fixture.plugins.join("p.wasm")).expect("removed");
    failed(&server.model.reload_parsers("test").await, "found neither");
    fixture.replace("p.wasm", &whole);
    assert_eq!(server.model.reload_parsers("test").await.last_load.result, LoadResult::Swapped);
    assert_eq!(kind(server.address).await, "reasoning");
    let report = server.model.reload_parsers("test").await;
    assert_eq!(report.last_load.result, LoadResult::Unchanged);
    assert_eq!((report.loads.swapped, report.loads.unchanged, report.loads.failed), (2, 1, 9));
    server.stop().await;
}

/// Waits until the report of the parsers satisfies `wanted`, and returns it.
async fn until(server: &TestServer, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let report = get(server.admin, "/admin/parsers").await.json()["models"][0].take();
        if wanted(&report) {
            return report;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{what} isn't noticed: {report}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn write_in_place(file: &Path, bytes: &[u8]) {
    std::fs::write(file, bytes).expect("written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_watched_through_renames_and_half_writes() {
    let mut fixture = Fixture::new("p");
    fixture.setup.watch = true;
    let server = fixture.start().await;
    // The watch begins with a load of its own: from now on changes are noticed.
    until(&server, "the start", |report| report["loads"]["unchanged"] == 1).await;
    let (one, other) = (guest("healthy"), guest("to_reasoning"));
    let loaded = |bytes: &[u8]| {
        let digest = digest(bytes);
        move |report: &Value| report["serving"]["sha256"] == digest
    };
    fixture.replace("p.wasm", &other);
    until(&server, "a rename", loaded(&other)).await;
    assert_eq!(kind(server.address).await, "reasoning");
    let file = fixture.plugins.join("p.wasm");
    write_in_place(&file, &one);
    until(&server, "a write in place", loaded(&one)).await;
    write_in_place(&file, &other[..other.len() / 2]);
    let report = until(&server, "half a file", |report| report["last_load"]["result"] == "failed").await;
    assert!(loaded(&one)(&report) && report["last_load"]["cause"] == "watch", "{report}");
    write_in_place(&file, &other);
    until(&server, "the whole file", loaded(&other)).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operators_reload_parsers_on_the_admin_address_only() {
    let fixture = Fixture::new("p");
    let server = fixture.start().await;
    let report = get(server.admin, "/admin/parsers").await.json()["models"][0].clone();
    assert_eq!((&report["model"], &report["serving"]["name"]), (&json!("qwen3-tiny"), &json!("guest")));
    assert_eq!(report["candidates"][0]["sha256"], report["serving"]["sha256"]);
    let loadable: Vec<&str> =
        report["loadable"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    assert!(
        loadable.is_sorted() && ["none", "p", "qwen3"].iter().all(|name| loadable.contains(name)),
        "{loadable:?}"
    );
    assert!(!loadable.contains(&"response-template"), "it needs a table");
    fixture.replace("p.wasm", &guest("to_reasoning"));
    let answer = post(server.admin, "/admin/parsers/reload", &Value::Null).await;
    assert_eq!(
        (answer.status.as_u16(), &answer.json()["models"][0]["last_load"]["result"]),
        (200, &json!("swapped"))
    );
    fixture.replace("p.wasm", b"garbage");
    let answer = post(server.admin, "/admin/parsers/reload", &Value::Null).await;
    assert_eq!(
        (answer.status.as_u16(), &answer.json()["models"][0]["last_load"]["result"]),
        (409, &json!("failed"))
    );
    let metrics = get(server.admin, "/metrics").await.body;
    let metrics = String::from_utf8_lossy(&metrics);
    assert!(
        metrics.contains("sluice_parser_reloads_total{model_name=\"qwen3-tiny\",result=\"failed\"}"),
        "{metrics}"
    );
    for path in ["/admin/parsers", "/admin/parsers/reload"] {
        assert_eq!(get(server.address, path).await.status, 404, "{path}");
    }
    assert_eq!(get(server.admin, "/admin/parsers/reload").await.status, 405);
    assert_eq!(get(server.admin, "/v1/models").await.status, 404);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_keys_the_admin_address_asks_for_one() {
    let mut fixture = Fixture::new("p");
    fixture.setup.keys = vec!["secret".to_owned()];
    let server = fixture.start().await;
    assert_eq!(get(server.admin, "/health").await.status, 200);
    for (path, method) in
        [("/admin/parsers", "GET"), ("/admin/parsers/reload", "POST"), ("/metrics", "GET"), ("/x", "GET")]
    {
        for (key, allowed) in [(None, false), (Some("Bearer wrong"), false), (Some("Bearer secret"), true)] {
            let mut request = http::Request::builder().uri(path).method(method).header("host", "localhost");
            if let Some(key) = key {
                request = request.header("authorization", key);
            }
            let request = request.body(http_body_util::Full::default()).expect("a request");
            let status = tests::client::send(server.admin, request).await.status.as_u16();
            assert_eq!(status != 401, allowed, "{method} {path} with {key:?}: {status}");
        }
    }
    let answer = get(server.admin, "/admin/parsers").await;
    assert!(!String::from_utf8_lossy(&answer.body).contains("sha256"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pin_holds_at_reloads() {
    let mut fixture = Fixture::new("p");
    let (right, wrong) = (digest(&guest("healthy")), digest(&guest("to_reasoning")));
    fixture.setup.model.parser_pins = vec![format!("p.wasm={right}").parse().expect("a pin")];
    let server = fixture.start().await;
    fixture.replace("p.wasm", &guest("to_reasoning"));
    let report = server.model.reload_parsers("test").await;
    failed(&report, &right);
    failed(&report, &wrong);
    assert_eq!(kind(server.address).await, "message");
    server.stop().await;
}

/// The shipped parser with other bytes: it has one more custom section.
fn newer_qwen3() -> Vec<u8> {
    let shipped = include_bytes!("../../../plugins/qwen3.wasm");
    [&shipped[..], b"\0\x06\x05newer"].concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn auto_prefers_the_folders_build_to_the_shipped_one() {
    let fixture = Fixture::new("auto");
    // Neither a parser of another model nor one that claims the model but lacks its markers is
    // chosen.
    fixture.replace("claims.wasm", &guest("claims_qwen3"));
    let server = fixture.start().await;
    let report = server.model.parsers();
    assert_eq!((report.serving.name.as_str(), report.serving.source.as_str()), ("qwen3", "qwen3"));
    assert!(report.serving.why.contains("several parsers claim model_type qwen3"), "{}", report.serving.why);
    fixture.replace("q.wasm", &newer_qwen3());
    let report = server.model.reload_parsers("test").await;
    assert_eq!((report.last_load.result, report.serving.name.as_str()), (LoadResult::Swapped, "qwen3"));
    assert_eq!(report.serving.sha256, digest(&newer_qwen3()));
    assert!(report.candidates.iter().all(|looked| looked.source != "qwen3"), "the shipped one isn't asked");
    fixture.replace("q.wasm", b"garbage");
    let report = server.model.reload_parsers("test").await;
    assert_eq!(report.last_load.result, LoadResult::Failed);
    assert_eq!(report.serving.sha256, digest(&newer_qwen3()), "bad now, it serves on as it was");
    std::fs::remove_file(fixture.plugins.join("q.wasm")).expect("removed");
    let report = server.model.reload_parsers("test").await;
    assert_eq!((report.last_load.result, report.serving.source.as_str()), (LoadResult::Swapped, "qwen3"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_file_fails_a_reload_only_if_meant_to_replace() {
    let fixture = Fixture::new("auto");
    let server = fixture.start().await;
    fixture.replace("bad.wasm", b"garbage");
    let report = server.model.reload_parsers("test").await;
    assert_eq!((report.last_load.result, report.last_load.error), (LoadResult::Unchanged, None));
    assert!(report.candidates.iter().any(|candidate| candidate.source.ends_with("bad.wasm")));
    fixture.replace("qwen3.wasm", b"garbage");
    let report = server.model.reload_parsers("test").await;
    assert_eq!(report.last_load.result, LoadResult::Failed, "the shipped qwen3 serves on");
    assert!(report.last_load.error.expect("a reason").contains("qwen3.wasm"));
    assert_eq!(server.model.reload_parsers("test").await.last_load.result, LoadResult::Unchanged);
    fixture.replace("q.wasm", &newer_qwen3());
    let report = server.model.reload_parsers("test").await;
    assert_eq!(report.last_load.result, LoadResult::Swapped);
    assert!(report.candidates.iter().any(|looked| looked.error().is_some()), "still in the list");
    server.stop().await;
}

/// Error of a reload that failed.
async fn failed_reload(server: &TestServer) -> String {
    let answer = post(server.admin, "/admin/parsers/reload", &json!({})).await;
    assert_eq!(answer.status, 409);
    answer.json()["models"][0]["last_load"]["error"].as_str().expect("a reason").to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_reload_says_whether_a_restart_would_fail() {
    let fixture = Fixture::new("p");
    let server = fixture.start().await;
    std::fs::remove_file(fixture.plugins.join("p.wasm")).expect("removed");
    let error = failed_reload(&server).await;
    assert!(error.contains("; a restart would fail now: "), "{error}");
    server.stop().await;
    // By the choice among all, a restart would take the parser inside the binary.
    let mut fixture = Fixture::new("auto");
    fixture.setup.model.parser = None;
    fixture.replace("qwen3.wasm", &std::fs::read("../plugins/qwen3.wasm").expect("it is there"));
    let server = fixture.start().await;
    fixture.replace("qwen3.wasm", b"\0asm, but no more");
    let error = failed_reload(&server).await;
    assert!(!error.contains("a restart would fail"), "{error}");
    server.stop().await;
}
