//! Reasoning that ends at its budget, or when its client asks for that, on engines that know of neither: the server sends the prompt again, with
//! the thoughts that were told and their end behind it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use store::{Options, Sqlite};
use tests::client::{answered, get, json_request, open, post};
use tests::fake_engine::{Action, FakeEngine, done, event, head, ids, refusal};
use tests::server::{Setup, TestServer};
use tests::socket::{self, Socket};
use tests::tools::{calls, eventually, types};

use crate::setup::{server_for, start, text};

/// Tokens of a turn that thinks for long.
fn thoughts() -> Vec<u32> {
    ids(&format!("<think>\n{}", "I think of the weather. ".repeat(20)))
}

/// An answer in one event for each token, which ends only if `finish` says so.
fn told(ids: &[u32], finish: Option<&str>) -> Vec<Action> {
    let events =
        ids.iter().enumerate().flat_map(|(at, id)| event(&[*id], finish.filter(|_| at + 1 == ids.len())));
    let bytes = head().into_iter().chain(events);
    match finish {
        Some(_) => vec![Action::Send(bytes.chain(done()).collect())],
        None => vec![Action::Send(bytes.collect()), Action::UntilDisconnect],
    }
}

/// An engine that thinks, in these actions, until it is cut off, and then says hello.
async fn thinker(thinks: impl Fn() -> Vec<Action> + Send + Sync + 'static) -> FakeEngine {
    let end = ids("</think>")[0];
    FakeEngine::start(move |_, body| match body["token_ids"].as_array().and_then(|ids| ids.last()) {
        Some(last) if *last == json!(end) => told(&ids("\n\nHello."), Some("stop")),
        _ => thinks(),
    })
    .await
}

