//! Chat requests: messages in all shapes, what reaches the job, what is refused.

use serde_json::{Value, json};

use super::{defaults, job, read, refusal};
use crate::chat;
use crate::ids::Clock;
use contract::ToolKind;
use grammar::ToolChoice;
use model::{Beginning, SamplingRequest};
use prompt::{ChatMessage, Content, HistoryCall, Role};

fn with(extra: &Value) -> Value {
    let mut body = json!({ "model": "m", "messages": [{ "role": "user", "content": "x" }] });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    body
}

fn messages(messages: &Value) -> Vec<ChatMessage> {
    job(chat::read, &with(&json!({ "messages": messages }))).0.conversation.messages
}

fn refused(extra: &Value) -> String {
    let error = refusal(chat::read, &with(extra));
    assert_eq!(error.status, 400);
    error.message
}

#[test]
fn messages_of_all_roles_are_taken() {
    let given = json!([
        { "role": "system", "content": "s" },
        { "role": "developer", "content": [{ "type": "text", "text": "d" }] },
        { "role": "user", "content": [{ "type": "text", "text": "a" }, { "type": "image_url", "image_url": {} }], "name": "u" },
        { "role": "assistant", "content": null, "reasoning_content": "r", "tool_calls": [
            { "id": "c1", "type": "function", "function": { "name": "f", "arguments": "{bad" } } ] },
        { "role": "tool", "tool_call_id": "c1", "content": "out" },
        { "role": "assistant", "content": "done", "reasoning": "r2" },
    ]);
    let call = HistoryCall { id: "c1".into(), name: "f".into(), arguments: "{bad".into() };
    let expected = [
        ChatMessage::text(Role::System, "s"),
        ChatMessage::text(Role::Developer, Content::from_iter(["d"])),
        ChatMessage::text(Role::User, Content::from_iter(["a", "[image]"])),
        ChatMessage {
            reasoning: Some("r".into()),
            tool_calls: vec![call],
            ..ChatMessage::text(Role::Assistant, "")
        },
        ChatMessage {
            tool_call_id: Some("c1".into()),
            name: Some("f".into()),
            ..ChatMessage::text(Role::Tool, "out")
        },
        ChatMessage { reasoning: Some("r2".into()), ..ChatMessage::text(Role::Assistant, "done") },
    ];
    assert_eq!(messages(&given), expected);
}

#[test]
fn old_function_calls_are_paired_with_their_results() {
    let called = |arguments: &str| json!({ "role": "assistant", "content": null, "function_call": { "name": "f", "arguments": arguments } });
    let result = |text: &str| json!({ "role": "function", "name": "f", "content": text });
    let given = json!([{ "role": "user", "content": "q" }, called("{\"a\":1}"), result("one"), called("{}"), result("two")]);
    let messages = messages(&given);
    let calls: Vec<HistoryCall> = messages.iter().flat_map(|message| message.tool_calls.clone()).collect();
    let call = |id: &str, arguments: &str| HistoryCall {
        id: id.into(),
        name: "f".into(),
        arguments: arguments.into(),
    };
    assert_eq!(calls, [call("call_1", "{\"a\":1}"), call("call_3", "{}")]);
    let results: Vec<_> = messages.iter().filter(|message| message.role == Role::Tool).collect();
    let shown = |text: &str, id: &str| ChatMessage {
        tool_call_id: Some(id.into()),
        name: Some("f".into()),
        ..ChatMessage::text(Role::Tool, text)
    };
    assert_eq!(results, [&shown("one", "call_1"), &shown("two", "call_3")]);
    let wrong = refused(
        &json!({ "messages": [{ "role": "assistant", "function_call": { "name": "f", "arguments": 5 } }] }),
    );
    assert!(wrong.starts_with("messages[0].function_call.arguments: expected a string of JSON"), "{wrong}");
}

#[test]
fn what_the_assistant_refused_is_its_text() {
    let given = json!([
        { "role": "user", "content": "a" },
        { "role": "assistant", "content": null, "refusal": "No." },
        { "role": "user", "content": "b" },
        { "role": "assistant", "content": [{ "type": "text", "text": "Well." }, { "type": "refusal", "refusal": "Still no." }], "refusal": null },
        { "role": "user", "content": "c" },
        { "role": "assistant", "content": "Hm.", "refusal": "Never." },
    ]);
    let said: Vec<ChatMessage> =
        messages(&given).into_iter().filter(|message| message.role == Role::Assistant).collect();
    let expected = ["No.".into(), Content::from_iter(["Well.", "Still no."]), "Hm.\nNever.".into()];
    assert_eq!(said, expected.map(|content| ChatMessage::text(Role::Assistant, content)));
    let wrong = refused(&json!({ "messages": [{ "role": "assistant", "refusal": 5 }] }));
    assert!(wrong.starts_with("messages[0].refusal: expected a string"), "{wrong}");
}

