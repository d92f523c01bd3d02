//! Spans, and their encoding in OTLP's JSON.

use serde_json::{Value, json};

/// Kind of a span, as OTLP numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A part of another span.
    Internal = 1,
    /// Work that another process asked for.
    Server = 2,
    /// Work that is asked of another process.
    Client = 3,
}

/// A span that has ended.
#[derive(Debug)]
pub(crate) struct Span {
    pub(crate) trace_id: String,
    pub(crate) id: String,
    pub(crate) parent: Option<String>,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Nanoseconds since 1970.
    pub(crate) began: u64,
    pub(crate) ended: u64,
    pub(crate) attributes: Vec<(&'static str, Attribute)>,
    /// Whether the work failed.
    pub(crate) failed: bool,
}

/// Value of an attribute.
#[derive(Debug)]
pub(crate) enum Attribute {
    Text(String),
    Number(i64),
    Fraction(f64),
    List(Vec<&'static str>),
}

impl From<&str> for Attribute {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Attribute {
    /// OTLP's JSON writes integers of 64 bits as text.
    fn json(&self) -> Value {
        match self {
            Self::Text(text) => json!({ "stringValue": text }),
            Self::Number(number) => json!({ "intValue": number.to_string() }),
            Self::Fraction(number) => json!({ "doubleValue": number }),
            Self::List(words) => {
                let values: Vec<Value> = words.iter().map(|word| json!({ "stringValue": word })).collect();
                json!({ "arrayValue": { "values": values } })
            }
        }
    }
}

impl Span {
    fn json(&self) -> Value {
        let mut span = json!({
            "traceId": self.trace_id,
            "spanId": self.id,
            "name": self.name,
            "kind": self.kind as u8,
            "startTimeUnixNano": self.began.to_string(),
            "endTimeUnixNano": self.ended.to_string(),
            "attributes": attributes(&self.attributes),
            "status": if self.failed { json!({ "code": 2 }) } else { json!({}) },
        });
        if let Some(parent) = &self.parent {
            span["parentSpanId"] = json!(parent);
        }
        span
    }
}

fn attributes(all: &[(&'static str, Attribute)]) -> Vec<Value> {
    all.iter().map(|(key, value)| json!({ "key": key, "value": value.json() })).collect()
}

/// Body of a request that exports spans.
pub(crate) fn export_request(spans: &[Span]) -> Vec<u8> {
    let (name, version) = ("sluice", env!("CARGO_PKG_VERSION"));
    let resource = [("service.name", name.into()), ("service.version", version.into())];
    let spans: Vec<Value> = spans.iter().map(Span::json).collect();
    let body = json!({ "resourceSpans": [{
        "resource": { "attributes": attributes(&resource) },
        "scopeSpans": [{ "scope": { "name": name, "version": version }, "spans": spans }],
    }] });
    body.to_string().into_bytes()
}
