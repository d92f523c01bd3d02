//! Bodies of the benchmark: JSON of about 30 MiB whose parts are as small, as many or as deep as
//! possible.

use std::fmt::Write;

/// Shape of a large body, and how it is sent.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) path: &'static str,
    pub(crate) body: fn() -> Vec<u8>,
    /// Number of concurrent requests.
    pub(crate) at_once: usize,
    /// Whether the last byte of each body is never sent.
    pub(crate) unfinished: bool,
}

/// Approximate size of a body in bytes.
const SIZE: usize = 30 << 20;
const RESPONSES: &str = "/v1/responses";
const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";
const COMPLETIONS: &str = "/v1/completions";

const fn shape(name: &'static str, path: &'static str, body: fn() -> Vec<u8>) -> Shape {
    Shape { name, path, body, at_once: 1, unfinished: false }
}

#[rustfmt::skip] // A row per shape.
pub(crate) const SHAPES: &[Shape] = &[
    shape("tool-enum", RESPONSES, tool_enum),
    Shape { at_once: 4, ..shape("tool-enum-four", RESPONSES, tool_enum) },
    shape("tiny-items", RESPONSES, || array(r#"{"model":"bench","input":"#, r#"{"role":"user","content":"a"}"#, "}")),
    shape("unknown-items", RESPONSES, || array(r#"{"model":"bench","input":"#, r#"{"type":"x"}"#, "}")),
    shape("chat-messages", CHAT, || array(r#"{"model":"bench","messages":"#, r#"{"role":"user","content":"a"}"#, "}")),
    shape("chat-parts", CHAT, || array(r#"{"model":"bench","messages":[{"role":"user","content":"#, r#"{"type":"text","text":""}"#, "}]}")),
    shape("messages-messages", MESSAGES, || array(r#"{"model":"bench","max_tokens":16,"messages":"#, r#"{"role":"user","content":"a"}"#, "}")),
    shape("completions-ids", COMPLETIONS, || array(r#"{"model":"bench","prompt":"#, "1", "}")),
    shape("tokenize-ids", "/tokenize", || array(r#"{"model":"bench","prompt":"#, "1", "}")),
    shape("detokenize-ids", "/detokenize", || array(r#"{"model":"bench","tokens":"#, "1", "}")),
    shape("tokenize-text", "/tokenize", || string(r#"{"model":"bench","prompt":"#, "a b ", "}")),
    shape("unknown-fields", RESPONSES, || object(r#"{"model":"bench","input":"a""#, ",", "0", "}")),
    shape("deep-nesting", RESPONSES, || array(r#"{"model":"bench","input":"#, &nested(), "}")),
    shape("huge-string", RESPONSES, || string(r#"{"model":"bench","input":"#, "a b ", "}")),
    shape("escaped-string", RESPONSES, || string(r#"{"model":"bench","input":"#, r"\u0041", "}")),
    shape("metadata", RESPONSES, || object(r#"{"model":"bench","input":"a","metadata":{"a":"""#, ",", r#""""#, "}}")),
    shape("empty-tools", CHAT, || array(r#"{"model":"bench","messages":[{"role":"user","content":"a"}],"tools":"#, "{}", "}")),
    shape("logit-bias", COMPLETIONS, || object(r#"{"model":"bench","prompt":"a","logit_bias":{"a":0"#, ",", "0", "}}")),
    shape("stop-strings", CHAT, stop_strings),
    Shape { at_once: 40, unfinished: true, ..shape("unfinished-forty", RESPONSES, || string(r#"{"model":"bench","input":"#, "a b ", "}")) },
];

pub(crate) fn mib(bytes: usize) -> f64 {
    f64::from(u32::try_from(bytes >> 10).expect("a body is small")) / 1024.0
}

/// Repeats `text`, with `between` as separator, up to `size` bytes.
fn repeated(text: &str, between: &str, size: usize) -> String {
    let count = size / (text.len() + between.len());
    let mut repeated = (text.to_owned() + between).repeat(count);
    repeated.truncate(repeated.len() - between.len());
    repeated
}

fn array(before: &str, element: &str, after: &str) -> Vec<u8> {
    format!("{before}[{}]{after}", repeated(element, ",", SIZE)).into_bytes()
}

fn string(before: &str, text: &str, after: &str) -> Vec<u8> {
    format!("{before}\"{}\"{after}", repeated(text, "", SIZE)).into_bytes()
}

/// Object with fields whose names are numbers, all different.
fn object(before: &str, between: &str, value: &str, after: &str) -> Vec<u8> {
    let mut body = before.to_owned();
    for number in 0.. {
        if body.len() > SIZE {
            break;
        }
        write!(body, "{between}\"{number}\":{value}").expect("a string can be written");
    }
    (body + after).into_bytes()
}

/// Nested lists, a little less deep than the maximum that the server reads.
fn nested() -> String {
    "[".repeat(60) + &"]".repeat(60)
}

fn tool_enum() -> Vec<u8> {
    array(
        r#"{"model":"bench","input":"a","tools":[{"type":"function","name":"f","parameters":{"enum":"#,
        "{}",
        "}}]}",
    )
}

fn stop_strings() -> Vec<u8> {
    let stops: Vec<String> =
        (0..16).map(|number| format!("\"{number} {}\"", repeated("stop", "", SIZE / 16))).collect();
    let stops = stops.join(",");
    let messages = r#"[{"role":"user","content":"a"}]"#;
    format!(r#"{{"model":"bench","messages":{messages},"n":16,"stop":[{stops}]}}"#).into_bytes()
}
