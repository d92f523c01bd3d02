//! Logs of `host serve`: the level that a switch sets, what probes leave in them, and JSON whose
//! numbers are numbers.

use serde_json::Value;

use crate::serve_switches::{Serving, serve};

/// Log of a server that was asked for its health and its version, whose environment asks for
/// warnings.
fn log(arguments: &[&str]) -> String {
    let server = Serving::start(serve(&[&["--seal-key", "none"], arguments].concat()));
    for path in ["/health", "/version"] {
        assert!(server.get(path).starts_with("HTTP/1.1 200"), "{path}");
    }
    server.log_to_the_end()
}

/// Levels of the lines on requests to this route.
fn levels<'a>(log: &'a str, route: &str) -> Vec<&'a str> {
    let route = format!("route={route} ");
    let lines = log.lines().filter(|line| line.contains(&route));
    lines.filter_map(|line| line.split_whitespace().nth(1)).collect()
}

#[test]
fn log_level_switch_counts_more_than_the_environment() {
    let none: [&str; 0] = [];
    for (arguments, health, version) in [
        (&[][..], &none[..], &none[..]),
        (&["--log-level", "error"], &none, &none),
        (&["--log-level", "warn"], &none, &none),
        (&["--log-level", "info"], &none, &["INFO"]),
        (&["--log-level", "debug"], &["DEBUG"], &["INFO"]),
        (&["--log-level", "trace"], &["DEBUG"], &["INFO"]),
    ] {
        let log = log(arguments);
        assert_eq!(
            (&*levels(&log, "/health"), &*levels(&log, "/version")),
            (health, version),
            "{arguments:?}: {log}"
        );
    }
}

/// Whether no string in a line's value is a number.
fn has_no_number_as_text(value: &Value) -> bool {
    match value {
        Value::String(text) => text.parse::<f64>().is_err(),
        Value::Array(values) => values.iter().all(has_no_number_as_text),
        Value::Object(fields) => fields.values().all(has_no_number_as_text),
        _ => true,
    }
}

#[test]
fn numbers_are_numbers_in_json() {
    let server = Serving::start(serve(&["--seal-key", "none", "--log-json", "--log-level", "trace"]));
    for body in
        [r#"{"model": "qwen3-tiny", "input": "Hi", "max_output_tokens": 3}"#, "{", r#"{"input": 1, "x": 2}"#]
    {
        server.post("/v1/responses", body);
    }
    server.get("/health");
    let log = server.log_to_the_end();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    for line in &lines {
        assert!(has_no_number_as_text(line), "{line}");
    }
    let answered: Vec<_> = lines.iter().filter(|line| line["fields"]["message"] == "answered").collect();
    let statuses: Vec<_> = answered.iter().map(|line| line["fields"]["status"].as_u64()).collect();
    assert_eq!(statuses, [Some(200), Some(400), Some(400), Some(200)], "{log}");
    assert!(answered.iter().all(|line| line["fields"]["ms"].is_u64()), "{log}");
}