#[test]
fn declarations_reach_the_template_as_they_are() {
    let tool =
        r#"{"type":"function","function":{"parameters":{"type":"object"},"name":"f","description":"d"}}"#;
    let declaration: Value = serde_json::from_str(tool).unwrap();
    let (job, _) =
        job(chat::read, &with(&json!({ "tools": [declaration, { "type": "hologram", "hologram": {} }] })));
    assert_eq!(job.conversation.tools[0].declaration, tool);
    assert_eq!((job.demand.tools.len(), job.demand.tools[0].name.as_str()), (1, "f"));
    assert_eq!(job.demand.tool_choice, ToolChoice::Auto);
}

#[test]
fn options_reach_the_job() {
    let extra = json!({
        "max_tokens": 9, "max_completion_tokens": 5, "stop": "END", "temperature": 0.5, "top_p": 0, "seed": 3,
        "reasoning_effort": "none", "parallel_tool_calls": false, "stream": true
    });
    let (job, warnings) = job(chat::read, &with(&extra));
    assert_eq!((job.max_output_tokens, job.stop), (Some(5), vec!["END".to_owned()]));
    assert_eq!((job.sampling.temperature, job.sampling.seed), (Some(0.5), Some(3)));
    assert!(job.sampling.top_p.is_some_and(|p| p > 0.0 && p < 1e-6));
    assert!(!job.demand.parallel_tool_calls);
    assert_eq!(job.template_arguments[0], ("enable_thinking".to_owned(), json!(false)));
    assert!(warnings.is_empty());
}

#[test]
fn effort_and_budget_are_read_from_all_their_fields() {
    for (extra, effort, budget) in [
        (json!({ "reasoning": { "effort": "low", "max_tokens": 7 } }), Some("low"), Some(7)),
        (json!({ "reasoning": { "effort": "low" }, "reasoning_effort": "high" }), Some("high"), None),
        (
            json!({ "reasoning": { "max_tokens": 7 }, "thinking": { "type": "enabled", "budget_tokens": 6 } }),
            None,
            Some(6),
        ),
        (json!({ "reasoning": { "max_tokens": 7 }, "thinking_token_budget": 5 }), None, Some(5)),
    ] {
        let (job, warnings) = job(chat::read, &with(&extra));
        let told = job.template_arguments.iter().find(|(name, _)| name == "reasoning_effort");
        assert_eq!(told.and_then(|(_, effort)| effort.as_str()), effort, "{extra}");
        assert_eq!((job.reasoning_budget, warnings), (budget, Vec::<String>::new()), "{extra}");
    }
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    for (extra, start) in [
        (json!({ "n": 17 }), "n: expected an integer from 1 to 16, got 17"),
        (json!({ "top_logprobs": 3 }), "top_logprobs: logprobs must be true"),
        (json!({ "logprobs": true, "top_logprobs": 21 }), "top_logprobs: expected an integer from 0 to 20"),
        (json!({ "add_generation_prompt": false }), "add_generation_prompt: false is supported with"),
        (
            json!({ "add_generation_prompt": true, "continue_final_message": true }),
            "continue_final_message: it and add_generation_prompt can't both",
        ),
        (json!({ "tools": [{ "type": "custom" }] }), "tools[0].custom: missing"),
        (json!({ "logit_bias": { "x": 1 } }), "logit_bias.x: expected a token id"),
        (json!({ "logit_bias": { "7": 101 } }), "logit_bias.7: expected a number from -100 to 100"),
        (json!({ "presence_penalty": 2.5 }), "presence_penalty: expected a number from -2 to 2"),
        (json!({ "repetition_penalty": 0 }), "repetition_penalty: expected a number from 0.01"),
        (json!({ "min_p": 1.5 }), "min_p: expected a number from 0 to 1"),
        (json!({ "bad_words": [""] }), "bad_words[0]: the text must not be empty"),
        (json!({ "bad_words": vec!["x"; 129] }), "bad_words: at most 128 texts, got 129"),
        (json!({ "bad_words": ["x", "y".repeat(513)] }), "bad_words[1]: it is longer than 512 bytes"),
        (json!({ "stop_token_ids": [-1] }), "stop_token_ids[0]: expected a token id"),
        (json!({ "tool_choice": "required" }), "tool_choice: a call is demanded"),
        (json!({ "functions": [{}] }), "functions: superseded"),
        (json!({ "stop": vec!["x"; 17] }), "stop: at most 16 texts, got 17"),
        (json!({ "stop": [""] }), "stop[0]: the text must not be empty"),
        (json!({ "stop": [3] }), "stop[0]: expected a string, got number"),
        (json!({ "messages": [] }), "messages: there is no message"),
        (json!({ "messages": null }), "messages: missing: expected a list"),
        (json!({ "messages": [{ "role": "user" }] }), "messages[0].content: missing"),
        (
            json!({ "messages": [{ "role": "assistant", "tool_calls": [{ "id": "c" }] }] }),
            "messages[0].tool_calls[0].function: missing",
        ),
        (json!({ "tools": [{ "type": "function" }] }), "tools[0].function: missing"),
        (json!({ "max_tokens": 0 }), "max_tokens: expected an integer"),
    ] {
        let message = refused(&extra);
        assert!(message.starts_with(start), "{message}");
    }
}

