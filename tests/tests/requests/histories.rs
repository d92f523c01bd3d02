//! Histories and tools that a model's chat template or parser can't take as they were sent: the
//! answer comes, and its warning header says so.

use model::ModelOptions;
use serde_json::{Value, json};
use tests::client::post;
use tests::server::{Setup, TestServer};

const BROKEN: &str = r#"{"city": "Os"#;
const WRAPPED: &str =
    r#"arguments of an earlier call are no JSON object: the model sees them as {"input": ...}"#;

async fn server(template: &str, parser: &str) -> (TestServer, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let setup = Setup::replay(folder.path(), &json!([{ "text": "said" }])).with_parser(parser);
    let model = ModelOptions { chat_template: Some(template.to_owned()), ..setup.model };
    (TestServer::start(Setup { model, ..Setup::default() }).await, folder)
}

/// The warning header of the answer, which must be a 200; empty if there is none.
async fn warning(server: &TestServer, path: &str, body: &Value) -> String {
    let mut body = body.clone();
    body["model"] = json!(server.model.names()[0]);
    let answer = post(server.address, path, &body).await;
    assert_eq!(answer.status, 200, "{path}: {:?}", answer.body);
    let header = answer.headers.get("x-sluice-warning");
    header.map(|value| value.to_str().expect("ASCII").to_owned()).unwrap_or_default()
}

/// A history with a call whose arguments are `arguments`, in each protocol that has text there.
fn histories(arguments: &str) -> [(&'static str, Value); 2] {
    let call = json!({ "id": "c", "type": "function", "function": { "name": "f", "arguments": arguments } });
    [
        (
            "/v1/chat/completions",
            json!({ "messages": [
                { "role": "user", "content": "x" },
                { "role": "assistant", "content": null, "tool_calls": [call] },
                { "role": "tool", "tool_call_id": "c", "content": "broken" },
            ] }),
        ),
        (
            "/v1/responses",
            json!({ "input": [
                { "type": "message", "role": "user", "content": "x" },
                { "type": "function_call", "call_id": "c", "name": "f", "arguments": arguments },
                { "type": "function_call_output", "call_id": "c", "output": "broken" },
            ] }),
        ),
    ]
}

/// A history of Messages, where arguments are JSON values.
fn messages(input: &Value) -> Value {
    json!({ "max_tokens": 9, "messages": [
        { "role": "user", "content": "x" },
        { "role": "assistant", "content": [{ "type": "tool_use", "id": "c", "name": "f", "input": input }] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c", "content": "broken" }] },
    ] })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_call_in_history_ends_no_conversation() {
    let template = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}\
                    {% for k, v in c.function.arguments|items %}{{ k }}={{ v }}{% endfor %}{% endfor %}{% endfor %}";
    let (server, _folder) = server(template, "qwen3").await;
    for (path, body) in histories(BROKEN) {
        assert_eq!(warning(&server, path, &body).await, WRAPPED, "{path}");
    }
    for (path, body) in histories(r#"{"city": "Oslo"}"#) {
        assert_eq!(warning(&server, path, &body).await, "", "{path}");
    }
    for path in ["/v1/messages", "/v1/messages/count_tokens"] {
        assert_eq!(warning(&server, path, &messages(&json!({ "city": "Oslo" }))).await, "", "{path}");
        assert_eq!(warning(&server, path, &messages(&json!(BROKEN))).await, WRAPPED, "{path}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unseen_tools_and_unread_calls_are_told_of() {
    const UNSEEN: &str = "tools have no effect: this model's chat template does not show them";
    const UNREAD: &str = "calls come as text: this model is served without a parser";
    let schema = json!({ "type": "object" });
    let chat = json!({ "messages": [{ "role": "user", "content": "x" }],
        "tools": [{ "type": "function", "function": { "name": "f", "parameters": schema } }] });
    let responses =
        json!({ "input": "x", "tools": [{ "type": "function", "name": "f", "parameters": schema }] });
    let messages = json!({ "max_tokens": 9, "messages": [{ "role": "user", "content": "x" }],
        "tools": [{ "name": "f", "input_schema": schema }] });
    let all = [("/v1/chat/completions", chat), ("/v1/responses", responses), ("/v1/messages", messages)];
    let blind = "{% for m in messages %}{{ m.content }}{% endfor %}";
    for (template, parser, expected) in [
        (blind.to_owned(), "qwen3", UNSEEN.to_owned()),
        (format!("{blind}{{{{ tools }}}}"), "none", UNREAD.to_owned()),
        (blind.to_owned(), "none", format!("{UNSEEN}; {UNREAD}")),
        (format!("{blind}{{{{ tools }}}}"), "qwen3", String::new()),
    ] {
        let (server, _folder) = server(&template, parser).await;
        for (path, body) in &all {
            assert_eq!(warning(&server, path, body).await, expected, "{path} {template} {parser}");
        }
        let plain = json!({ "messages": [{ "role": "user", "content": "x" }] });
        assert_eq!(warning(&server, "/v1/chat/completions", &plain).await, "");
        server.stop().await;
    }
}

/// What a conversation leads a template to is the client's to change, whatever it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_template_refuses_is_a_400_in_its_own_words() {
    for (fault, said) in [
        ("raise_exception('Only two messages, please.')", "Only two messages, please."),
        ("messages[0].nosuch.x", "'dict object' has no attribute 'nosuch' (line 2 of the template)"),
        ("1 | nosuch", "no filter named 'nosuch' (line 2 of the template)"),
        ("10 ** 100000", "makes texts of more than"),
    ] {
        let template = format!(
            "{{{{ messages[0].content }}}}\n{{% if messages | length > 2 %}}{{{{ {fault} }}}}{{% endif %}}"
        );
        let (server, _folder) = server(&template, "none").await;
        let model = server.model.names()[0].clone();
        let turns: Vec<Value> = ["user", "assistant", "user"]
            .iter()
            .map(|role| json!({ "role": role, "content": "x" }))
            .collect();
        for (path, input) in
            [("/v1/chat/completions", "messages"), ("/v1/responses", "input"), ("/v1/messages", "messages")]
        {
            let answer =
                post(server.address, path, &json!({ "model": model, "max_tokens": 5, input: turns })).await;
            let error = String::from_utf8_lossy(&answer.body);
            assert!(
                answer.status == 400 && error.contains(said),
                "{path} {fault}: {} {error}",
                answer.status
            );
        }
    }
}
