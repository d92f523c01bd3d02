//! The tables of fields agree with the readers: requests with the fields that the tables promise
//! are sent to the readers of bodies.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{ENDPOINTS, document};
use crate::fields::{self, Row, Shape, Support, Tables};
use crate::ids::{Clock, Ids};
use crate::json::JsonObject;
use crate::request::{Defaults, read_body};
use crate::{chat, completions, conversations, error::ApiError, messages, responses, tokenize};

/// Reads a body: returns the warnings, or the refusal.
type Read = fn(&[u8]) -> Result<Vec<String>, ApiError>;

struct Reader {
    path: &'static str,
    tables: Tables,
    /// A body that is accepted, with the fields that other fields depend on.
    base: fn() -> Value,
    read: Read,
}

/// Calls `read` with the opened body and default settings.
fn read<T>(
    body: &[u8],
    read: impl FnOnce(&JsonObject<'_>, &Defaults) -> Result<T, ApiError>,
) -> Result<T, ApiError> {
    let defaults = Defaults::default();
    read_body(body, &defaults.limits, |body| read(body, &defaults))
}

macro_rules! reader {
    ($protocol:ident) => {
        |body| {
            let call =
                read(body, |body, defaults| $protocol::read(body, defaults, Ids::counted(), &Clock::at(0)));
            call.map(|call| call.warnings)
        }
    };
}

const READERS: [Reader; 13] = [
    Reader {
        path: "/v1/responses",
        tables: responses::fields::TABLES,
        base: || json!({ "model": "m", "input": "x" }),
        read: reader!(responses),
    },
    Reader {
        path: "/v1/responses/input_tokens",
        tables: responses::fields::TABLES,
        base: || json!({ "model": "m", "input": "x" }),
        read: |body| {
            read(body, |body, defaults| responses::count(body, &responses::Continuation::default(), defaults))
                .map(|count| count.warnings)
        },
    },
    Reader {
        path: "/v1/responses/compact",
        tables: responses::fields::TABLES,
        base: || json!({ "model": "m", "input": "x" }),
        read: |body| {
            let compact = |body: &JsonObject<'_>, defaults: &_| {
                responses::compact(
                    body,
                    &responses::Continuation::default(),
                    defaults,
                    Ids::counted(),
                    &Clock::at(0),
                )
            };
            read(body, compact).map(|request| request.warnings)
        },
    },
    Reader {
        path: "/v1/conversations",
        tables: conversations::fields::CREATE_TABLES,
        base: || json!({}),
        read: |body| {
            let new = read(body, |body, defaults| conversations::create(body, defaults, &mut Ids::counted()));
            new.map(|new| new.items.warnings)
        },
    },
    Reader {
        path: "/v1/conversations/{id}",
        tables: conversations::fields::UPDATE_TABLES,
        base: || json!({ "metadata": {} }),
        read: |body| read(body, conversations::update).map(|(_, warnings)| warnings),
    },
    Reader {
        path: "/v1/conversations/{id}/items",
        tables: conversations::fields::ADD_TABLES,
        base: || json!({ "items": [] }),
        read: |body| {
            let new = read(body, |body, defaults| conversations::add(body, defaults, &mut Ids::counted()));
            new.map(|new| new.warnings)
        },
    },
    Reader {
        path: "/v1/chat/completions",
        tables: chat::fields::TABLES,
        base: || json!({ "model": "m", "messages": [{ "role": "user", "content": "x" }], "logprobs": true }),
        read: reader!(chat),
    },
    Reader {
        path: "/v1/chat/completions/{id}",
        tables: chat::stored::UPDATE_TABLES,
        base: || json!({ "metadata": {} }),
        read: |body| read(body, chat::stored::update).map(|(_, warnings)| warnings),
    },
    Reader {
        path: "/v1/completions",
        tables: completions::fields::TABLES,
        base: || json!({ "model": "m", "prompt": "x", "max_tokens": u32::MAX }),
        read: reader!(completions),
    },
    Reader {
        path: "/v1/messages",
        tables: messages::fields::TABLES,
        base: || json!({ "model": "m", "messages": [{ "role": "user", "content": "x" }], "max_tokens": u32::MAX }),
        read: reader!(messages),
    },
    Reader {
        path: "/v1/messages/count_tokens",
        tables: &[messages::fields::PROMPT],
        base: || json!({ "model": "m", "messages": [{ "role": "user", "content": "x" }] }),
        read: |body| read(body, messages::count).map(|count| count.warnings),
    },
    Reader {
        path: "/tokenize",
        tables: &[tokenize::TOKENIZE],
        base: || json!({ "prompt": "x" }),
        read: |body| read(body, tokenize::tokenize).map(|_| Vec::new()),
    },
    Reader {
        path: "/detokenize",
        tables: tokenize::DETOKENIZE_TABLES,
        base: || json!({ "tokens": [1] }),
        read: |body| read(body, tokenize::detokenize).map(|_| Vec::new()),
    },
];

