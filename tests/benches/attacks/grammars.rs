//! Grammars, schemas and patterns that take much for their size. Each is the first request of a
//! server whose vocabulary is ready.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tests::post;
use tests::process::ServerProcess;

use super::model;
use super::row::{Bars, Row, deadline};

const BARS: Bars = Bars { cpu: Duration::from_secs(1), peak_mib: 64.0, kept_mib: 64.0 };
/// Bars of all shapes one after the other in one server.
const TOGETHER: Bars = Bars { cpu: Duration::MAX, peak_mib: 320.0, kept_mib: 256.0 };
/// Rules of a grammar of which all may come next.
const RULES: usize = 500;
const PATH: &str = "/v1/chat/completions";

/// Runs the asked attacks over a vocabulary of this many tokens, each against a server of its own,
/// and then all against one.
pub(crate) fn run(words: usize, is_asked: &impl Fn(&str) -> bool) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    model::write(folder.path(), words);
    let shapes: Vec<_> = shapes()
        .into_iter()
        .map(|(name, form)| (format!("{name}, {}k", words / 1000), form))
        .filter(|(name, _)| is_asked(name))
        .collect();
    for (name, form) in &shapes {
        let server = start(folder.path());
        Row::measure(&server, || send(&server, form)).print(name, BARS);
    }
    let together = [
        ("all grammars", shapes.into_iter().map(|(_, form)| form).collect()),
        ("16 lexers that grow to their limit", long_choices()),
        ("16 parsers with many items", wide_rules()),
    ];
    for (name, forms) in together {
        let name = format!("{name}, {}k", words / 1000);
        if is_asked(&name) {
            let forms: Vec<Value> = forms;
            let server = start(folder.path());
            let attack = || forms.iter().flat_map(|form| send(&server, form)).collect();
            Row::measure(&server, attack).print(&name, TOGETHER);
        }
    }
}

/// Choices of one long text, each with a lexer that grows with every token.
fn long_choices() -> Vec<Value> {
    let text = "x".repeat(60_000);
    (0..16).map(|at| json!({"guided_choice": [format!("{at} {text}")], "max_tokens": 60})).collect()
}

/// Grammars of hundreds of rules that may all come next.
fn wide_rules() -> Vec<Value> {
    let names: Vec<_> = (0..RULES).map(|rule| format!("r{rule}")).collect();
    let (any, rules) = (names.join(" | "), names.join(": C\n"));
    let form = |at| format!("start: \"{at}\" ({any})+\n{rules}: C\nC: /[a-z ]/\n");
    (0..16).map(|at| json!({"guided_grammar": form(at), "max_tokens": 400})).collect()
}

/// A server that has answered one constrained request, so that its vocabulary and its sandbox are
/// ready.
fn start(model: &std::path::Path) -> ServerProcess {
    let model = model.to_str().expect("UTF-8");
    let server = ServerProcess::start_with_engine(
        "local",
        &["--model", model, "--load-format", "dummy", "--parser", "qwen3.wasm"],
    );
    let answers = send(&server, &json!({"guided_regex": "[a-z]"}));
    assert_eq!(answers, [Ok(200)], "the server constrains answers");
    server
}

/// Asks for two tokens in this form.
fn send(server: &ServerProcess, form: &Value) -> Vec<post::Answer> {
    let mut body = json!({"model": "bench", "max_tokens": 2, "messages": [{"role": "user", "content": "Hi"}],
        "chat_template_kwargs": {"enable_thinking": false}});
    let fields = body.as_object_mut().expect("an object");
    fields.extend(form.as_object().expect("fields").clone());
    post::post(server.address, PATH, body.to_string().as_bytes(), 1, deadline())
}

fn lark(text: impl Into<String>) -> Value {
    json!({"guided_grammar": text.into()})
}

fn regex(text: impl Into<String>) -> Value {
    json!({"guided_regex": text.into()})
}

fn schema(schema: &Value) -> Value {
    json!({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "strict": true, "schema": schema}}})
}

/// Rules or terminals that lead to each other: `link(0)`, `link(1)`, …
fn chain(length: usize, name: char, link: impl Fn(usize) -> String) -> Value {
    let links = (0..length).map(|at| format!("{name}{at}: {}\n", link(at)));
    lark(format!("start: {name}0\n{}{name}{length}: \"a\"\n", links.collect::<String>()))
}

/// Definitions that lead to each other.
fn references(length: usize, wrap: impl Fn(Value) -> Value) -> Value {
    let next = |at: usize| json!({"$ref": format!("#/$defs/d{at}")});
    let mut definitions: Map<_, _> = (0..length).map(|at| (format!("d{at}"), wrap(next(at + 1)))).collect();
    definitions.insert(format!("d{length}"), json!({"type": "string"}));
    schema(&json!({"$ref": "#/$defs/d0", "$defs": definitions}))
}

