//! Content that clients send in parts: each protocol's parts reach the prompt in the form that the
//! model's chat template takes.

use model::{EngineChoice, ModelOptions};
use serde_json::{Value, json};
use tests::client::answered;
use tests::fake_engine::{Action, FakeEngine, tokenizer, whole};
use tests::server::{Setup, TestServer};

/// Ways in which a template writes the content of a message: strings and lists, lists, or strings.
const BOTH: &str = "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}";
const LISTS: &str = "{% for p in m.content %}{% if p.type == 'image' %}<image>{% endif %}{% if p.type == 'text' %}{{ p.text }}{% endif %}{% endfor %}";
const STRINGS: &str = "{{ m.content + '' }}";

/// A list of parts of type `kind`.
fn parts(kind: &str, texts: &[&str]) -> Value {
    texts.iter().map(|text| json!({ "type": kind, "text": text })).collect()
}

/// The same conversation in each protocol. Where a text has one part only, it is sent as a string
/// if `as_strings`.
fn conversation(as_strings: bool) -> [(&'static str, Value); 4] {
    let one = |kind: &str, text: &str| if as_strings { json!(text) } else { parts(kind, &[text]) };
    let chat = |called: Value, mut result: Value| {
        result["content"] = parts("text", &["x", "y"]);
        let mut calling = json!({ "role": "assistant", "content": parts("text", &["a", "b"]) });
        calling.as_object_mut().expect("an object").extend(called.as_object().expect("an object").clone());
        json!({ "model": "qwen3-tiny", "messages": [
            { "role": "system", "content": parts("text", &["Be ", "kind."]) },
            { "role": "user", "content": parts("text", &["What", " now", "?"]) },
            calling,
            result,
            { "role": "assistant", "content": one("text", "So.") },
            { "role": "user", "content": one("text", "And?") },
        ] })
    };
    let function = json!({ "name": "f", "arguments": "{}" });
    let call = json!({ "tool_calls": [{ "id": "c", "type": "function", "function": function }] });
    [
        ("/v1/chat/completions", chat(call, json!({ "role": "tool", "tool_call_id": "c" }))),
        (
            "/v1/chat/completions",
            chat(json!({ "function_call": function }), json!({ "role": "function", "name": "f" })),
        ),
        (
            "/v1/responses",
            json!({ "model": "qwen3-tiny", "input": [
                { "role": "system", "content": parts("input_text", &["Be ", "kind."]) },
                { "role": "user", "content": parts("input_text", &["What", " now", "?"]) },
                { "type": "message", "role": "assistant", "content": parts("output_text", &["a", "b"]) },
                { "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}" },
                { "type": "function_call_output", "call_id": "c", "output": parts("input_text", &["x", "y"]) },
                { "role": "assistant", "content": one("output_text", "So.") },
                { "role": "user", "content": one("input_text", "And?") },
            ] }),
        ),
        (
            "/v1/messages",
            json!({ "model": "qwen3-tiny", "max_tokens": 9, "system": parts("text", &["Be ", "kind."]), "messages": [
                { "role": "user", "content": parts("text", &["What", " now", "?"]) },
                { "role": "assistant", "content": [
                    { "type": "text", "text": "a" }, { "type": "text", "text": "b" },
                    { "type": "tool_use", "id": "c", "name": "f", "input": {} },
                ] },
                { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c", "content": parts("text", &["x", "y"]) }] },
                { "role": "assistant", "content": one("text", "So.") },
                { "role": "user", "content": one("text", "And?") },
            ] }),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parts_reach_the_prompt_in_the_templates_form() {
    let concatenated = "system:Be kind.;user:What now?;assistant:ab;tool:xy;assistant:So.;user:And?;";
    let joined = "system:Be \nkind.;user:What\n now\n?;assistant:a\nb;tool:x\ny;assistant:So.;user:And?;";
    for (way, expected) in [(BOTH, concatenated), (LISTS, concatenated), (STRINGS, joined)] {
        let engine = FakeEngine::start(|_, _| vec![Action::Send(whole("Hm."))]).await;
        let template = format!("{{% for m in messages %}}{{{{ m.role }}}}:{way};{{% endfor %}}");
        let mut setup = Setup::default().with_parser("none");
        let engine_choice = engine.url().parse::<EngineChoice>().expect("a URL");
        setup.model = ModelOptions { chat_template: Some(template), engine: engine_choice, ..setup.model };
        let server = TestServer::start(setup).await;
        for (path, body) in [conversation(true), conversation(false)].concat() {
            answered(server.address, path, &body).await;
            let request = engine.received.requests().pop().expect("one for each answer");
            let ids: Vec<u32> =
                serde_json::from_value(request["token_ids"].clone()).expect("the prompt's ids");
            assert_eq!(tokenizer().decode(&ids).expect("a prompt"), expected, "{path} {way}");
        }
        assert_eq!(engine.received.requests().len(), 8, "{way}");
        server.stop().await;
    }
}