impl Reader {
    /// Sends the base with `value` at the dotted `name`.
    fn send(&self, name: &str, value: Value) -> Result<Vec<String>, ApiError> {
        let mut body = (self.base)();
        if self.path == "/tokenize" && name == "messages" && !value.is_null() {
            // `messages` replaces `prompt`.
            body = json!({});
        }
        put(&mut body, name, value);
        (self.read)(body.to_string().as_bytes())
    }

    fn refusal(&self, name: &str, value: Value) -> ApiError {
        let shown = value.to_string();
        let Err(error) = self.send(name, value) else { panic!("{}: {name}: {shown} is taken", self.path) };
        assert_eq!(error.status, 400);
        let at = error.param.as_deref().unwrap_or_default();
        assert!(at.starts_with(name), "{}: {name}: {shown}: {error} (at {at:?})", self.path);
        error
    }

    fn taken(&self, name: &str, value: Value) -> Vec<String> {
        let shown = value.to_string();
        self.send(name, value).unwrap_or_else(|error| panic!("{}: {name}: {shown}: {error}", self.path))
    }

    /// All fields. Those of objects have dotted names.
    fn fields(&self) -> Vec<(String, &'static Row)> {
        let mut all = Vec::new();
        for field in fields::all(self.tables) {
            all.push((field.name.to_owned(), field));
            if let Shape::Object(inner) = &field.shape {
                all.extend(inner.iter().map(|inner| (format!("{}.{}", field.name, inner.name), inner)));
            }
        }
        all
    }
}

fn put(body: &mut Value, name: &str, value: Value) {
    match name.split_once('.') {
        None => body[name] = value,
        Some((outer, inner)) => {
            // These objects are read only if they have a type.
            let kinds = [("thinking", "enabled"), ("tool_choice", "auto"), ("compaction", "summarize")];
            let kind = kinds.iter().find(|(name, _)| *name == outer && inner != "type");
            let mut object = Map::new();
            if let Some((_, kind)) = kind {
                object.insert("type".to_owned(), json!(kind));
            }
            object.insert(inner.to_owned(), value);
            body[outer] = Value::Object(object);
        }
    }
}

/// A value that the shape doesn't allow.
fn wrong(shape: &Shape) -> Option<Value> {
    match shape {
        Shape::Any => None,
        Shape::Text | Shape::OneOf(_) | Shape::Object(_) | Shape::Map(_) => Some(json!(5.5)),
        Shape::Either(parts) if parts.iter().any(|part| matches!(part, Shape::Map(_))) => Some(json!(5.5)),
        _ => Some(json!({ "type": 7 })),
    }
}

#[test]
fn every_endpoint_with_a_body_is_tried() {
    let described = ENDPOINTS.iter().filter(|endpoint| endpoint.request.is_some());
    let described: Vec<&str> = described.map(|endpoint| endpoint.path).collect();
    assert_eq!(described, READERS.map(|reader| reader.path));
}

#[test]
fn no_field_stands_in_two_tables() {
    for reader in READERS {
        let mut seen = BTreeSet::new();
        for (name, _) in reader.fields() {
            assert!(seen.insert(name.clone()), "{}: {name}", reader.path);
        }
    }
}

