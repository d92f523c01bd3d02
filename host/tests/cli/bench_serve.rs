//! `host bench serve` against a real server, and against one that fails: every token and every
//! failure is counted. The tests check no times.

use std::collections::HashMap;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

use crate::bench_model::rows;
use crate::scripted_server::scripted;
use crate::serve_switches::{Serving, serve};

type Row = HashMap<String, String>;

/// Finished load: output of the command, and its rows.
struct Loaded {
    output: Output,
    rows: Vec<Row>,
}

fn load(url: &str, arguments: &[&str]) -> Loaded {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (csv, svg) = (folder.path().join("rows.csv"), folder.path().join("plot.svg"));
    let output = Command::new(env!("CARGO_BIN_EXE_host"))
        .args(["bench", "serve", "--url", url])
        .args(arguments)
        .args([Path::new("--csv"), &csv, Path::new("--svg"), &svg])
        .output()
        .expect("the binary runs");
    let plot = std::fs::read_to_string(svg).expect("a plot");
    if plot.is_empty() {
        return Loaded { output, rows: Vec::new() }; // The load never began.
    }
    assert!(plot.starts_with("<svg ") && plot.ends_with("</svg>\n"), "{plot}");
    Loaded { output, rows: rows(&csv) }
}

impl Loaded {
    fn answered(url: &str, arguments: &[&str]) -> Self {
        let loaded = load(url, arguments);
        assert!(loaded.output.status.success(), "{arguments:?}: {}", loaded.said());
        loaded
    }

    fn said(&self) -> String {
        let Output { stdout, stderr, .. } = &self.output;
        [stdout, stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
    }

    fn counts(&self, column: &str) -> Vec<u64> {
        self.rows.iter().map(|row| row[column].parse().expect("a number")).collect()
    }

    fn sums(&self) -> [u64; 3] {
        ["prompt_tokens", "cached_tokens", "output_tokens"].map(|column| self.counts(column).iter().sum())
    }
}

fn server(arguments: &[&str]) -> Serving {
    Serving::start(serve(&[&["--threads", "1", "--kv-cache", "64"], arguments].concat()))
}

/// Numbers of tokens as the server's engine counts them: of prompts, cached, generated.
fn engine(server: &Serving) -> [u64; 3] {
    let metrics = server.get("/metrics");
    ["prefix_cache_queries", "prefix_cache_hits", "generation_tokens"].map(|figure| {
        let series = format!(r#"sluice_{figure}_total{{model_name="qwen3-tiny"}} "#);
        let value = metrics.lines().find_map(|line| line.strip_prefix(&series)?.parse().ok());
        value.unwrap_or_else(|| panic!("{figure}: {metrics}"))
    })
}

/// Checks that the engine has counted `sums` since `before`, and returns its counts. The engine
/// counts a step's tokens after the step, when the client may have them already, so it is asked
/// repeatedly for a while.
fn assert_counted(server: &Serving, before: [u64; 3], sums: [u64; 3]) -> [u64; 3] {
    let since = |now: [u64; 3]| [now[0] - before[0], now[1] - before[1], now[2] - before[2]];
    let asked = std::iter::repeat_with(|| engine(server)).take(1000);
    let now = asked.into_iter().find(|now| since(*now) == sums).unwrap_or_else(|| engine(server));
    assert_eq!(since(now), sums, "prompt tokens, cached, generated: the engine's and the client's");
    now
}

/// Number of tokens in whole blocks before the last token of a prompt, which is computed in any
/// case.
fn whole_blocks(prompt: u64) -> u64 {
    (prompt - 1) / 16 * 16
}

#[test]
fn every_api_counts_the_tokens_that_the_engine_counts() {
    let server = server(&[]);
    let url = server.url();
    let mut before = engine(&server);
    for api in ["chat", "responses", "completions"] {
        let sizes = ["--input-len", "20", "--output-len", "9", "--seed", "5"];
        for (load, requests) in [
            (&["--num-prompts", "12", "--max-concurrency", "3"][..], 12),
            (&["--num-prompts", "12", "--request-rate", "500"], 12),
            (&["--conversations", "3", "--grow-to", "600", "--system-len", "30"], 0),
        ] {
            let loaded = Loaded::answered(&url, &[&["--api", api][..], &sizes, load].concat());
            assert!(loaded.rows.iter().all(|row| row["result"] == "ok"), "{api}: {}", loaded.said());
            assert!(requests == 0 || loaded.rows.len() == requests, "{api}: {}", loaded.said());
            assert!(loaded.counts("output_tokens").iter().all(|tokens| (1..=9).contains(tokens)), "{api}");
            let events = loaded.counts("events").into_iter().zip(loaded.counts("output_tokens"));
            assert!(
                events.into_iter().all(|(events, tokens)| events <= tokens),
                "{api}: an event has a token"
            );
            before = assert_counted(&server, before, loaded.sums());
        }
    }
}

#[test]
fn prompts_seen_before_are_found_whole_in_the_cache() {
    let server = server(&[]);
    let arguments =
        ["--num-prompts", "6", "--max-concurrency", "1", "--input-len", "25", "--output-len", "4"];
    let first = Loaded::answered(&server.url(), &arguments);
    assert_eq!(first.counts("turn"), [0, 1, 2, 3, 4, 5]);
    let second = Loaded::answered(&server.url(), &arguments);
    let prompts = second.counts("prompt_tokens");
    assert_eq!(prompts, first.counts("prompt_tokens"), "a seed says the same words");
    assert_eq!(second.counts("cached_tokens"), prompts.iter().map(|p| whole_blocks(*p)).collect::<Vec<_>>());
    let other = Loaded::answered(&server.url(), &[&arguments[..], &["--seed", "1"]].concat());
    assert!(other.counts("cached_tokens").iter().all(|cached| *cached <= 32), "others have other words");
}

#[test]
fn conversations_say_the_same_with_or_without_cache() {
    let arguments = [
        "--conversations",
        "1",
        "--grow-to",
        "900",
        "--system-len",
        "40",
        "--input-len",
        "15",
        "--output-len",
        "6",
    ];
    let with = Loaded::answered(&server(&[]).url(), &arguments);
    let without = Loaded::answered(&server(&["--no-enable-prefix-caching"]).url(), &arguments);
    for column in ["turn", "prompt_tokens", "output_tokens"] {
        assert_eq!(with.counts(column), without.counts(column), "{column}");
    }
    assert_eq!(without.sums()[1], 0);
    let (prompts, cached) = (with.counts("prompt_tokens"), with.counts("cached_tokens"));
    let turns = prompts.len();
    assert!(turns > 3, "{prompts:?}");
    assert_eq!(with.counts("turn"), (0..turns as u64).collect::<Vec<_>>());
    let ends: Vec<bool> = prompts
        .iter()
        .zip(with.counts("output_tokens"))
        .map(|(prompt, output)| prompt + output >= 900)
        .collect();
    assert_eq!(
        ends.iter().position(|end| *end),
        Some(turns - 1),
        "the first turn that is long enough is the last"
    );
    assert_eq!(cached[0], 0);
    for turn in 1..turns {
        // The prompt of the turn before ends with an answer's opening, which comes again; the
        // answer's own text may be tokenised differently.
        let (least, most) = (whole_blocks(prompts[turn - 1] - 16), whole_blocks(prompts[turn]));
        assert!(
            (least..=most).contains(&cached[turn]) && cached[turn] % 16 == 0,
            "turn {turn}: {cached:?} of {prompts:?}"
        );
    }
    let [all, hits, _] = with.sums();
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let rate = format!("({hits} cached, {:.1} %)", 100.0 * hits as f64 / all as f64);
    assert!(with.said().contains(&rate), "{rate}: {}", with.said());
    assert!(with.said().lines().any(|line| line.starts_with(&format!("{turns} "))), "{}", with.said());
}

#[test]
fn random_weights_are_served_only_with_a_tokenizer() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/qwen3-tiny");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let copy = |file: &str| std::fs::copy(source.join(file), folder.path().join(file)).expect("copied");
    let model = format!("--model={}", folder.path().display());
    let arguments = [model.as_str(), "--load-format", "dummy", "--served-model-name", "qwen3-tiny"];
    copy("config.json");
    let output = serve(&arguments).output().expect("it ends");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("tokenizer.json") && error.trim_end().lines().count() == 1, "{error}");
    for file in ["tokenizer.json", "tokenizer_config.json", "chat_template.jinja"] {
        copy(file);
    }
    let server = server(&arguments);
    let loaded =
        Loaded::answered(&server.url(), &["--num-prompts", "3", "--output-len", "5", "--input-len", "9"]);
    assert_counted(&server, [0; 3], loaded.sums());
}

