//! Formats that are derived from templates of our own: what is inferred is kept in files beside the
//! templates, which `UPDATE_EXPECT=1` rewrites.

use std::path::{Path, PathBuf};

use fit::{Delimiters, Underived, derive};
use model::TemplateFiles;
use serde_json::{Value, json};
use system::CpuBudget;

const OBJECTS: &str = include_str!("derive/objects.jinja");
const PAIRS: &str = include_str!("derive/pairs.jinja");
const STRIPPED: &str = include_str!("derive/stripped.jinja");

fn files(template: &str) -> TemplateFiles {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/qwen3-tiny");
    TemplateFiles::read(model.to_str().expect("UTF-8"), Some(template.to_owned())).expect("a model")
}

/// 150 probes of a template that loops took 12 minutes.
#[test]
fn all_renderings_of_a_run_share_one_bound_of_time() {
    let endless = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
    let rendering = CpuBudget::new(std::time::Duration::from_millis(100));
    let files = TemplateFiles { rendering, ..files(endless) };
    let Err(Underived::Unusable(reason)) = derive(&files, None) else { panic!("derived") };
    assert!(reason.contains("takes more than 100 ms of CPU time for all probes together"), "{reason}");
}

/// The format and the table as JSON.
fn derived(template: &str) -> Value {
    let derived = derive(&files(template), None).expect("derived");
    let table = derived.table.unwrap_or_else(|reason| json!({ "none": reason }));
    json!({ "format": derived.format, "table": table })
}

/// The probe that a template is refused for, and the reason.
fn refused(template: &str) -> (String, String) {
    match derive(&files(template), None) {
        Err(Underived::Refused(refusal)) => (refusal.probe, refusal.reason),
        other => panic!("not refused: {other:?}"),
    }
}

fn mutant(template: &str, from: &str, to: &str) -> String {
    assert!(template.contains(from), "{from}");
    template.replace(from, to)
}

#[test]
fn twins_give_their_formats_and_tables() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/derive");
    let mut twins: Vec<PathBuf> =
        folder.read_dir().expect("a folder").map(|entry| entry.expect("one").path()).collect();
    twins.retain(|path| path.extension().is_some_and(|extension| extension == "jinja"));
    assert_eq!(twins.len(), 11);
    for twin in twins {
        let actual = derived(&std::fs::read_to_string(&twin).expect("read"));
        let golden = twin.with_extension("json");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            let text = serde_json::to_string_pretty(&actual).expect("JSON") + "\n";
            std::fs::write(&golden, text).expect("written");
        }
        let expected = std::fs::read_to_string(&golden).expect("a golden");
        let expected: Value = serde_json::from_str(&expected).expect("JSON");
        assert_eq!(actual, expected, "{}", twin.display());
    }
}

#[test]
fn mutants_fail_a_named_probe() {
    let call = "for call in message.tool_calls";
    let value = "value if value is string else value|tojson";
    for (what, template, from, to, probe, reason) in [
        (
            "delimiter",
            OBJECTS,
            "</call>{% endfor %}",
            "</{{ 'call' if loop.length < 3 else 'calls' }}>{% endfor %}",
            "three-calls",
            "stands",
        ),
        ("type", PAIRS, value, "value if value is string else value", "nested", "nested typed values"),
        (
            "order",
            OBJECTS,
            call,
            "for call in (message.tool_calls or [])|reverse",
            "two-tools",
            "several calls vanish",
        ),
        (
            "lost call",
            OBJECTS,
            call,
            "for call in (message.tool_calls or [])[:1]",
            "two-tools",
            "several calls vanish",
        ),
        (
            "lost third call",
            OBJECTS,
            call,
            "for call in (message.tool_calls or [])[:2]",
            "three-calls",
            "several calls vanish",
        ),
    ] {
        let (named, why) = refused(&mutant(template, from, to));
        assert_eq!(named, probe, "{what}: {why}");
        assert!(why.contains(reason), "{what}: {why}");
    }
}

#[test]
fn refusals_name_probe_and_reason() {
    let value = "{{ value if value is string else value|tojson }}";
    let key = "<arg_key>{{ key }}</arg_key>\n<arg_value>";
    for (what, template, probe, reason) in [
        (
            "no calls",
            mutant(OBJECTS, "for call in message.tool_calls", "for call in []"),
            "one-argument",
            "calls are never shown",
        ),
        ("no text", mutant(OBJECTS, "{{ message.content }}", ""), "text", "text is never shown"),
        (
            "keys as tags",
            mutant(&mutant(PAIRS, key, "<{{ key }}>"), "</arg_value>", "</{{ key }}>"),
            "one-argument",
            "keys as tag names",
        ),
        (
            "content decides",
            mutant(
                PAIRS,
                value,
                "{{ '<![CDATA[' ~ value ~ ']]>' if value is string and '&' in value else value if value is string else value|tojson }}",
            ),
            "markup",
            "encoding by content",
        ),
        (
            "nested",
            mutant(PAIRS, value, "{{ value if value is string else value|string }}"),
            "nested",
            "nested typed values",
        ),
        (
            "reasoning",
            mutant(STRIPPED, "message.content.split('</think>')[-1]", "message.content"),
            "reasoning-text",
            "markup never rendered",
        ),
    ] {
        let (named, why) = refused(&template);
        assert_eq!(named, probe, "{what}: {why}");
        assert!(why.contains(reason), "{what}: {why}");
    }
}

#[test]
fn trimmed_values_leave_the_format_as_it_is() {
    let trimmed = mutant(PAIRS, "value if value is string", "value|trim if value is string");
    assert_eq!(derived(&trimmed)["format"], derived(PAIRS)["format"]);
}

#[test]
fn given_reasoning_is_assumed() {
    let template = mutant(STRIPPED, "message.content.split('</think>')[-1]", "message.content");
    let given = Delimiters { open: "<think>".to_owned(), close: "</think>".to_owned() };
    let derived = derive(&files(&template), Some(given)).expect("derived");
    let reasoning = serde_json::to_value(derived.format.reasoning).expect("JSON");
    assert_eq!(reasoning, json!({ "open": "<think>", "close": "</think>", "confidence": "assumed" }));
    let field = &derived.table.expect("a table")["response_template"]["fields"]["reasoning_content"];
    assert_eq!(field["close_pattern"], "</think>");
}

#[test]
fn a_format_that_tables_lack_says_why() {
    let bare = derived(include_str!("derive/brackets.jinja"));
    assert_eq!(bare["table"]["none"], "a call has no end of its own");
}
