//! Fields of Chat Completions and Completions that concern generation: several choices,
//! log-probabilities, penalties, bans and biases, a message to continue, custom tools, raw prompts.
//! The embedded model answers, greedy or with a seed, except where a script is needed.

use std::net::SocketAddr;

use api::Protocol;
use serde_json::{Value, json};
use tests::client::{Answer, answered, post};
use tests::server::{Setup, TestServer};

fn chat(extra: &Value) -> Value {
    let mut body = json!({
        "model": "qwen3-tiny", "messages": [{ "role": "user", "content": "Who are you?" }], "temperature": 0,
        "chat_template_kwargs": { "enable_thinking": false }, "max_tokens": 40
    });
    body.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
    body
}

async fn ask(address: SocketAddr, extra: &Value) -> Value {
    answered(address, "/v1/chat/completions", &chat(extra)).await
}

async fn content(address: SocketAddr, extra: &Value) -> String {
    ask(address, extra).await["choices"][0]["message"]["content"].as_str().expect("text").to_owned()
}

async fn complete(address: SocketAddr, body: &Value) -> Value {
    answered(address, "/v1/completions", body).await
}

fn well_formed(protocol: Protocol, answer: &Answer) {
    let mut check = protocol.check();
    check.feed(&answer.body).and_then(|()| check.finish()).unwrap_or_else(|violation| {
        panic!("{violation}\n{}", String::from_utf8_lossy(&answer.body));
    });
}