fn failing(answers: &[&str]) -> String {
    scripted(answers.iter().map(|answer| (*answer).to_owned()).collect()).0
}

const BUSY: &str = "HTTP/1.1 429 Too Many Requests\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
const GOOD: &str = concat!(
    "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n",
);
const CUT: &str = concat!(
    "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
);
const FAILED: &str = concat!(
    "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n",
    "data: {\"error\":{\"message\":\"secret words\"}}\n\n",
);
const NONSENSE: &str =
    "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\ndata: secret words\n\n";

#[test]
fn failures_are_counted_by_kind_beside_answers() {
    let url = failing(&[GOOD, BUSY, CUT, FAILED, NONSENSE, BUSY]);
    let loaded = Loaded::answered(&url, &["--model", "m", "--num-prompts", "12", "--max-concurrency", "1"]);
    let results: Vec<&str> = loaded.rows.iter().map(|row| row["result"].as_str()).collect();
    let once = ["ok", "status 429", "cut off", "failed answer", "malformed event", "status 429"];
    assert_eq!(results, [once, once].concat());
    let said = loaded.said();
    for part in [
        "2 of 12 requests",
        "4 × status 429",
        "2 × cut off",
        "2 × failed answer",
        "2 × malformed event",
        "14 of prompts",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("secret"), "{said}");
}

#[test]
fn where_nothing_is_answered_the_command_fails() {
    let busy = failing(&[BUSY]);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let gone = format!("http://{}", listener.local_addr().expect("bound"));
    drop(listener);
    let single = ["--num-prompts", "5", "--max-concurrency", "2"];
    let conversations = ["--conversations", "5"];
    for (url, kind) in [(&busy, "status 429"), (&gone, "no connection")] {
        for load_of in [&single[..], &conversations] {
            let loaded = load(url, &[&["--model", "m"][..], load_of].concat());
            assert_eq!(loaded.output.status.code(), Some(1), "{}", loaded.said());
            let error = String::from_utf8_lossy(&loaded.output.stderr);
            assert_eq!(error, format!("error: no request was answered: 5 × {kind}\n"));
            assert!(loaded.rows.len() == 5 && loaded.rows.iter().all(|row| row["result"] == kind));
        }
        let output = load(url, &single).output;
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1));
        assert!(
            error.starts_with("error: /v1/models of the server: ") && error.contains("--model"),
            "{error}"
        );
    }
}