fn keys(count: usize, value: impl Fn(usize) -> Value) -> Value {
    (0..count).map(|at| (format!("k{at}"), value(at))).collect::<Map<_, _>>().into()
}

fn properties(count: usize, value: &Value) -> Value {
    json!({"type": "object", "properties": keys(count, |_| value.clone()), "additionalProperties": false})
}

/// A tool as honest clients declare it, for comparison.
fn tool(number: usize) -> Value {
    let fields = keys(12, |at| match at % 3 {
        0 => json!({"enum": ["celsius", "fahrenheit", "kelvin"]}),
        _ => json!({"type": ["string", "null"], "description": "One of the fields that tools have."}),
    });
    json!({"type": "function", "function": {"name": format!("tool_{number}"), "strict": true,
        "parameters": {"type": "object", "properties": fields, "required": ["k0"], "additionalProperties": false}}})
}

fn shapes() -> Vec<(&'static str, Value)> {
    let joined = |count: usize, between: &str, part: &dyn Fn(usize) -> String| {
        (0..count).map(part).collect::<Vec<_>>().join(between)
    };
    let strict = |form: &Value| {
        let schema = form["response_format"]["json_schema"]["schema"].clone();
        json!({"tools": [{"type": "function", "function": {"name": "f", "strict": true, "parameters":
            {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": schema["$defs"]}}}]})
    };
    let plain = |next| json!({"allOf": [next]});
    vec![
        ("usual: 3 strict tools", json!({"tools": [tool(0), tool(1), tool(2)]})),
        ("usual: 8 strict tools", json!({"tools": (0..8).map(tool).collect::<Vec<_>>()})),
        ("700 rules in a chain", chain(700, 'r', |at| format!("r{}", at + 1))),
        ("3,000 rules in a chain", chain(3000, 'r', |at| format!("r{}", at + 1))),
        ("2,500 optional rules in a chain", chain(2500, 'r', |at| format!("r{}?", at + 1))),
        ("3,000 terminals in a chain", chain(3000, 'T', |at| format!("T{}", at + 1))),
        ("24 terminals, each twice in the next", chain(24, 'T', |at| format!("T{0} T{0}", at + 1))),
        ("1,000 references through allOf", references(1000, plain)),
        ("1,000 references through items", references(1000, |next| json!({"type": "array", "items": next}))),
        ("1,000 references through references", references(1000, |next| next)),
        ("1,000 references, a strict tool", strict(&references(1000, plain))),
        ("a reference to itself", schema(&json!({"$ref": "#"}))),
        ("a constant of 6,618 keys", schema(&json!({"const": keys(6618, |at| json!(at))}))),
        ("an enumeration of 6,618 keys", schema(&json!({"enum": [keys(6618, |at| json!(at))]}))),
        ("6,500 optional strings", schema(&properties(6500, &json!({"type": "string"})))),
        ("6,200 optional properties of any kind", schema(&properties(6200, &json!({})))),
        (
            "3,000 alternatives",
            schema(&json!({"anyOf": (0..3000).map(|at| json!({"type": "object",
            "properties": {format!("k{at}"): {"type": "string"}}, "required": [format!("k{at}")]})).collect::<Vec<_>>()})),
        ),
        ("multiples of 99,991", schema(&json!({"type": "integer", "multipleOf": 99_991}))),
        (
            "50 patterns at once",
            schema(&json!({"allOf": (0..50).map(|at| json!({"type": "string",
            "pattern": format!("x{at}")})).collect::<Vec<_>>()})),
        ),
        ("a? 3,000 times", regex("a?".repeat(3000))),
        ("a? 30,000 times", regex("a?".repeat(30_000))),
        ("a* 16,000 times", regex("a*".repeat(16_000))),
        ("a? 30,000 times, in Lark", lark(format!("start: /{}/\n", "a?".repeat(30_000)))),
        (
            "60 expressions in an intersection",
            lark(format!("start: A\nA: {}\n", joined(60, " & ", &|at| format!("/(.*x{at}.*)/")))),
        ),
        ("6,000 words", regex(joined(6000, "|", &|at| format!("w{at}x")))),
        ("a letter of any script 3,000 times", regex(r"\w".repeat(3000))),
        ("a choice of 60,000 characters", json!({"guided_choice": ["x".repeat(60_000)]})),
        (
            "a prompt that doesn't fit, a? 3,000 times",
            json!({"guided_regex": "a?".repeat(3001),
            "messages": [{"role": "user", "content": "word ".repeat(40_000)}]}),
        ),
    ]
}
