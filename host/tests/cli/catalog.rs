//! What a server tells Codex of its models.

use serde_json::{Value, json};

use crate::commands::model;
use crate::run::Scripted;
use crate::serve_switches::{Serving, serve, text};

fn list(server: &Serving, path: &str) -> Value {
    let answer = server.get(path);
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str(body).expect("JSON")
}

/// Names of an entry's levels, and the one that counts without a choice.
fn levels(entry: &Value) -> (Vec<&str>, &str) {
    let levels = entry["supported_reasoning_levels"].as_array().expect("a list");
    let names = levels.iter().filter_map(|level| level["effort"].as_str()).collect();
    (names, entry["default_reasoning_level"].as_str().expect("a level"))
}

#[test]
fn codex_gets_a_catalog_beside_the_list() {
    let (own, other) = (model("model.safetensors"), model("model.safetensors"));
    let written = "{{ reasoning_effort or 'medium' }}{% for m in messages %}{{ m.content }}{% endfor %}";
    std::fs::write(other.path().join("chat_template.jinja"), written).expect("written");
    let models = [format!("--model=a={}", text(own.path())), format!("--model=b={}", text(other.path()))];
    let engine = Scripted::new(r#"[{"text": "x"}]"#);
    let switches = ["--served-model-name=b=c", "--context=a=1000", "--context=b=2000", "--parser=b=qwen3"];
    let server = Serving::start(serve(
        &[&[&*models[0], &*models[1], "--engine", &engine.engine()], &switches[..]].concat(),
    ));
    let plain = list(&server, "/v1/models");
    let with = list(&server, "/v1/models?client_version=0.171.0");
    assert_eq!((plain.get("models"), &with["data"]), (None, &plain["data"]));
    let entries = with["models"].as_array().expect("a list");
    let facts = |entry: &Value| json!([entry["slug"], entry["context_window"], entry["priority"]]);
    let shown: Vec<_> = entries.iter().map(facts).collect();
    assert_eq!(shown, [json!(["a", 1000, 0]), json!(["b", 2000, 1]), json!(["c", 2000, 2])]);
    assert_eq!(levels(&entries[0]), (vec!["none", "medium"], "medium"));
    assert_eq!(levels(&entries[1]), (vec!["low", "medium", "high"], "medium"));
    assert!(entries.iter().all(|entry| entry["apply_patch_tool_type"] == "freeform"));
}

#[test]
fn an_effort_with_a_bound_of_its_own_is_a_level() {
    let budgets = ["--reasoning-budget", "high=9", "--reasoning-budget", "default=5"];
    let server = Serving::start(serve(&budgets));
    let with = list(&server, "/v1/models?client_version=1");
    let entry = &with["models"][0];
    assert_eq!(levels(entry), (vec!["none", "medium", "high"], "medium"));
    let bound = |at: usize| entry["supported_reasoning_levels"][at]["description"].as_str();
    assert_eq!(bound(1), Some("At most 5 tokens of reasoning"));
    assert_eq!(bound(2), Some("At most 9 tokens of reasoning"));
}
