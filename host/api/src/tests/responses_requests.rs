//! Responses requests: what is read, and what is refused.

use serde_json::{Value, json};

use super::{Turn, job, machine, read, reasoning, refusal};
use crate::event_buffer::EventBuffer;
use crate::ids::{Clock, Ids};
use crate::request::{Defaults, ReasoningEvents};
use crate::responses;
use crate::{Document, Protocol, References, references};
use grammar::ToolChoice;
use turn::TurnEnd;

fn with(extra: &Value) -> Value {
    let mut body = json!({ "model": "m", "input": "x" });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    body
}

fn refused(extra: &Value) -> (String, String) {
    let error = refusal(responses::read, &with(extra));
    assert_eq!(error.status, 400);
    (error.param.unwrap_or_default(), error.message)
}

/// The body of an answer without output.
fn answer(extra: &Value) -> Value {
    Turn::new(vec![], TurnEnd::Completed)
        .run(&mut *machine(responses::read, &with(extra)), EventBuffer::discarding(), 0)
        .2
}

#[test]
fn functions_keep_the_templates_shape_and_key_order() {
    let parameters = json!({ "type": "object", "properties": { "z": {}, "a": {} } });
    let tools = json!([
        { "strict": true, "name": "f", "type": "function", "parameters": parameters, "description": "does f", "x": 1 },
        { "type": "function", "name": "g", "description": null },
    ]);
    let (job, warnings) = job(responses::read, &with(&json!({ "tools": tools })));
    assert_eq!(warnings, ["unknown field tools[0].x ignored"]);
    let declared: Vec<String> = job.conversation.tools.iter().map(|tool| tool.declaration.clone()).collect();
    let parameters = r#"{"type":"object","properties":{"z":{},"a":{}}}"#;
    let f = format!(
        r#"{{"type":"function","function":{{"strict":true,"name":"f","parameters":{parameters},"description":"does f"}}}}"#
    );
    assert_eq!(declared, [f.as_str(), r#"{"type":"function","function":{"name":"g"}}"#]);
    assert_eq!((job.demand.tools[0].schema.as_str(), job.demand.tools[0].strict), (parameters, true));
    assert_eq!((job.demand.tools[1].schema.as_str(), job.demand.tools[1].strict), ("{}", false));
}

#[test]
fn unrunnable_tools_are_ignored_with_a_warning() {
    let tools = json!([
        { "type": "web_search" }, { "type": "namespace", "name": "n", "tools": [] },
        { "type": "image_generation", "name": "x" }, { "type": "function", "name": "f" },
    ]);
    let (job, warnings) = job(responses::read, &with(&json!({ "tools": tools })));
    assert_eq!(job.demand.tools.len(), 1);
    let ignored = |kind: &str| format!("tool of type {kind} ignored");
    assert_eq!(warnings, [ignored("image_generation"), ignored("web_search")]);
}

#[test]
fn tools_of_a_screen_are_refused_by_name() {
    for kind in ["computer", "computer_use_preview"] {
        let screen =
            json!({ "type": kind, "environment": "browser", "display_width": 1, "display_height": 1 });
        let tools = json!([{ "type": "function", "name": "f" }, screen]);
        let (at, message) = refused(&json!({ "tools": tools }));
        assert_eq!(at, "tools[1].type");
        assert!(message.contains("can't see a screen"), "{message}");
    }
}

#[test]
fn tool_choice_none_hides_the_tools_from_the_model() {
    let tools = json!([{ "type": "function", "name": "f" }]);
    let (job, _) = job(responses::read, &with(&json!({ "tools": tools, "tool_choice": "none" })));
    assert_eq!(job.demand.tool_choice, ToolChoice::None);
    assert!(job.conversation.tools.is_empty());
}

#[test]
fn a_stored_prompt_is_refused_by_name() {
    let (at, message) = refused(&json!({ "prompt": { "id": "pmpt_1" } }));
    assert_eq!(at, "prompt");
    assert!(message.contains("send `instructions` and `input`"), "{message}");
}

#[test]
fn ranges_are_checked() {
    for (extra, message) in [
        (
            json!({ "max_output_tokens": 0 }),
            "max_output_tokens: expected an integer from 1 to 4294967295, got 0",
        ),
        (json!({ "temperature": 2.5 }), "temperature: expected a number from 0 to 2, got 2.5"),
        (json!({ "temperature": "hot" }), "temperature: expected a number, got string"),
        (json!({ "top_p": -0.1 }), "top_p: expected a number from 0 to 1, got -0.1"),
        (json!({ "stream": 1 }), "stream: expected a boolean, got number"),
        (json!({ "tools": {} }), "tools: expected a list, got object"),
        (json!({ "tools": vec![json!({ "type": "x" }); 513] }), "tools: at most 512 tools, got 513"),
        (json!({ "tools": [{ "type": "function" }] }), "tools[0].name: missing: expected a string"),
        (json!({ "metadata": { "k": 5 } }), "metadata.k: expected a string, got number"),
        (
            json!({ "reasoning": { "effort": "huge" } }),
            "reasoning.effort: expected one of none, minimal, low, medium, high, xhigh, max",
        ),
        (
            json!({ "safety_identifier": "x".repeat(129) }),
            "safety_identifier: at most 128 characters: send a hash of what is longer",
        ),
        (json!({ "top_logprobs": 21 }), "top_logprobs: expected an integer from 0 to 20, got 21"),
        (json!({ "truncation": "middle" }), "truncation: expected auto or disabled"),
        (json!({ "text": { "verbosity": "loud" } }), "text.verbosity: expected low, medium or high"),
        (json!({ "include": [7] }), "include[0]: expected a string, got number"),
        (
            json!({ "stream_options": { "include_obfuscation": 1 } }),
            "stream_options.include_obfuscation: expected a boolean, got number",
        ),
        (json!({ "model": null }), "model: missing: expected a string"),
        (json!({ "input": null }), "input: missing: expected a string or a list of items"),
    ] {
        assert_eq!(refused(&extra).1, message);
    }
    let many: serde_json::Map<String, Value> = (0..17).map(|i| (i.to_string(), json!("v"))).collect();
    assert_eq!(refused(&json!({ "metadata": many })).1, "metadata: at most 16 keys, got 17");
    assert!(refused(&json!({ "metadata": { "k": "v".repeat(513) } })).1.contains("at most 512 characters"));
}

#[test]
fn sampling_reaches_the_job() {
    let extra = json!({ "temperature": 0, "top_p": 0.5, "seed": -1, "top_k": 20, "max_output_tokens": 5,
        "presence_penalty": 0.5, "frequency_penalty": -1, "min_p": 0.25 });
    let body = answer(&extra);
    assert_eq!((&body["presence_penalty"], &body["frequency_penalty"]), (&json!(0.5), &json!(-1.0)));
    let (job, warnings) = job(responses::read, &with(&extra));
    assert_eq!((job.sampling.presence_penalty, job.sampling.frequency_penalty), (0.5, -1.0));
    assert_eq!(job.sampling.min_p, Some(0.25));
    assert_eq!((job.sampling.temperature, job.sampling.top_p), (Some(0.0), Some(0.5)));
    assert_eq!((job.sampling.seed, job.sampling.top_k), (Some(u64::MAX), Some(20)));
    assert_eq!((job.max_output_tokens, warnings.len()), (Some(5), 0));
}

#[test]
fn effort_becomes_template_arguments() {
    let arguments = |extra: Value| job(responses::read, &with(&extra)).0.template_arguments;
    let pair = |name: &str, value: Value| (name.to_owned(), value);
    let none = json!({ "reasoning": { "effort": "none" } });
    assert_eq!(
        arguments(none),
        [pair("enable_thinking", json!(false)), pair("reasoning_effort", json!("none"))]
    );
    let low = json!({ "reasoning": { "effort": "low" } });
    assert_eq!(arguments(low), [pair("reasoning_effort", json!("low"))]);
    let both =
        json!({ "reasoning": { "effort": "none" }, "chat_template_kwargs": { "enable_thinking": true } });
    assert_eq!(
        arguments(both),
        [pair("enable_thinking", json!(true)), pair("reasoning_effort", json!("none"))]
    );
    assert!(arguments(json!({ "reasoning": null })).is_empty());
    assert_eq!(arguments(json!({ "text": { "verbosity": "low" } })), [pair("verbosity", json!("low"))]);
}

#[test]
fn template_arguments_must_be_allowed_and_scalar() {
    let kwargs = |value: Value| refused(&json!({ "chat_template_kwargs": value })).1;
    assert_eq!(
        kwargs(json!({ "chat_template": "{{ 1 }}" })),
        "chat_template_kwargs.chat_template: requests may not set this template argument (allowed: enable_thinking)"
    );
    assert_eq!(
        kwargs(json!({ "enable_thinking": [1] })),
        "chat_template_kwargs.enable_thinking: expected a string, number or boolean, got list"
    );
}

#[test]
fn unknown_fields_are_ignored_with_a_warning() {
    let extra =
        json!({ "frobnicate\r\n": 1, "client_metadata": {}, "include": ["reasoning.encrypted_content"] });
    let (_, warnings) = job(responses::read, &with(&extra));
    assert_eq!(warnings, ["unknown field frobnicate?? ignored"]);
    let error =
        refusal(responses::read, &with(&json!({ "include": ["reasoning.encrypted_content", "x.y"] })));
    assert_eq!((error.status, error.param.as_deref()), (400, Some("include[1]")));
}

#[test]
fn answer_repeats_request_and_says_nothing_is_stored() {
    let extra = json!({
        "store": true, "metadata": { "k": "v" }, "temperature": 0.7, "prompt_cache_key": "p", "truncation": "auto",
        "tools": [{ "type": "function", "name": "f" }, { "type": "web_search" }], "safety_identifier": "s",
        "reasoning": { "effort": "low", "summary": "auto" }, "text": { "verbosity": "low" }, "max_tool_calls": 3
    });
    let body = answer(&extra);
    assert_eq!(body.as_object().unwrap().len(), 31);
    assert_eq!(body["store"], json!(false));
    assert_eq!(body["temperature"], json!(0.7));
    let f =
        json!({ "type": "function", "name": "f", "description": null, "parameters": null, "strict": null });
    assert_eq!(body["tools"], json!([f]));
    assert_eq!(body["reasoning"], json!({ "effort": "low", "summary": "auto" }));
    assert_eq!(body["text"], json!({ "format": { "type": "text" }, "verbosity": "low" }));
    assert_eq!((&body["metadata"], &body["prompt_cache_key"]), (&json!({ "k": "v" }), &json!("p")));
    assert_eq!((&body["max_tool_calls"], &body["truncation"]), (&json!(3), &json!("auto")));
}

#[test]
fn servers_default_dialect_applies_unless_asked() {
    let events = |default, body: Value| {
        let defaults = Defaults { reasoning_events: default, ..Defaults::default() };
        let call = read(responses::read, with(&body).to_string().as_bytes(), &defaults, &Clock::at(0));
        let turn = Turn::new(vec![reasoning(&["r"])], TurnEnd::Completed);
        turn.run(&mut *call.unwrap_or_else(|error| panic!("{error}")).machine, EventBuffer::new(), 9).0
    };
    let summary = |stream: &str| stream.contains("response.reasoning_summary_text.delta");
    assert!(!summary(&events(ReasoningEvents::Text, json!({}))));
    assert!(summary(&events(ReasoningEvents::Summary, json!({}))));
    assert!(summary(&events(ReasoningEvents::Text, json!({ "reasoning": { "summary": "detailed" } }))));
}

#[test]
fn body_waits_between_steps_and_moves_across_threads() {
    let body = br#"{ "model": "m", "input": "x", "a\u0062": 1, "ab": 2 }"#;
    let mut document = Document::read(body[..].into(), &Defaults::default().limits).unwrap();
    assert_eq!(references(&mut document).unwrap(), References { model: Some("m".to_owned()) });
    let read = move || {
        Protocol::Responses
            .read_object(&document.body(), &Defaults::default(), Ids::random(), &Clock::at(0))
            .unwrap()
            .warnings
    };
    let warnings = std::thread::spawn(read).join().unwrap();
    assert_eq!(warnings, ["unknown field ab ignored", "ab is given more than once: the last one counts"]);
    for (twice, name) in
        [(r#"{"model": "m", "model": 1}"#, "model"), (r#"{"input": 1, "input": 2}"#, "input")]
    {
        let mut document = Document::read(twice.into(), &Defaults::default().limits).unwrap();
        assert_eq!(references(&mut document).unwrap_err().param.as_deref(), Some(name));
    }
}

#[test]
fn warnings_of_many_unknown_fields_are_few_and_plain() {
    let names = (0..2000).map(|number| (format!("é\r\n{number}"), json!(1)));
    let mut message: serde_json::Map<String, Value> = names.collect();
    message.insert("role".to_owned(), json!("user"));
    message.insert("content".to_owned(), json!([{ "type": "input_text", "text": "x", "y\u{7f}": 1 }]));
    let (_, warnings) = job(responses::read, &with(&json!({ "input": [message] })));
    assert_eq!(warnings.len(), 16);
    for line in &warnings {
        assert!(line.starts_with("unknown field input[0].???"), "{line}");
        assert!(line.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line:?}");
    }
}

#[test]
fn a_body_that_is_not_json_is_refused() {
    let parse =
        |bytes: &[u8]| Protocol::Responses.read(bytes, &Defaults::default()).err().expect("a refusal");
    assert!(parse(b"{").message.starts_with("body: not valid JSON"));
    assert!(parse(b"\xff").message.starts_with("body: not valid JSON"));
    assert!(parse(b"").message.starts_with("body: not valid JSON"));
    assert_eq!(parse(b"null").message, "body: expected a JSON object, got null");
}

#[test]
fn only_an_explicit_wish_to_store_gets_a_warning() {
    let warnings = |extra: Value| job(responses::read, &with(&extra)).1;
    assert_eq!(
        warnings(json!({ "store": true })),
        ["store ignored: this server stores nothing, send the whole input with each request"]
    );
    assert!(warnings(json!({ "store": false })).is_empty());
    assert!(warnings(json!({})).is_empty());
}