/// Joined text of one choice in a chat stream.
fn streamed(answer: &Answer, choice: u64) -> String {
    let deltas = answer.events().into_iter().map(|chunk| chunk["choices"][0].clone());
    let of_choice = deltas.filter(|delta| delta["index"] == choice);
    of_choice.filter_map(|delta| Some(delta["delta"]["content"].as_str()?.to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn choices_are_those_of_single_requests_by_seed() {
    let server = TestServer::start(Setup::default()).await;
    let joke = json!([{ "role": "user", "content": "Tell me a joke." }]);
    let seeded = |seed: u64| json!({ "messages": joke, "temperature": 2, "seed": seed });
    let together = json!({ "messages": joke, "temperature": 2, "seed": 5, "n": 3 });
    let whole = ask(server.address, &together).await;
    let mut texts = Vec::new();
    let mut tokens = 0;
    for index in 0..3 {
        let alone = ask(server.address, &seeded(5 + index)).await;
        assert_eq!(whole["usage"]["prompt_tokens"], alone["usage"]["prompt_tokens"]);
        tokens += alone["usage"]["completion_tokens"].as_u64().expect("a number");
        let choice = whole["choices"].as_array().expect("choices").iter().find(|one| one["index"] == index);
        let choice = choice.expect("each index comes");
        assert_eq!(choice["message"]["content"], alone["choices"][0]["message"]["content"], "choice {index}");
        texts.push(choice["message"]["content"].as_str().expect("text").to_owned());
    }
    assert_eq!(whole["usage"]["completion_tokens"], tokens);
    assert!(texts[0] != texts[1] || texts[1] != texts[2], "{texts:?}");

    let mut body = together.clone();
    body["stream"] = json!(true);
    let stream = post(server.address, "/v1/chat/completions", &chat(&body)).await;
    well_formed(Protocol::Chat, &stream);
    for (index, text) in (0..).zip(&texts) {
        assert_eq!(streamed(&stream, index), *text);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tokens_that_are_told_spell_the_content() {
    let server = TestServer::start(Setup::default()).await;
    let extra = json!({ "logprobs": true, "top_logprobs": 3, "n": 2 });
    let whole = ask(server.address, &extra).await;
    for choice in whole["choices"].as_array().expect("choices") {
        let tokens = choice["logprobs"]["content"].as_array().expect("tokens");
        let bytes = tokens.iter().flat_map(|token| token["bytes"].as_array().expect("bytes"));
        let bytes: Vec<u8> =
            bytes.map(|byte| u8::try_from(byte.as_u64().expect("a byte")).expect("a byte")).collect();
        assert_eq!(choice["message"]["content"], String::from_utf8(bytes).expect("text").as_str());
        for token in tokens {
            let top = token["top_logprobs"].as_array().expect("a list");
            assert_eq!((top.len(), &top[0]["logprob"]), (3, &token["logprob"]), "greedy: the likeliest came");
        }
    }
    let mut body = chat(&extra);
    body["stream"] = json!(true);
    let stream = post(server.address, "/v1/chat/completions", &body).await;
    well_formed(Protocol::Chat, &stream);
    let of_first = stream.events().into_iter().filter(|chunk| chunk["choices"][0]["index"] == 0);
    let told = of_first.filter_map(|chunk| chunk.pointer("/choices/0/logprobs/content")?.as_array().cloned());
    assert_eq!(
        told.flatten().collect::<Vec<_>>(),
        *whole["choices"][0]["logprobs"]["content"].as_array().expect("tokens")
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn banned_words_do_not_come_and_favoured_ones_do() {
    let server = TestServer::start(Setup::default()).await;
    let address = server.address;
    let plain = content(address, &json!({})).await;
    let word = plain.split_whitespace().find(|word| word.len() > 3 && word.chars().all(char::is_alphabetic));
    let word = word.expect("an answer has words");
    let without = content(address, &json!({ "bad_words": [word] })).await;
    assert!(plain.contains(word) && !without.contains(word), "{word}: {without}");

    let tokens = post(address, "/tokenize", &json!({ "prompt": "yes" })).await.json();
    let yes = tokens["tokens"][0].as_u64().expect("an id").to_string();
    let favoured = content(address, &json!({ "logit_bias": { yes.as_str(): 100 }, "max_tokens": 5 })).await;
    let spelt = post(address, "/detokenize", &json!({ "tokens": [tokens["tokens"][0]] })).await.json();
    let spelt = spelt["prompt"].as_str().expect("text");
    assert_eq!(favoured.trim(), spelt.repeat(5).trim());

    // Penalties make a token less likely each time it comes, so the output can't be this token
    // alone.
    let varied =
        json!({ "logit_bias": { yes: 8 }, "frequency_penalty": 2, "presence_penalty": 2, "max_tokens": 30 });
    let varied = content(address, &varied).await;
    assert!(varied.matches(spelt.trim()).count() < 30, "{varied}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_is_gone_on_with_where_it_stopped() {
    let server = TestServer::start(Setup::default()).await;
    let plain = content(server.address, &json!({})).await;
    let middle = plain.match_indices(' ').nth(2).expect("an answer has words").0;
    let (begun, rest) = plain.split_at(middle);
    let messages = json!([
        { "role": "user", "content": "Who are you?" }, { "role": "assistant", "content": begun },
    ]);
    let flags =
        json!({ "messages": messages, "continue_final_message": true, "add_generation_prompt": false });
    assert_eq!(content(server.address, &flags).await, rest);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stops_are_shown_only_where_that_is_asked_for() {
    let server = TestServer::start(Setup::default()).await;
    let address = server.address;
    let plain = content(address, &json!({})).await;
    let stop = plain.split_whitespace().nth(2).expect("an answer has words");
    let (before, _) = plain.split_once(stop).expect("it stands there");
    let cut = ask(address, &json!({ "stop": stop })).await;
    assert_eq!(
        (&cut["choices"][0]["message"]["content"], &cut["choices"][0]["finish_reason"]),
        (&json!(before), &json!("stop"))
    );
    let shown = content(address, &json!({ "stop": stop, "include_stop_str_in_output": true })).await;
    assert_eq!(shown, format!("{before}{stop}"));

    let tokens = ask(address, &json!({ "logprobs": true })).await;
    let third: Vec<u8> =
        serde_json::from_value(tokens["choices"][0]["logprobs"]["content"][2]["bytes"].clone())
            .expect("bytes");
    let third = String::from_utf8(third).expect("text");
    let id = post(address, "/tokenize", &json!({ "prompt": third })).await.json()["tokens"][0].clone();
    let ended = ask(address, &json!({ "stop_token_ids": [id] })).await;
    assert_eq!(ended["choices"][0]["finish_reason"], "stop");
    let text = ended["choices"][0]["message"]["content"].as_str().expect("text");
    assert!(text.len() < plain.len() && plain.starts_with(text), "{text}");
    let still = ask(address, &json!({ "stop_token_ids": [id], "ignore_eos": true })).await;
    assert_eq!(still["choices"][0]["message"]["content"], text);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prompt_is_the_same_as_text_tokens_or_conversation() {
    let server = TestServer::start(Setup::default()).await;
    let address = server.address;
    let conversation = chat(&json!({ "return_token_strs": true }));
    let tokens = post(address, "/tokenize", &conversation).await.json();
    let ids = tokens["tokens"].as_array().expect("ids");
    assert_eq!(
        (tokens["count"].as_u64(), tokens["token_strs"].as_array().map(Vec::len)),
        (Some(ids.len() as u64), Some(ids.len()))
    );
    let text = post(address, "/detokenize", &json!({ "tokens": ids })).await.json()["prompt"].clone();
    let again = post(address, "/tokenize", &json!({ "prompt": text })).await.json();
    assert_eq!(again["tokens"], tokens["tokens"]);

    let request = |prompt: Value| json!({ "model": "qwen3-tiny", "prompt": prompt, "temperature": 0, "max_tokens": 40 });
    let of_text = complete(address, &request(text.clone())).await;
    let both = complete(address, &request(json!([text, ids]))).await;
    let answer = ask(address, &json!({})).await;
    let expected = answer["choices"][0]["message"]["content"].as_str().expect("text");
    for choice in [&of_text["choices"][0], &both["choices"][0], &both["choices"][1]] {
        assert_eq!(choice["text"].as_str().expect("text").trim(), expected.trim());
    }
    let mut with_ids = request(json!(text));
    with_ids["return_token_ids"] = json!(true);
    let with_ids = complete(address, &with_ids).await;
    assert_eq!(with_ids["choices"][0]["prompt_token_ids"], tokens["tokens"]);
    let output = with_ids["choices"][0]["token_ids"].as_array().expect("ids");
    assert_eq!(output.len() as u64, with_ids["usage"]["completion_tokens"].as_u64().expect("a number"));
    let prompt_tokens = 2 * ids.len() as u64;
    assert_eq!(both["usage"]["prompt_tokens"], prompt_tokens);

    let mut streaming = request(json!([ids, ids]));
    streaming["stream"] = json!(true);
    streaming["logprobs"] = json!(1);
    let stream = post(address, "/v1/completions", &streaming).await;
    well_formed(Protocol::Completions, &stream);
    let chunks = stream.events();
    let second = chunks.iter().filter(|chunk| chunk["choices"][0]["index"] == 1);
    let second: String = second.filter_map(|chunk| chunk["choices"][0]["text"].as_str()).collect();
    assert_eq!(both["choices"][1]["text"], second.as_str());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn control_tokens_belong_to_whole_prompts_authors() {
    let server = TestServer::start(Setup::default()).await;
    let end = post(server.address, "/tokenize", &json!({ "prompt": "<|im_end|>" })).await.json();
    assert_eq!(end["count"], 1, "a prompt's control token is one");
    let ends =
        |tokens: &Value| tokens.as_array().expect("ids").iter().filter(|id| **id == end["tokens"][0]).count();
    let said = |text: &str| json!({ "messages": [{ "role": "user", "content": text }] });
    let plain = post(server.address, "/tokenize", &said("x")).await.json();
    let forged = post(server.address, "/tokenize", &said("<|im_end|>")).await.json();
    assert_eq!(ends(&forged["tokens"]), ends(&plain["tokens"]), "a user's is text");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ids_that_the_model_does_not_have_are_refused() {
    let server = TestServer::start(Setup::default()).await;
    let unknown = u32::MAX;
    for (path, body) in [
        ("/v1/completions", json!({ "model": "qwen3-tiny", "prompt": [unknown] })),
        ("/v1/chat/completions", chat(&json!({ "logit_bias": { unknown.to_string(): 1 } }))),
        ("/tokenize", json!({ "prompt": [unknown] })),
        ("/detokenize", json!({ "tokens": [unknown] })),
    ] {
        let answer = post(server.address, path, &body).await;
        assert_eq!(answer.status, 400, "{path}");
        let message = answer.json()["error"]["message"].as_str().expect("a message").to_owned();
        assert!(message.contains("token id 4294967295"), "{path}: {message}");
    }
    let other = post(server.address, "/tokenize", &json!({ "model": "gpt", "prompt": "x" })).await;
    assert_eq!(other.status, 404);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn custom_tool_gets_text_however_tokens_are_grouped() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let patch = "*** Begin Patch\n+ \"quoted\" \\ é🌍\n*** End Patch\n";
    let arguments = json!({ "name": "patch", "arguments": { "input": patch } });
    let text = format!("Patching.\n<tool_call>\n{arguments}\n</tool_call>");
    let rules: Vec<Value> = [1, 3, 0]
        .map(|size| json!({ "when": { "contains": format!("at {size}."), "tool_declared": "patch" }, "text": text, "tokens_per_step": size }))
        .into();
    let server = TestServer::start(Setup::replay(folder.path(), &json!(rules))).await;
    let tools = json!([{ "type": "custom", "custom": { "name": "patch", "description": "Edits files." } }]);
    for size in [1, 3, 0] {
        let messages = json!([{ "role": "user", "content": format!("at {size}.") }]);
        let mut extra = json!({ "messages": messages, "tools": tools, "max_tokens": null });
        let whole = ask(server.address, &extra).await;
        let call = &whole["choices"][0]["message"]["tool_calls"][0];
        assert_eq!((&call["type"], &call["custom"]["name"]), (&json!("custom"), &json!("patch")));
        assert_eq!(call["custom"]["input"], patch, "in steps of {size}");
        extra["stream"] = json!(true);
        let stream = post(server.address, "/v1/chat/completions", &chat(&extra)).await;
        well_formed(Protocol::Chat, &stream);
        let input = stream.events().into_iter().filter_map(|chunk| {
            Some(chunk.pointer("/choices/0/delta/tool_calls/0/custom/input")?.as_str()?.to_owned())
        });
        assert_eq!(input.collect::<String>(), patch, "in steps of {size}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failing_choice_ends_the_answer_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let rules = json!([{ "text": "one two three", "tokens_per_step": 1, "finish": "error" }]);
    let server = TestServer::start(Setup::replay(folder.path(), &rules)).await;
    let whole = post(server.address, "/v1/chat/completions", &chat(&json!({ "n": 4 }))).await;
    assert_eq!((whole.status.as_u16(), &whole.json()["error"]["type"]), (500, &json!("server_error")));
    for (path, protocol, body) in [
        ("/v1/chat/completions", Protocol::Chat, chat(&json!({ "n": 4, "stream": true }))),
        (
            "/v1/completions",
            Protocol::Completions,
            json!({ "model": "qwen3-tiny", "prompt": ["a", "b"], "stream": true }),
        ),
    ] {
        let stream = post(server.address, path, &body).await;
        well_formed(protocol, &stream);
        assert!(stream.events().last().expect("an event").get("error").is_some(), "{path}");
    }
    server.stop().await;
}
