//! Elements of a request's lists agree with their tables: each kind of item, block, part and tool is
//! sent with what its table says is ignored or refused, and with a field that no table has.

use serde_json::{Map, Value, json};

use crate::error::ApiError;
use crate::fields::{Kinds, Row, Shape, Support};
use crate::ids::{Clock, Ids};
use crate::request::{Defaults, ReadRequest, read_body};
use crate::{chat, content, messages, responses};

/// A list of a request whose elements have a table.
struct Place {
    read: ReadRequest,
    kinds: &'static Kinds,
    /// Path of the element in the body.
    path: &'static str,
    /// A body with the element at this path.
    body: fn(Value) -> Value,
}

const PLACES: [Place; 7] = [
    Place {
        read: responses::read,
        kinds: &responses::fields::ITEM_KINDS,
        path: "input[2]",
        body: |item| {
            let call = json!({ "type": "function_call", "call_id": "x", "name": "f", "arguments": "{}" });
            json!({ "model": "m", "input": [{ "role": "user", "content": "q" }, call, item] })
        },
    },
    Place {
        read: responses::read,
        kinds: &content::PARTS,
        path: "input[0].content[0]",
        body: |part| json!({ "model": "m", "input": [{ "role": "user", "content": [part] }] }),
    },
    Place {
        read: responses::read,
        kinds: &responses::fields::TOOL_KINDS,
        path: "tools[0]",
        body: |tool| json!({ "model": "m", "input": "q", "tools": [tool] }),
    },
    Place {
        read: chat::read,
        kinds: &content::PARTS,
        path: "messages[0].content[0]",
        body: |part| json!({ "model": "m", "messages": [{ "role": "user", "content": [part] }] }),
    },
    Place {
        read: chat::read,
        kinds: &chat::fields::TOOL_KINDS,
        path: "tools[0]",
        body: |tool| json!({ "model": "m", "messages": [{ "role": "user", "content": "q" }], "tools": [tool] }),
    },
    Place {
        read: messages::read,
        kinds: &messages::fields::BLOCKS,
        path: "messages[2].content[0]",
        body: |block| {
            let call = json!([{ "type": "tool_use", "id": "x", "name": "f", "input": {} }]);
            let by_model = [
                "tool_use",
                "thinking",
                "redacted_thinking",
                "compaction",
                "mcp_tool_use",
                "mcp_tool_result",
                "server_tool_use",
                "web_search_tool_result",
            ];
            let by_model = block["type"].as_str().is_some_and(|kind| by_model.contains(&kind));
            let role = if by_model { "assistant" } else { "user" };
            json!({ "model": "m", "max_tokens": 1, "messages": [
                { "role": "user", "content": "q" },
                { "role": "assistant", "content": call },
                { "role": role, "content": [block] },
            ] })
        },
    },
    Place {
        read: messages::read,
        kinds: &messages::fields::TOOL_KINDS,
        path: "tools[0]",
        body: |tool| json!({ "model": "m", "max_tokens": 1, "messages": [{ "role": "user", "content": "q" }], "tools": [tool, { "name": "other" }] }),
    },
];

impl Place {
    /// The warnings of a request with the element, or its refusal.
    fn send(&self, element: Value) -> Result<Vec<String>, ApiError> {
        warnings_of(self.read, &(self.body)(element))
    }

    fn taken(&self, element: Value) -> Vec<String> {
        let shown = element.to_string();
        self.send(element).unwrap_or_else(|error| panic!("{}: {shown}: {error}", self.path))
    }

    fn refusal(&self, element: Value) -> ApiError {
        let shown = element.to_string();
        let Err(error) = self.send(element) else { panic!("{}: {shown} is taken", self.path) };
        let param = error.param.clone().unwrap_or_default();
        assert!(param.starts_with(self.path), "{shown}: {error} (at {param:?})");
        assert_eq!(error.status, 400);
        error
    }

    /// Kinds that are read, each with an element of it.
    fn read_kinds(&self) -> impl Iterator<Item = (&'static [Row], Value)> {
        let read = self.kinds.of.iter().filter(|kind| kind.support == Support::Supported);
        // A reference is replaced before the input is read, and a set of tools needs its server.
        let named = read.filter_map(|kind| Some((kind.kind?, kind.fields)));
        named
            .filter(|(kind, _)| !["item_reference", "mcp_toolset"].contains(kind))
            .map(|(kind, fields)| (fields, sample(kind, fields)))
    }
}

/// An element of a kind, with what readers must have.
fn sample(kind: &str, fields: &[Row]) -> Value {
    let mut sample = object(fields.iter().filter(|row| row.required.is_some() || row.name == "call_id"));
    sample["type"] = json!(kind);
    if kind == "document" {
        sample["source"] = json!({ "type": "text", "data": "d" });
    } else if kind == "message" {
        sample["content"] = json!("x");
    } else if kind == "compaction" {
        sample["encrypted_content"] = json!("");
    }
    sample
}