#[test]
fn required_fields_are_missed_and_others_may_be_null() {
    for reader in READERS {
        for (name, field) in reader.fields() {
            if field.required.is_some() {
                reader.refusal(&name, Value::Null);
            } else if !matches!((reader.base)().get(&name), Some(value) if *value != json!(true)) {
                reader.taken(&name, Value::Null);
            }
        }
    }
}

#[test]
fn supported_fields_are_read() {
    for reader in READERS {
        for (name, field) in reader.fields() {
            let read = matches!(field.support, Support::Supported | Support::InPart(_));
            if let Some(wrong) = wrong(&field.shape).filter(|_| read) {
                reader.refusal(&name, wrong);
            }
        }
    }
}

#[test]
fn limits_and_words_are_those_that_readers_know_by_themselves() {
    for reader in READERS {
        for (name, field) in reader.fields() {
            match field.shape {
                Shape::UpTo(_, max) => {
                    reader.taken(&name, json!(max));
                    reader.refusal(&name, json!(max + 1));
                }
                Shape::OneOf(words) if field.support == Support::Supported => {
                    for word in words.iter().filter(|_| name != "tool_choice.type") {
                        reader.taken(&name, json!(word));
                    }
                    reader.refusal(&name, json!("something else"));
                }
                _ => {}
            }
        }
    }
}

#[test]
fn what_is_refused_is_refused_with_its_code() {
    for reader in READERS {
        for (name, field) in reader.fields() {
            let (code, examples) = match field.support {
                Support::Refused(refusal) => (refusal.code, refusal.examples),
                Support::InPart(examples) => ("unsupported_parameter", examples),
                _ => continue,
            };
            assert!(!examples.is_empty(), "{name}");
            for example in examples {
                let error = reader.refusal(&name, serde_json::from_str(example).unwrap());
                assert_eq!(error.code, Some(code), "{}: {name}: {error}", reader.path);
            }
        }
    }
}

#[test]
fn ignored_fields_warn_where_the_table_says_so() {
    for reader in READERS {
        for (name, field) in reader.fields() {
            let values = match field.shape {
                Shape::Boolean => vec![json!(true)],
                Shape::Text => vec![json!("omitted")],
                Shape::Integer(min, _) => vec![json!(min)],
                _ => vec![json!("x"), json!({ "a": [1] }), json!(5)],
            };
            for value in values {
                match field.support {
                    Support::Ignored => assert_eq!(reader.taken(&name, value), [""; 0], "{name}"),
                    Support::Warned => {
                        let warnings = reader.taken(&name, value);
                        assert!(warnings.iter().any(|line| line.starts_with(&name)), "{name}: {warnings:?}");
                    }
                    _ => {}
                }
            }
        }
    }
}

#[test]
fn unknown_fields_are_warned_of() {
    for reader in READERS.iter().filter(|reader| reader.path.starts_with("/v1")) {
        assert_eq!(reader.taken("no_such_field", json!(1)), ["unknown field no_such_field ignored"]);
        for (name, field) in reader.fields() {
            if let Shape::Object(inner) = &field.shape
                && inner.iter().all(|row| row.required.is_none() || row.name == "type")
            {
                let name = format!("{name}.no_such_field");
                let expected = format!("unknown field {name} ignored");
                assert!(reader.taken(&name, json!(1)).contains(&expected), "{}: {name}", reader.path);
            }
        }
    }
}

#[test]
fn every_reference_in_the_document_leads_somewhere() {
    let document = document();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let mut references = BTreeSet::new();
    gather(&document, &mut references);
    for name in &references {
        assert!(schemas.contains_key(name), "{name}");
    }
    let unused: Vec<&String> = schemas.keys().filter(|name| !references.contains(*name)).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

fn gather(value: &Value, references: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            if let Some(name) = object.get("$ref").and_then(Value::as_str) {
                references.insert(name.strip_prefix("#/components/schemas/").unwrap().to_owned());
            }
            object.values().for_each(|value| gather(value, references));
        }
        Value::Array(list) => list.iter().for_each(|value| gather(value, references)),
        _ => {}
    }
}
