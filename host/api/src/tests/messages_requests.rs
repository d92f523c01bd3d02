//! Messages requests: what reaches the job, what is ignored, what is refused.

use serde_json::{Value, json};

use super::{job, refusal};
use crate::{messages, read_body};
use grammar::ToolChoice;
use model::Beginning;

/// A small request with the fields `extra`.
pub(super) fn with(extra: &Value) -> Value {
    let mut body = json!({ "model": "m", "max_tokens": 9, "messages": [{ "role": "user", "content": "x" }] });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    body
}

fn refused(extra: &Value) -> String {
    let error = refusal(messages::read, &with(extra));
    assert_eq!(error.status, 400);
    error.message
}

#[test]
fn tools_are_declared_in_the_templates_shape() {
    let schema = json!({ "type": "object", "properties": { "z": {}, "a": {} } });
    let tools = json!([
        { "input_schema": schema, "name": "f", "description": "d", "strict": true, "cache_control": { "type": "ephemeral" }, "eager_input_streaming": true },
        { "type": "custom", "name": "g" },
        { "type": "web_search_20250305", "name": "web_search", "max_uses": 5 },
    ]);
    let (job, warnings) = job(messages::read, &with(&json!({ "tools": tools })));
    let declared: Vec<String> = job.conversation.tools.iter().map(|tool| tool.declaration.clone()).collect();
    let f = format!(
        r#"{{"type":"function","function":{{"name":"f","description":"d","parameters":{schema},"strict":true}}}}"#
    );
    assert_eq!(declared, [f.as_str(), r#"{"type":"function","function":{"name":"g"}}"#]);
    assert_eq!(
        (job.demand.tools[0].schema.as_str(), job.demand.tools[0].strict),
        (schema.to_string().as_str(), true)
    );
    assert_eq!(warnings, ["tool of type web_search_20250305 ignored"]);
}

#[test]
fn tools_of_a_screen_are_refused_by_name() {
    for kind in ["computer_20241022", "computer_20251124", "computer_toolset_20260801"] {
        let tools = json!([{ "name": "f", "input_schema": {} }, { "type": kind, "name": "computer" }]);
        let message = refused(&json!({ "tools": tools }));
        assert!(message.starts_with("tools[1].type: computer"), "{message}");
        assert!(message.contains("can't see a screen"), "{message}");
    }
}

#[test]
fn citations_that_are_asked_for_are_named() {
    let asking = |citations: Value| {
        let document =
            json!({ "type": "document", "source": { "type": "text", "data": "d" }, "citations": citations });
        let found = json!({ "type": "search_result", "source": "s", "title": "t", "content": [], "citations": citations });
        let messages = json!([{ "role": "user", "content": [document, found] }]);
        job(messages::read, &with(&json!({ "messages": messages }))).1
    };
    for silent in [json!(null), json!({}), json!({ "enabled": false })] {
        assert_eq!(asking(silent), [""; 0]);
    }
    let why = "ignored: models here don't say what they cite: the answer has no citations";
    let lines = [0, 1].map(|block| format!("messages[0].content[{block}].citations.enabled {why}"));
    assert_eq!(asking(json!({ "enabled": true })), lines);
    // Those of an earlier answer stand in its text.
    let cited = json!([{ "type": "text", "text": "x", "citations": [{ "type": "web_search_result_location", "url": "u", "cited_text": "x", "encrypted_index": "e" }] }]);
    let said = json!([{ "role": "user", "content": "q" }, { "role": "assistant", "content": cited }, { "role": "user", "content": "q" }]);
    assert_eq!(job(messages::read, &with(&json!({ "messages": said }))).1, [""; 0]);
}

#[test]
fn tools_of_known_types_are_declared_with_what_they_take() {
    let tools = json!([
        { "type": "bash_20250124", "name": "bash" },
        { "type": "text_editor_20250124", "name": "str_replace_editor" },
        { "type": "text_editor_20250728", "name": "str_replace_based_edit_tool", "max_characters": 100 },
        { "type": "memory_20250818", "name": "memory" },
    ]);
    let (job, warnings) = job(messages::read, &with(&json!({ "tools": tools })));
    assert!(warnings.is_empty(), "{warnings:?}");
    let schemas: Vec<Value> =
        job.demand.tools.iter().map(|tool| serde_json::from_str(&tool.schema).unwrap()).collect();
    let commands = |index: usize| schemas[index]["properties"]["command"]["enum"].as_array().unwrap().len();
    assert_eq!((commands(1), commands(2), commands(3)), (5, 4, 6));
    for (tool, shown) in job.demand.tools.iter().zip(&job.conversation.tools) {
        let shown: Value = serde_json::from_str(&shown.declaration).unwrap();
        assert_eq!(shown["function"]["name"], tool.name.as_str());
        assert_eq!(shown["function"]["parameters"]["additionalProperties"], false);
    }
    assert_eq!(
        refused(&json!({ "tools": [{ "type": "bash_20250124" }] })),
        "tools[0].name: missing: expected a string"
    );
}

#[test]
fn deferred_tools_are_seen_where_a_result_refers_to_them() {
    let tools = json!([
        { "name": "find", "input_schema": {} },
        { "name": "send", "description": "Sends.", "input_schema": { "type": "object" }, "defer_loading": true },
        { "name": "list", "input_schema": {}, "defer_loading": true },
    ]);
    let names = |extra: &Value| {
        let job = job(messages::read, &with(extra)).0;
        let shown: Vec<String> = job.conversation.tools.into_iter().map(|tool| tool.name).collect();
        let callable: Vec<String> = job.demand.tools.into_iter().map(|tool| tool.name).collect();
        let last = job.conversation.messages.last().unwrap().content.joined().to_owned();
        (shown.join(" "), callable.join(" "), last)
    };
    let (shown, callable, _) = names(&json!({ "tools": tools }));
    assert_eq!((shown.as_str(), callable.as_str()), ("find", "find"));
    let found = json!([{ "type": "tool_reference", "tool_name": "send" }, { "type": "tool_reference", "tool_name": "find" }]);
    let messages = json!([
        { "role": "user", "content": "q" },
        { "role": "assistant", "content": [{ "type": "tool_use", "id": "t", "name": "find", "input": {} }] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t", "content": found }] },
    ]);
    let (shown, callable, result) = names(&json!({ "tools": tools, "messages": messages }));
    assert_eq!((shown.as_str(), callable.as_str()), ("find", "find send"));
    let declared = r#"{"type":"function","function":{"name":"send","description":"Sends.","parameters":{"type":"object"}}}"#;
    assert!(result.starts_with(declared) && result.ends_with("find"), "{result}");
    // A tool is shown once, however often it is referred to.
    let again = json!([{ "type": "tool_reference", "tool_name": "send" }, { "type": "tool_reference", "tool_name": "send" }]);
    let messages = json!([{ "role": "user", "content": again }]);
    let (.., twice) = names(&json!({ "tools": tools, "messages": messages }));
    assert_eq!((twice.matches("Sends.").count(), twice.ends_with("send")), (1, true), "{twice}");
    // A search that nobody runs here would never find them.
    let mut searched = tools.clone();
    searched
        .as_array_mut()
        .unwrap()
        .push(json!({ "type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25" }));
    assert_eq!(names(&json!({ "tools": searched })).0, "find send list");
}

#[test]
fn edits_and_servers_have_a_number() {
    let edits = json!({ "edits": vec![json!({ "type": "clear_tool_uses_20250919" }); 9] });
    let message = refused(&json!({ "context_management": edits }));
    assert!(message.starts_with("context_management.edits: at most 8"), "{message}");
    let servers = vec![json!({ "type": "url", "name": "n", "url": "https://example.com/mcp" }); 21];
    let message = refused(&json!({ "mcp_servers": servers }));
    assert!(message.starts_with("mcp_servers: at most 20"), "{message}");
}

#[test]
fn tool_choice_reaches_the_job() {
    let tools = json!([{ "name": "f", "input_schema": { "type": "object" } }]);
    for (choice, expected) in [
        (json!(null), (ToolChoice::Auto, true, 1)),
        (json!({ "type": "auto" }), (ToolChoice::Auto, true, 1)),
        (json!({ "type": "auto", "disable_parallel_tool_use": true }), (ToolChoice::Auto, false, 1)),
        (json!({ "type": "none" }), (ToolChoice::None, true, 0)),
    ] {
        let (job, _) = job(messages::read, &with(&json!({ "tools": tools, "tool_choice": choice })));
        assert_eq!(
            (job.demand.tool_choice, job.demand.parallel_tool_calls, job.conversation.tools.len()),
            expected
        );
    }
}

#[test]
fn options_reach_the_job() {
    let extra = json!({
        "stop_sequences": ["END", "\n\n"], "temperature": 0.5, "top_p": 0.9, "top_k": 40, "seed": 3, "stream": true,
        "metadata": { "user_id": "u" }, "output_config": { "effort": "low" },
    });
    let (job, warnings) = job(messages::read, &with(&extra));
    assert_eq!((job.max_output_tokens, job.stop), (Some(9), vec!["END".to_owned(), "\n\n".to_owned()]));
    assert_eq!((job.sampling.temperature, job.sampling.top_p), (Some(0.5), Some(0.9)));
    assert_eq!((job.sampling.top_k, job.sampling.seed), (Some(40), Some(3)));
    let expected =
        [("reasoning_effort".to_owned(), json!("low")), ("enable_thinking".to_owned(), json!(false))];
    assert_eq!(job.template_arguments, expected);
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn the_model_thinks_if_it_is_asked_to() {
    for (thinking, thinks, budget) in [
        (json!(null), false, None),
        (json!({ "type": "disabled" }), false, None),
        (json!({ "type": "adaptive" }), true, None),
        (json!({ "type": "adaptive", "display": "omitted" }), true, None),
        (json!({ "type": "enabled", "budget_tokens": 2048 }), true, Some(2048)),
        (json!({ "type": "enabled", "budget_tokens": 0 }), false, Some(0)),
    ] {
        let (job, warnings) = job(messages::read, &with(&json!({ "thinking": thinking })));
        assert_eq!(job.template_arguments, [("enable_thinking".to_owned(), json!(thinks))]);
        assert_eq!((job.reasoning_budget, warnings), (budget, Vec::<String>::new()));
    }
    let extra =
        json!({ "thinking": { "type": "disabled" }, "chat_template_kwargs": { "enable_thinking": true } });
    let (job, _) = job(messages::read, &with(&extra));
    assert_eq!(job.template_arguments, [("enable_thinking".to_owned(), json!(true))]);
}

#[test]
fn what_is_not_there_is_ignored_with_a_warning() {
    let extra = json!({ "betas": ["x-2026"], "cache_control": { "type": "ephemeral" }, "service_tier": "auto", "inference_geo": "eu",
        "mcp_servers": [], "container": null, "context_management": { "edits": [] }, "hologram": 1 });
    let (_, warnings) = job(messages::read, &with(&extra));
    assert_eq!(warnings, ["unknown field hologram ignored"]);
}

#[test]
fn what_would_give_another_answer_is_refused_by_name() {
    for (extra, start) in [
        (json!({ "max_tokens": null }), "max_tokens: missing: expected an integer"),
        (json!({ "max_tokens": 0 }), "max_tokens: expected an integer"),
        (json!({ "messages": [] }), "messages: there is no message"),
        (json!({ "messages": null }), "messages: missing: expected a list"),
        (json!({ "messages": [{ "role": "system", "content": "s" }] }), "messages: there is no message"),
        (json!({ "messages": [{ "role": "user" }] }), "messages[0].content: missing"),
        (json!({ "messages": [{ "role": "robot", "content": "x" }] }), "messages[0].role: expected user"),
        (
            json!({ "messages": [{ "role": "user", "content": [{ "type": "text" }] }] }),
            "messages[0].content[0].text: missing",
        ),
        (
            json!({ "messages": [{ "role": "user", "content": [{ "type": "tool_result", "content": "x" }] }] }),
            "messages[0].content[0].tool_use_id: missing",
        ),
        (json!({ "system": 7 }), "system: expected a string or a list of blocks, got number"),
        (json!({ "tools": [{ "input_schema": {} }] }), "tools[0].name: missing"),
        (
            json!({ "tools": [{ "name": "f", "input_schema": [] }] }),
            "tools[0].input_schema: expected a JSON schema object",
        ),
        (
            json!({ "tool_choice": { "type": "any" } }),
            "tool_choice: a call is demanded, and there is no tool",
        ),
        (json!({ "tool_choice": { "type": "tool", "name": "f" } }), "tool_choice: expected the name of"),
        (json!({ "tool_choice": { "type": "tool" } }), "tool_choice.name: missing"),
        (json!({ "tool_choice": { "type": "x" } }), "tool_choice.type: expected \"auto\""),
        (json!({ "thinking": { "type": "deep" } }), "thinking.type: expected enabled"),
        (
            json!({ "output_config": { "format": { "type": "json_schema" } } }),
            "output_config.format.schema: missing",
        ),
        (json!({ "output_format": { "type": "xml" } }), "output_format.type: expected"),
        (json!({ "stop_sequences": vec!["x"; 17] }), "stop_sequences: at most 16 texts, got 17"),
        (json!({ "stop_sequences": [""] }), "stop_sequences[0]: "),
        (json!({ "model": null }), "model: missing"),
    ] {
        let message = refused(&extra);
        assert!(message.starts_with(start), "{message}");
    }
}

#[test]
fn conversation_ending_in_model_text_is_continued() {
    let question = json!({ "role": "user", "content": "x" });
    let call =
        json!([{ "type": "text", "text": "t" }, { "type": "tool_use", "id": "c", "name": "f", "input": {} }]);
    for (last, beginning) in [
        (json!("The answer is"), Beginning::ContinueLast),
        (json!([{ "type": "text", "text": "{" }]), Beginning::ContinueLast),
        (json!(""), Beginning::Answer),
        (call, Beginning::Answer),
    ] {
        let messages = json!([question, { "role": "assistant", "content": last }]);
        assert_eq!(job(messages::read, &with(&json!({ "messages": messages }))).0.beginning, beginning);
    }
    assert_eq!(job(messages::read, &with(&json!({}))).0.beginning, Beginning::Answer);
}

#[test]
fn counting_asks_for_the_prompt_only() {
    let body = json!({ "model": "m", "system": "s", "messages": [{ "role": "user", "content": "x" }], "thinking": { "type": "adaptive" } });
    let defaults = super::Defaults::default();
    let counted =
        read_body(body.to_string().as_bytes(), &defaults.limits, |body| messages::count(body, &defaults))
            .unwrap();
    assert_eq!(counted.model, "m");
    assert_eq!(counted.job.conversation.messages.len(), 2);
    assert_eq!(counted.job.template_arguments, [("enable_thinking".to_owned(), json!(true))]);
}