fn object<'a>(rows: impl Iterator<Item = &'a Row>) -> Value {
    Value::Object(rows.map(|row| (row.name.to_owned(), value(&row.shape))).collect::<Map<_, _>>())
}

fn value(shape: &Shape) -> Value {
    match shape {
        Shape::OneOf(words) => json!(words[0]),
        Shape::Object(rows) => object(rows.iter().filter(|row| row.required.is_some())),
        Shape::Map(_) => json!({}),
        Shape::List(_) => json!([]),
        _ => json!("x"),
    }
}

#[test]
fn a_field_that_no_table_has_is_warned_of_in_each_element() {
    for place in PLACES {
        for (_, mut element) in place.read_kinds() {
            element["no_such_field"] = json!({ "a": [1] });
            let expected = format!("unknown field {}.no_such_field ignored", place.path);
            let warnings = place.taken(element.clone());
            assert!(warnings.contains(&expected), "{element}: {warnings:?}");
        }
    }
}

#[test]
fn fields_that_say_nothing_are_let_pass() {
    for place in PLACES {
        for (fields, element) in place.read_kinds() {
            let plain = place.taken(element.clone());
            let ignored = |row: &&Row| row.support == Support::Ignored && element.get(row.name).is_none();
            for row in fields.iter().chain(place.kinds.common).filter(ignored) {
                let mut element = element.clone();
                element[row.name] = if row.name == "id" { json!("i") } else { json!({ "a": [1] }) };
                assert_eq!(place.taken(element.clone()), plain, "{}: {element}", place.path);
            }
        }
    }
}

#[test]
fn each_kind_is_read_ignored_or_refused_as_its_table_says() {
    for place in PLACES {
        for kind in place.kinds.of {
            let Some(name) = kind.kind else { continue };
            let element = json!({ "type": name, "id": "i" });
            match kind.support {
                Support::Ignored => assert_eq!(place.taken(element), [""; 0], "{name}"),
                Support::Warned => {
                    let warnings = place.taken(element);
                    assert!(warnings[0].starts_with(name), "{name}: {warnings:?}");
                }
                Support::Refused(refusal) => {
                    let error = place.refusal(element);
                    assert_eq!(error.code, Some(refusal.code), "{name}");
                    assert!(error.message.contains(kind.note), "{error}");
                }
                Support::Supported | Support::InPart(_) => {}
            }
        }
        let unknown = json!({ "type": "hologram", "id": "i", "output": "said by nobody else" });
        match place.kinds.others {
            None => assert_eq!(place.refusal(unknown).code, Some("invalid_value")),
            Some(noun) => assert_eq!(place.taken(unknown), [format!("{noun} of type hologram ignored")]),
        }
    }
}

/// Reads a message. Returns the warnings.
type Reader = dyn Fn(Value) -> Result<Vec<String>, ApiError>;

#[test]
fn what_messages_may_not_have_is_refused_and_the_rest_said() {
    let chat = |message: Value| warnings_of(chat::read, &json!({ "model": "m", "messages": [message] }));
    let messages = |message: Value| {
        warnings_of(messages::read, &json!({ "model": "m", "max_tokens": 1, "messages": [message] }))
    };
    let readers: [(&[Row], &Reader); 2] =
        [(chat::fields::MESSAGE, &chat), (messages::fields::MESSAGE, &messages)];
    for (rows, read) in readers {
        let with = |name: &str, value: Value| {
            let mut message = json!({ "role": "user", "content": "q" });
            message[name] = value;
            read(message)
        };
        let unknown = with("no_such_field", json!(1)).unwrap();
        assert_eq!(unknown, ["unknown field messages[0].no_such_field ignored"]);
        for row in rows {
            match row.support {
                Support::Ignored => assert_eq!(with(row.name, json!([1])).unwrap(), [""; 0], "{}", row.name),
                Support::Refused(refusal) => {
                    let value = serde_json::from_str(refusal.examples[0]).unwrap();
                    let error = with(row.name, value).unwrap_err();
                    assert_eq!(error.code, Some(refusal.code));
                    assert_eq!(error.param, Some(format!("messages[0].{}", row.name)));
                }
                _ => {}
            }
        }
    }
}

/// The warnings of a request, or its refusal.
fn warnings_of(read: ReadRequest, body: &Value) -> Result<Vec<String>, ApiError> {
    let defaults = Defaults::default();
    let request = read_body(body.to_string().as_bytes(), &defaults.limits, |body| {
        read(body, &defaults, Ids::counted(), &Clock::at(0))
    });
    request.map(|request| request.warnings)
}