#[test]
fn neutral_values_pass_silently_and_others_warn() {
    let neutral = json!({ "n": 1, "logprobs": false, "top_logprobs": 0, "response_format": { "type": "text" },
        "presence_penalty": 0, "frequency_penalty": 0.0, "logit_bias": {}, "stop": null, "store": false });
    let (job_of_neutral, warnings) = job(chat::read, &with(&neutral));
    assert!(warnings.is_empty());
    assert_eq!(job_of_neutral, job(chat::read, &with(&json!({}))).0);
    let (_, warnings) = job(
        chat::read,
        &with(&json!({ "presence_penalty": 0.5, "hologram": {},
        "stream_options": { "continuous_usage_stats": true } })),
    );
    assert_eq!(
        warnings,
        ["unknown field hologram ignored", "stream_options.continuous_usage_stats ignored: usage comes last"]
    );
}

#[test]
fn all_of_sampling_reaches_the_job() {
    let extra = json!({
        "presence_penalty": 0.5, "frequency_penalty": -2, "repetition_penalty": 1.25, "min_p": 0.25, "top_k": 4,
        "logit_bias": { "7": -100, "9": 1.5 }, "bad_words": ["no", "never ever"], "stop_token_ids": [3],
        "ignore_eos": true, "min_tokens": 7,
        "include_stop_str_in_output": true, "n": 3
    });
    let (job, warnings) = job(chat::read, &with(&extra));
    assert!(warnings.is_empty(), "{warnings:?}");
    let expected = SamplingRequest {
        top_k: Some(4),
        min_p: Some(0.25),
        presence_penalty: 0.5,
        frequency_penalty: -2.0,
        repetition_penalty: Some(1.25),
        logit_bias: vec![(7, -100.0), (9, 1.5)],
        bad_words: vec!["no".to_owned(), "never ever".to_owned()],
        stop_token_ids: vec![3],
        ignore_eos: true,
        min_tokens: 7,
        include_stop: true,
        n: Some(3),
        ..SamplingRequest::default()
    };
    assert_eq!(job.sampling, expected);
}

#[test]
fn as_many_tokens_may_be_biased_as_the_limit_says() {
    let biases = |count: u32| -> Value { (0..count).map(|id| (id.to_string(), json!(1))).collect() };
    let (job, _) = job(chat::read, &with(&json!({ "logit_bias": biases(300) })));
    assert_eq!(job.sampling.logit_bias.len(), 300);
    assert_eq!(refused(&json!({ "logit_bias": biases(301) })), "logit_bias: at most 300 tokens, got 301");
}

#[test]
fn logprobs_are_asked_for_with_or_without_top_ones() {
    let asked = |extra: Value| job(chat::read, &with(&extra)).0.logprobs;
    assert_eq!(asked(json!({})), None);
    assert_eq!(asked(json!({ "logprobs": true })), Some(0));
    assert_eq!(asked(json!({ "logprobs": true, "top_logprobs": 20 })), Some(20));
}

#[test]
fn a_message_to_go_on_with_is_named_in_three_ways() {
    let prefilled = json!([{ "role": "user", "content": "q" }, { "role": "assistant", "content": "It is" }]);
    let marked = json!([{ "role": "user", "content": "q" }, { "role": "assistant", "content": "It is", "prefix": true }]);
    for extra in [
        json!({ "messages": prefilled, "continue_final_message": true }),
        json!({ "messages": prefilled, "continue_final_message": true, "add_generation_prompt": false }),
        json!({ "messages": marked }),
    ] {
        let (job, warnings) = job(chat::read, &with(&extra));
        assert_eq!((job.beginning, warnings.len()), (Beginning::ContinueLast, 0), "{extra}");
    }
    let (job, _) = job(chat::read, &with(&json!({ "messages": prefilled })));
    assert_eq!(job.beginning, Beginning::Answer);
}

