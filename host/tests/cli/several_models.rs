//! `host serve` with several models: which model a setting is for, and how much of the memory each
//! model gets.

use std::path::Path;

use crate::serve_switches::{Serving, serve};

/// Directory of a model.
const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/models/qwen3-tiny");

/// Arguments that serve the model under these names.
fn models(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("--model={name}={DIRECTORY}")).collect()
}

fn start(names: &[&str], settings: &[&str]) -> Serving {
    let models = models(names);
    Serving::start(serve(
        &models.iter().map(String::as_str).chain(settings.iter().copied()).collect::<Vec<_>>(),
    ))
}

/// Writes a replay file that replays `text`, and returns its engine argument.
fn replay(folder: &Path, text: &str) -> String {
    let file = folder.join("replay.json");
    std::fs::write(&file, format!(r#"{{"rules": [{{"text": "{text}"}}]}}"#)).expect("written");
    format!("replay:{}", file.display())
}

/// Value of a figure of a model's engine.
fn figure(metrics: &str, model: &str, name: &str) -> Option<f64> {
    let series = format!(r#"sluice_{name}{{model_name="{model}"}} "#);
    metrics.lines().find_map(|line| line.strip_prefix(&series)?.parse().ok())
}

#[test]
fn named_setting_is_its_models_and_others_everybodys() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let engine = format!("big={}", replay(folder.path(), "<think>\\nwhy\\n</think>\\n\\nsaid"));
    let settings = ["--context", "100", "--context", "big=50", "--engine", &engine, "--parser", "big=qwen3"];
    let server = start(&["small", "big"], &[&settings[..], &["--served-model-name", "big=large"]].concat());
    let list = server.get("/v1/models");
    let places = ["small", "big", "large"].map(|name| list.find(&format!(r#""id":"{name}""#)));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{list}");
    for (model, length) in [("small", 100), ("big", 50), ("large", 50)] {
        let answer = server.post("/tokenize", &format!(r#"{{"model": "{model}", "prompt": "a"}}"#));
        assert!(answer.contains(&format!(r#""max_model_len":{length},"#)), "{model}: {answer}");
    }
    let body = r#"{"model": "big", "input": "x"}"#;
    let answer = server.post("/v1/responses", body);
    assert!(answer.contains(r#""type":"reasoning""#) && answer.contains(r#""text":"said""#), "{answer}");
}

#[test]
fn kv_cache_is_divided_by_parts_among_models() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let engine = format!("played={}", replay(folder.path(), "x"));
    let all = ["--kv-cache", "8", "--threads", "1", "--engine", &engine];
    let blocks = |share: &[&str]| {
        let metrics = start(&["a", "b", "played"], &[&all[..], share].concat()).get("/metrics");
        assert_eq!(figure(&metrics, "played", "kv_cache_blocks"), Some(0.0), "a script has no cache");
        ["a", "b"].map(|model| figure(&metrics, model, "kv_cache_blocks").expect("an engine"))
    };
    let [a, b] = blocks(&[]);
    assert!(a > 0.0 && (a - b).abs() < 0.5, "{a} and {b}");
    let [three, one] = blocks(&["--kv-share", "a=3"]);
    // Only whole blocks count, so each model may lose a part of one.
    assert!((three - 3.0 * one).abs() < 4.0 && (three + one - a - b).abs() < 3.0, "{three} and {one}");
}

#[test]
fn context_cut_by_the_kv_cache_is_told_with_the_cure() {
    let list_and_log = |kv_cache| {
        let server = start(&["m"], &["--kv-cache", kv_cache, "--threads", "1"]);
        (server.get("/v1/models"), server.log())
    };
    // A block of 16 tokens has 20 KiB: five layers with two heads of 32 keys and values in f16.
    let (list, log) = list_and_log("1");
    assert!(list.contains(r#""max_model_len":816,"context_length":816}"#), "{list}");
    assert!(log.contains("816 of the 4096 tokens") && log.contains("6 MiB would do"), "{log}");
    let (list, log) = list_and_log("6");
    assert!(list.contains(r#""max_model_len":4096,"#), "{list}");
    assert!(!log.contains("context"), "{log}");
}

#[test]
fn a_parsers_options_are_for_its_model() {
    let mut models = models(&["tables", "plain"]);
    models.extend(["--parser", "tables=response-template", "--context", "64"].map(str::to_owned));
    let table = r#"response_template={"defaults": {"role": "assistant"}, "fields": {"content": {"content": "text"}}}"#;
    let with = |option: String| {
        let arguments = [&models[..], &["--parser-option".to_owned(), option]].concat();
        serve(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let output = with(format!("plain={table}")).output().expect("it runs");
    let error = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1), "the table is another's: {error}");
    assert!(error.contains("model tables") && error.contains("response-template"), "{error}");
    Serving::start(with(format!("tables={table}")));
}

#[test]
fn no_step_computes_more_answers_than_allowed() {
    let server = start(&["small", "big"], &["--max-num-seqs", "small=2", "--speculation", "off"]);
    let generated_by_step = |model: &str| {
        let body =
            format!(r#"{{"model": "{model}", "prompt": "Hello", "n": 8, "seed": 1, "max_tokens": 24}}"#);
        let answer = server.post("/v1/completions", &body);
        assert_eq!(answer.matches(r#""finish_reason":""#).count(), 8, "{answer}");
        // The last step counts from when no answer is running; its tokens may be read before.
        let is_at_rest = |metrics: &String| figure(metrics, model, "num_requests_running") == Some(0.0);
        let metrics = std::iter::repeat_with(|| server.get("/metrics")).find(is_at_rest).expect("rest");
        let [steps, tokens] = ["engine_steps_total", "generation_tokens_total"]
            .map(|name| figure(&metrics, model, name).expect("a figure"));
        assert!(tokens >= 8.0, "{metrics}");
        tokens / steps
    };
    // Every token of a step is another answer's.
    assert!(generated_by_step("small") <= 2.0);
    assert!(generated_by_step("big") > 2.0, "the same requests would fill larger steps");
}
