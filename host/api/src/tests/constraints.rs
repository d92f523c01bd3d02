//! Fields that constrain an answer in each protocol, and the field names in refusals.

use engine::SubmitError;
use serde_json::{Value, json};

use super::{Defaults, ReadRequest, job, machine, refusal};
use crate::{Protocol, chat, completions, messages, responses};
use grammar::ToolChoice;
use model::{ConstraintField, Job, StartError};

const SCHEMA: &str = r#"{"type":"object","properties":{"b":{},"a":{}}}"#;

fn responses(extra: &Value) -> Value {
    merged(json!({ "model": "m", "input": "x" }), extra)
}

fn chat(extra: &Value) -> Value {
    merged(json!({ "model": "m", "messages": [{ "role": "user", "content": "x" }] }), extra)
}

fn messages(extra: &Value) -> Value {
    merged(json!({ "model": "m", "max_tokens": 5, "messages": [{ "role": "user", "content": "x" }] }), extra)
}

fn merged(mut body: Value, extra: &Value) -> Value {
    for (name, value) in extra.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    body
}

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

fn read(call: ReadRequest, body: &Value) -> Job {
    let (job, warnings) = job(call, body);
    assert!(warnings.is_empty(), "{warnings:?}");
    job
}

#[test]
fn every_protocol_has_its_shape_of_a_schema() {
    let flat = json!({ "type": "json_schema", "name": "n", "strict": true, "schema": schema() });
    let nested = json!({ "type": "json_schema", "json_schema": { "name": "n", "schema": schema() } });
    let nameless = json!({ "type": "json_schema", "schema": schema() });
    for (call, body) in [
        (responses::read as ReadRequest, responses(&json!({ "text": { "format": flat } }))),
        (chat::read, chat(&json!({ "response_format": nested }))),
        (messages::read, messages(&json!({ "output_format": nameless }))),
        (messages::read, messages(&json!({ "output_config": { "format": nameless } }))),
    ] {
        assert_eq!(read(call, &body).demand.response_schema.as_deref(), Some(SCHEMA), "{body}");
    }
    let object = json!({ "type": "json_object" });
    for (call, body) in [
        (responses::read as ReadRequest, responses(&json!({ "text": { "format": object } }))),
        (chat::read, chat(&json!({ "response_format": object }))),
    ] {
        assert_eq!(
            read(call, &body).demand.response_schema.as_deref(),
            Some(r#"{"type":"object"}"#),
            "{body}"
        );
    }
    let text = chat(&json!({ "response_format": { "type": "text" } }));
    assert_eq!(read(chat::read, &text).demand.response_schema, None);
}

#[test]
fn malformed_or_large_formats_are_refused_by_place() {
    let large = json!({ "title": "x".repeat(256 << 10) });
    let deep = (0..55).fold(json!({}), |inner, _| json!({ "not": inner }));
    let format = |name: Value, schema: Value| json!({ "text": { "format": { "type": "json_schema", "name": name, "schema": schema } } });
    for (extra, param) in [
        (format(json!(null), json!({})), "text.format.name"),
        (format(json!("a b"), json!({})), "text.format.name"),
        (format(json!("n"), json!(null)), "text.format.schema"),
        (format(json!("n"), json!([])), "text.format.schema"),
        (format(json!("n"), large), "text.format.schema"),
        (json!({ "text": { "format": { "type": "xml" } } }), "text.format.type"),
    ] {
        let error = refusal(responses::read, &responses(&extra));
        assert_eq!((error.status, error.param.as_deref()), (400, Some(param)), "{error}");
    }
    assert!(
        job(responses::read, &responses(&format(json!("n"), deep.clone())))
            .0
            .demand
            .response_schema
            .is_some()
    );
    let body = responses(&format(json!("n"), deep)).to_string();
    let mut defaults = Defaults::default();
    defaults.limits.schema_depth = 50;
    let error = Protocol::Responses.read(body.as_bytes(), &defaults).err().unwrap();
    assert_eq!(error.param.as_deref(), Some("text.format.schema"), "{error}");
}

#[test]
fn a_response_repeats_its_format_and_its_choice() {
    let tools = json!([{ "type": "function", "name": "f" }]);
    let format = json!({ "type": "json_schema", "name": "n", "schema": schema() });
    let extra = json!({ "text": { "format": format }, "tools": tools, "tool_choice": "required" });
    let (_, body) = machine(responses::read, &responses(&extra)).body();
    let body: Value = serde_json::from_str(&body).unwrap();
    let expected = json!({ "type": "json_schema", "name": "n", "description": null, "schema": schema(), "strict": false });
    assert_eq!(body["text"]["format"], expected);
    assert_eq!(body["tool_choice"], "required");
    let object = responses(&json!({ "text": { "format": { "type": "json_object" } } }));
    let body: Value = serde_json::from_str(&machine(responses::read, &object).body().1).unwrap();
    assert_eq!(body["text"]["format"], json!({ "type": "json_object" }));
}

#[test]
fn every_protocol_can_force_a_call() {
    let flat = json!([{ "type": "function", "name": "f" }, { "type": "custom", "name": "g" }]);
    let nested = json!([{ "type": "function", "function": { "name": "f" } }, { "type": "custom", "custom": { "name": "g" } }]);
    let anthropic = json!([{ "name": "f", "input_schema": {} }]);
    let named = |name: &str| ToolChoice::Named(name.to_owned());
    for (call, body, choice, means) in [
        (
            responses::read as ReadRequest,
            responses(&json!({ "tools": flat })),
            json!("required"),
            ToolChoice::Required,
        ),
        (
            responses::read,
            responses(&json!({ "tools": flat })),
            json!({ "type": "function", "name": "f" }),
            named("f"),
        ),
        (
            responses::read,
            responses(&json!({ "tools": flat })),
            json!({ "type": "custom", "name": "g" }),
            named("g"),
        ),
        (chat::read, chat(&json!({ "tools": nested })), json!("required"), ToolChoice::Required),
        (
            chat::read,
            chat(&json!({ "tools": nested })),
            json!({ "type": "function", "function": { "name": "f" } }),
            named("f"),
        ),
        (
            messages::read,
            messages(&json!({ "tools": anthropic })),
            json!({ "type": "any" }),
            ToolChoice::Required,
        ),
        (
            messages::read,
            messages(&json!({ "tools": anthropic })),
            json!({ "type": "tool", "name": "f" }),
            named("f"),
        ),
    ] {
        let body = merged(body, &json!({ "tool_choice": choice }));
        let job = read(call, &body);
        assert_eq!(job.demand.tool_choice, means, "{body}");
        assert_eq!(job.demand.tools.len(), job.conversation.tools.len(), "{body}");
    }
    let allowed =
        json!({ "type": "allowed_tools", "mode": "required", "tools": [{ "type": "custom", "name": "g" }] });
    let job = read(responses::read, &responses(&json!({ "tools": flat, "tool_choice": allowed })));
    assert_eq!((job.demand.tool_choice, job.demand.tools.len()), (ToolChoice::Required, 1));
}

#[test]
fn a_tool_in_a_namespace_is_forced_by_its_own_name() {
    let tools =
        json!([{ "type": "namespace", "name": "files", "tools": [{ "type": "function", "name": "read" }] }]);
    let choice = json!({ "type": "function", "name": "read" });
    let job = read(responses::read, &responses(&json!({ "tools": tools, "tool_choice": choice })));
    assert_eq!(job.demand.tool_choice, ToolChoice::Named("files__read".to_owned()));
}

#[test]
fn priorities_and_cache_keys_are_read() {
    let extra = json!({ "priority": -3, "prompt_cache_key": "k" });
    for job in [read(responses::read, &responses(&extra)), read(chat::read, &chat(&extra))] {
        assert_eq!((job.priority, job.cache_key.as_deref()), (-3, Some("k")));
    }
    let raw = read(completions::read, &json!({ "model": "m", "prompt": "x", "priority": 2 }));
    assert_eq!((raw.priority, raw.cache_key), (2, None));
    let error = refusal(chat::read, &chat(&json!({ "priority": 1_i64 << 31 })));
    assert_eq!(error.param.as_deref(), Some("priority"));
}

#[test]
fn unfollowable_constraints_get_each_protocols_name() {
    use ConstraintField::{Format, Schema, ToolChoice, Tools};
    for (protocol, names) in [
        (Protocol::Responses, ["text.format", "text.format.schema", "tool_choice", "tools"]),
        (Protocol::Chat, ["response_format", "response_format", "tool_choice", "tools"]),
        (Protocol::Messages, ["output_config.format", "output_config.format", "tool_choice", "tools"]),
    ] {
        for (field, name) in [Format, Schema, ToolChoice, Tools].into_iter().zip(names) {
            let error = protocol
                .refusal(&StartError::Constraint { field, reason: "the engine (x) can't".to_owned() });
            assert_eq!((error.status, error.param.as_deref()), (400, Some(name)));
            assert_eq!(error.message, format!("{name}: the engine (x) can't"));
        }
    }
    let reason = "the engine (x) knows no priorities".to_owned();
    let error = Protocol::Chat.refusal(&SubmitError::Unsupported { field: "priority", reason }.into());
    assert_eq!((error.status, error.param.as_deref()), (400, Some("priority")));
}
