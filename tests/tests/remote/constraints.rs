//! Constraints of an answer are sent to the remote engine as the text of a grammar. If the engine
//! can't follow the grammar, a request that demands it is refused, and one for which it is optional
//! is sent again without it.

use serde_json::{Value, json};
use tests::client::post;
use tests::fake_engine::{Action, FakeEngine, Identity, head, whole};

use crate::setup::{server_for, start};

const CALL: &str = "<think>\n\n</think>\n\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";

/// Body of a request with a strict tool.
fn request(tool_choice: &str) -> Value {
    let parameters = json!({
        "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"], "additionalProperties": false
    });
    let tool = json!({ "type": "function", "name": "get_weather", "strict": true, "parameters": parameters });
    json!({ "model": "qwen3-tiny", "input": "The weather in Oslo?", "tools": [tool], "tool_choice": tool_choice })
}

fn grammar_of(body: &Value) -> &Value {
    &body["sampling_params"]["structured_outputs"]["grammar"]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn demanded_call_is_a_grammar_in_the_models_tokens() {
    let engine = FakeEngine::start(|_, _| vec![Action::Send(whole(CALL))]).await;
    let server = server_for(&engine.url()).await;
    let answer = post(server.address, "/v1/responses", &request("required")).await.json();
    let call =
        answer["output"].as_array().expect("items").iter().find(|item| item["type"] == "function_call");
    assert_eq!(call.expect("a call")["arguments"], r#"{"city": "Oslo"}"#);
    let sent = engine.received.requests();
    let grammar = grammar_of(&sent[0]).as_str().expect("a grammar");
    // `<tool_call>` is token 709 of the embedded model.
    assert!(grammar.contains("<[709]>") && grammar.contains("get_weather"), "{grammar}");
    server.stop().await;
}

/// Starts an engine that fails for every grammar, with this error in an answer of status 200.
async fn fails_over_grammars(error: Value) -> FakeEngine {
    FakeEngine::start(move |_, body| {
        let failed = [head(), format!("data: {error}\n\ndata: [DONE]\n\n").into_bytes()].concat();
        vec![Action::Send(if grammar_of(body).is_null() { whole(CALL) } else { failed })]
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failing_wishes_are_left_out_and_demands_refused() {
    for code in [400, 500] {
        let engine =
            fails_over_grammars(json!({ "error": { "message": "no such grammar", "code": code } })).await;
        let server = server_for(&engine.url()).await;
        let wished = post(server.address, "/v1/responses", &request("auto")).await;
        assert_eq!(
            (wished.status.as_u16(), wished.json()["output"][0]["type"].as_str()),
            (200, Some("function_call"))
        );
        let sent = engine.received.requests();
        assert_eq!(sent.iter().map(|body| grammar_of(body).is_null()).collect::<Vec<_>>(), [false, true]);
        let demanded = post(server.address, "/v1/responses", &request("required")).await;
        assert_eq!(demanded.status, code);
        if code == 400 {
            let error = &demanded.json()["error"];
            assert_eq!(error["param"], "tool_choice");
            assert!(
                error["message"].as_str().is_some_and(|message| message.contains("no such grammar")),
                "{error}"
            );
        }
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_followed_schema_is_refused_by_its_keyword() {
    let schema = |items: &Value| json!({ "type": "object", "properties": { "list": items }, "required": ["list"], "additionalProperties": false });
    let request = |schema: Value| {
        let format = json!({ "type": "json_schema", "name": "answer", "strict": true, "schema": schema });
        json!({ "model": "qwen3-tiny", "input": "Who?", "text": { "format": format }, "reasoning": { "effort": "none" } })
    };
    let identity = Identity { owner: "llamacpp", ..Identity::default() };
    let end = b"data: {\"stop\":true,\"stop_type\":\"limit\",\"tokens_predicted\":1}\n\n";
    let engine = FakeEngine::start_as(identity, ([127, 0, 0, 1], 0).into(), |_, _| {
        vec![Action::Send([head(), end.to_vec()].concat())]
    })
    .await;
    let server = server_for(&engine.url()).await;
    let weak = [
        ("uniqueItems", json!({ "type": "array", "items": { "type": "integer" }, "uniqueItems": true })),
        ("multipleOf", json!({ "type": "integer", "multipleOf": 5 })),
        (
            "patternProperties",
            json!({ "type": "object", "patternProperties": { "^a": { "type": "integer" } } }),
        ),
        ("contains", json!({ "type": "array", "items": { "type": "integer" }, "contains": { "const": 1 } })),
        ("pattern", json!({ "type": "string", "pattern": "^\\d+$" })),
    ];
    for (keyword, items) in weak {
        let answer = post(server.address, "/v1/responses", &request(schema(&items))).await;
        let error = &answer.json()["error"];
        assert_eq!((answer.status.as_u16(), &error["param"]), (400, &json!("text.format")), "{error}");
        let message = error["message"].as_str().expect("a message");
        assert!(
            message.contains(&format!("\"{keyword}\" at #/properties/list/{keyword}"))
                && message.contains("llama.cpp"),
            "{message}"
        );
    }
    assert_eq!(engine.received.requests().len(), 0);
    let followed = json!({ "type": "array", "items": { "type": "integer" }, "minItems": 1 });
    let answer = post(server.address, "/v1/responses", &request(schema(&followed))).await;
    assert_eq!(answer.status, 200, "{:?}", answer.body);
    assert_eq!(engine.received.requests()[0]["json_schema"], schema(&followed));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn budget_of_reasoning_is_sent_where_the_operator_says_that_it_is_kept() {
    let budget = |body: &Value| body["sampling_params"]["thinking_token_budget"].clone();
    for keeps in [true, false] {
        let engine = FakeEngine::start(|_, _| vec![Action::Send(whole(CALL))]).await;
        let server = start(&engine.url(), |setup| {
            setup.model.engine_keeps_budgets = keeps;
            setup.model.reasoning_budgets = vec![("low".to_owned(), 5)];
        })
        .await;
        let asked = json!({ "model": "qwen3-tiny", "input": "Hi" });
        for (extra, sent) in [
            (json!({ "max_tokens": 7 }), json!(7)),
            (json!({ "effort": "low" }), json!(5)),
            (json!({ "effort": "high" }), Value::Null),
        ] {
            let mut asked = asked.clone();
            asked["reasoning"] = extra;
            let answer = post(server.address, "/v1/responses", &asked).await;
            assert_eq!(answer.headers.get("x-sluice-warning"), None);
            let bodies = engine.received.requests();
            let last = bodies.last().expect("a request");
            assert_eq!(budget(last), if keeps { sent } else { Value::Null });
        }
        server.stop().await;
    }
}