#[test]
fn custom_tools_are_declared_and_calls_remembered() {
    let call = json!({ "id": "c1", "type": "custom", "custom": { "name": "patch", "input": "*** \"x\"" } });
    let extra = json!({
        "tools": [{ "type": "custom", "custom": { "name": "patch", "description": "d", "format": { "type": "text" } } }],
        "messages": [
            { "role": "user", "content": "q" },
            { "role": "assistant", "content": null, "tool_calls": [call] },
            { "role": "tool", "tool_call_id": "c1", "content": "done" },
        ]
    });
    let (job, warnings) = job(chat::read, &with(&extra));
    assert!(warnings.is_empty());
    assert_eq!(
        (job.demand.tools[0].kind, job.conversation.tools[0].name.as_str()),
        (ToolKind::Custom, "patch")
    );
    let arguments = r#"{"input":"*** \"x\""}"#.to_owned();
    let expected = [HistoryCall { id: "c1".into(), name: "patch".into(), arguments }];
    assert_eq!(job.conversation.messages[1].tool_calls, expected);
    assert_eq!(job.conversation.messages[2].name.as_deref(), Some("patch"));
}

#[test]
fn deciding_fields_may_stand_only_once() {
    let body = |field: &str, first: &str, second: &str| {
        let rest = r#""model":"m","messages":[{"role":"user","content":"x"}]"#;
        format!(r#"{{"{field}":{first},{rest},"{field}":{second}}}"#)
    };
    let read = |body: &str| read(chat::read, body.as_bytes(), &defaults(), &Clock::at(0));
    for (field, value) in [
        ("model", r#""m""#),
        ("m\\u006fdel", r#""m""#),
        ("messages", "[]"),
        ("stream", "true"),
        ("tools", "[]"),
        ("input", "1"),
    ] {
        let error = read(&body(field, value, value)).err().unwrap_or_else(|| panic!("{field} is taken"));
        let name = if field.starts_with("m\\") { "model" } else { field };
        assert_eq!((error.status, error.param.as_deref()), (400, Some(name)), "{}", error.message);
    }
    let warned = read(&body("temperature", "0.5", "1")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(warned.warnings, ["temperature is given more than once: the last one counts"]);
    assert_eq!(warned.job.sampling.temperature, Some(1.0));
    let nested = r#"{"model":"m","messages":[{"role":"user","content":"x","content":"y"}]}"#;
    let warned = read(nested).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(warned.warnings, ["messages[0].content is given more than once: the last one counts"]);
}

#[test]
fn tools_of_a_message_are_seen_there_and_may_be_called() {
    let tool = |name: &str| json!({ "type": "function", "function": { "name": name, "parameters": {} } });
    let body = |declares: Value| {
        json!({ "model": "m", "tools": [tool("f")], "tool_choice": { "type": "function", "function": { "name": "h" } },
            "messages": [{ "role": "user", "content": "q" }, declares] })
    };
    let (job, warnings) =
        job(chat::read, &body(json!({ "role": "system", "content": "", "tools": [tool("g"), tool("h")] })));
    assert!(warnings.is_empty(), "{warnings:?}");
    let callable: Vec<&str> = job.demand.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!((callable.join(" "), job.conversation.tools.len()), ("f g h".to_owned(), 1));
    let [g, h] = ["g", "h"].map(|name| tool(name).to_string());
    assert_eq!(job.conversation.messages[1].content.joined(), format!("{g}\n{h}"));
    for (declares, words) in [
        (json!({ "role": "user", "content": "x", "tools": [tool("h")] }), "only a system's or developer's"),
        (
            json!({ "role": "assistant", "content": "x", "tools": [tool("h")] }),
            "only a system's or developer's",
        ),
        (json!({ "role": "system", "content": "x", "tools": [tool("h")] }), "has no text"),
        (json!({ "role": "system", "tools": [tool("h"), tool("h")] }), "whose name another one has"),
        (json!({ "role": "system", "tools": [tool("f")] }), "whose name another one has"),
        (json!({ "role": "system", "tools": [{ "type": "moon" }] }), "messages[1].tools[0].type: expected"),
    ] {
        let error = refusal(chat::read, &body(declares));
        assert!(error.status == 400 && error.message.contains(words), "{error}");
    }
}

#[test]
fn tools_of_all_messages_have_one_number() {
    let tools = |first: usize| -> Vec<Value> {
        let tool = |n| json!({ "type": "function", "function": { "name": format!("f{n}") } });
        (first..first + 200).map(tool).collect()
    };
    let declares = |first: usize| json!({ "role": "system", "tools": tools(first) });
    let body = |messages: &[Value]| json!({ "tools": tools(0), "messages": messages });
    assert_eq!(job(chat::read, &with(&body(&[declares(200)]))).0.demand.tools.len(), 400);
    let message = refused(&body(&[declares(200), declares(400)]));
    assert!(message.starts_with("messages[1].tools: at most 312 tools"), "{message}");
}