fn tokens(body: &Value) -> Vec<u32> {
    serde_json::from_value(body["token_ids"].clone()).expect("token ids")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reasoning_ends_at_its_budget_where_the_engine_knows_none() {
    let engine = thinker(|| told(&thoughts(), None)).await;
    let server = server_for(&engine.url()).await;
    for budget in [1, 4, 16, 64] {
        let before = engine.received.requests().len();
        let body = json!({ "model": "qwen3-tiny", "input": "Hi", "reasoning": { "max_tokens": budget } });
        let answer = post(server.address, "/v1/responses", &body).await;
        assert_eq!(answer.headers.get("x-sluice-warning"), None);
        assert_eq!(text(&answer), "Hello.");
        let usage = &answer.json()["usage"];
        let reasoning = usage["output_tokens_details"]["reasoning_tokens"].as_u64().expect("a count");
        assert!((budget..=budget + 1).contains(&reasoning), "{budget}: {usage}");
        let [first, second] = &engine.received.requests()[before..] else { panic!("two requests") };
        let (prompt, whole) = (tokens(first), tokens(second));
        let thought = &whole[prompt.len()..whole.len() - 1];
        assert!(whole.starts_with(&prompt) && thoughts().starts_with(thought), "{whole:?}");
        assert_eq!(usage["input_tokens"], json!(prompt.len()), "the thoughts are no input");
        assert_eq!(usage["output_tokens"], json!(thought.len() + 1 + ids("\n\nHello.").len()));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_protocol_and_the_operator_have_budgets_on_such_engines() {
    let engine = thinker(|| told(&thoughts(), None)).await;
    let server =
        start(&engine.url(), |setup| setup.model.reasoning_budgets = vec![("low".to_owned(), 5)]).await;
    let said = json!([{ "role": "user", "content": "Hi" }]);
    for (path, body, usage) in [
        (
            "/v1/chat/completions",
            json!({ "messages": said, "reasoning_effort": "low" }),
            "/usage/completion_tokens_details/reasoning_tokens",
        ),
        (
            "/v1/messages",
            json!({ "messages": said, "max_tokens": 90, "thinking": { "type": "enabled", "budget_tokens": 5 } }),
            "/usage/output_tokens_details/thinking_tokens",
        ),
    ] {
        let mut body = body;
        body["model"] = json!("qwen3-tiny");
        let answer = post(server.address, path, &body).await;
        assert_eq!(answer.headers.get("x-sluice-warning"), None);
        let tokens = answer.json().pointer(usage).and_then(Value::as_u64).expect("a count");
        assert!((5..=6).contains(&tokens), "{path}: {}", answer.json());
        assert!(String::from_utf8_lossy(&answer.body).contains("Hello."));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_choice_and_each_answer_on_a_socket_has_its_own_budget() {
    let engine = thinker(|| told(&thoughts(), None)).await;
    let server = server_for(&engine.url()).await;
    let said = json!([{ "role": "user", "content": "Hi" }]);
    let body = json!({ "model": "qwen3-tiny", "messages": said, "n": 3, "thinking_token_budget": 5 });
    let answer = answered(server.address, "/v1/chat/completions", &body).await;
    let choices = answer["choices"].as_array().expect("choices");
    assert!(choices.iter().all(|choice| choice["message"]["content"] == "Hello."), "{answer}");
    let tokens = &answer["usage"]["completion_tokens_details"]["reasoning_tokens"];
    assert!((15..=18).contains(&tokens.as_u64().expect("a count")), "{answer}");
    assert_eq!((choices.len(), engine.received.requests().len()), (3, 6));

    let mut client = Socket::open(server.address).await;
    for budget in [4, 16] {
        let answer = client.answer(json!({ "input": "Hi", "reasoning": { "max_tokens": budget } })).await;
        let tokens = &answer["usage"]["output_tokens_details"]["reasoning_tokens"];
        assert!((budget..=budget + 1).contains(&tokens.as_u64().expect("a count")), "{answer}");
        assert_eq!(socket::text(&answer), "Hello.");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_ends_the_reasoning_of_such_an_engine() {
    let thoughts: Vec<u32> = thoughts().into_iter().cycle().take(4000).collect();
    let engine = thinker(move || {
        let events = thoughts.iter().map(|id| event(&[*id], None));
        vec![Action::Send(head()), Action::Paced(events.collect(), Duration::from_millis(5))]
    })
    .await;
    // Each of two servers that share a store is asked to end what this one or the other one runs.
    let store = Sqlite::memory(&Options { host: "here".to_owned(), ..Options::default() }).expect("memory");
    let beside = Arc::new(store.beside("there"));
    let sharing = async |store| start(&engine.url(), |setup| setup.store = Some(store)).await;
    let servers = [sharing(Arc::new(store)).await, sharing(beside).await];
    for (runs, asked) in [(0, 0), (0, 1), (1, 0)] {
        let body = json!({ "model": "qwen3-tiny", "input": "Hi", "stream": true });
        let request = json_request("/v1/responses", body.to_string());
        let mut answer = open(servers[runs].address, request).await;
        let first = answer.next().await.expect("an event");
        let first = String::from_utf8(first.to_vec()).expect("text");
        let (_, id) = first.split_once(r#""id":"resp_"#).expect("an id");
        let path = format!("/v1/responses/resp_{}", id.split_once('"').expect("its end").0);
        let end = format!("{path}/end_reasoning");
        let asks = async || post(servers[asked].address, &end, &Value::Null).await;
        eventually("it thinks", async || asks().await.status == 200).await;
        while answer.next().await.is_some() {}
        let response = get(servers[asked].address, &path).await.json();
        assert_eq!(
            (&response["status"], types(&response)),
            (&json!("completed"), vec!["reasoning", "message"])
        );
        let refused = asks().await;
        assert_eq!(
            (refused.status.as_u16(), &refused.json()["error"]["code"]),
            (409, &json!("response_not_reasoning"))
        );
    }
    let background = json!({ "model": "qwen3-tiny", "input": "Hi", "background": true });
    let queued = answered(servers[0].address, "/v1/responses", &background).await;
    let path = format!("/v1/responses/{}", queued["id"].as_str().expect("an id"));
    let end = format!("{path}/end_reasoning");
    eventually("it thinks", async || post(servers[1].address, &end, &Value::Null).await.status == 200).await;
    // Whichever runs it, both tell its events to the end.
    let stream = format!("{path}?stream=true&include_obfuscation=false");
    let (here, there) = tokio::join!(get(servers[0].address, &stream), get(servers[1].address, &stream));
    assert_eq!(here.events(), there.events());
    assert_eq!(types(&here.events().last().expect("an end")["response"]), ["reasoning", "message"]);
    for server in servers {
        server.stop().await;
    }
}

/// A model that opens its reasoning again behind each end, and engines that refuse what follows or never begin
/// it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stubborn_models_and_engines_are_bounded() {
    let body = json!({ "model": "qwen3-tiny", "input": "Hi", "reasoning": { "max_tokens": 2 }, "max_output_tokens": 200 });
    let engine = FakeEngine::start(|_, _| told(&thoughts(), Some("stop"))).await;
    let server = server_for(&engine.url()).await;
    let answer = answered(server.address, "/v1/responses", &body).await;
    let asked = engine.received.requests().len();
    assert!((2..=17).contains(&asked), "{asked} requests: {answer}");
    server.stop().await;

    let never_begins = vec![Action::Send(head()), Action::UntilDisconnect];
    for behind in [vec![Action::Send(refusal(500, "", "{}"))], never_begins] {
        let engine = FakeEngine::start(move |number, _| match number {
            0 => told(&thoughts(), None),
            _ => behind.clone(),
        })
        .await;
        let server = start(&engine.url(), |setup| {
            setup.limits.model.remote.first_token_time = Duration::from_millis(500);
        })
        .await;
        let answer = post(server.address, "/v1/responses", &body).await;
        let (status, answer) = (answer.status.as_u16(), answer.json());
        assert_eq!((status, &answer["status"], types(&answer)), (500, &json!("failed"), vec!["reasoning"]));
        server.stop().await;
    }
}

/// Grammars of whole turns begin anew behind the end: calls keep their form there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_before_a_host_keeps_budgets_beside_strict_tools() {
    let last = TestServer::start(Setup::default()).await;
    let first = server_for(&format!("http://{}", last.address)).await;
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"], "additionalProperties": false });
    let tool = json!({ "type": "function", "name": "get_weather", "parameters": schema, "strict": true });
    for (tools, choice) in [(json!([]), "auto"), (json!([tool]), "auto"), (json!([tool]), "required")] {
        for budget in [0, 4, 16, 1000] {
            let body = json!({
                "model": "qwen3-tiny", "input": "What is the weather in Helsinki?", "temperature": 0, "tools": tools,
                "tool_choice": choice, "reasoning": { "max_tokens": budget }
            });
            let answer = post(first.address, "/v1/responses", &body).await;
            assert_eq!(
                (answer.status.as_u16(), answer.headers.get("x-sluice-warning")),
                (200, None),
                "{body}"
            );
            let answer = answer.json();
            let tokens =
                answer["usage"]["output_tokens_details"]["reasoning_tokens"].as_u64().expect("a count");
            assert!(tokens <= budget + 1, "{body}: {answer}");
            let last = answer["output"].as_array().and_then(|items| items.last()).expect("items");
            if choice == "required" {
                let arguments = last["arguments"].as_str().expect("a call");
                assert!(
                    serde_json::from_str::<Value>(arguments).expect("JSON")["city"].is_string(),
                    "{answer}"
                );
            } else {
                assert_ne!(last["type"], "reasoning", "{answer}");
            }
        }
    }
    first.stop().await;
    last.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn budgets_of_raw_prompts_and_scripts_are_said_not_to_be_kept() {
    let engine = thinker(|| told(&thoughts(), None)).await;
    let server = server_for(&engine.url()).await;
    let raw = json!({ "model": "qwen3-tiny", "prompt": "Hi", "max_tokens": 8, "thinking_token_budget": 4 });
    let folder = tempfile::tempdir().expect("a folder");
    let script = TestServer::start(Setup::replay(folder.path(), &json!([{ "text": calls(&[]) }]))).await;
    let asked = json!({ "model": "qwen3-tiny", "input": "Hi", "reasoning": { "max_tokens": 4 } });
    for (server, path, body, why) in [
        (&server, "/v1/completions", raw, "nothing tells thoughts from text behind a raw prompt"),
        (&script, "/v1/responses", asked, "a script writes the answer"),
    ] {
        let answer = post(server.address, path, &body).await;
        let warning = answer.headers["x-sluice-warning"].to_str().expect("a text");
        assert_eq!(warning, format!("reasoning has no bound: {why}"));
    }
    server.stop().await;
    script.stop().await;
}
