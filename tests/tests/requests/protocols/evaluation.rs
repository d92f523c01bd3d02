//! What evaluations and load generators ask for: answers of a given length, log-probabilities of
//! prompts, and facts about the tokenizer. The embedded model answers, greedy.

use std::net::SocketAddr;

use api::Protocol;
use serde_json::{Value, json};
use tests::client::{answered, get, post};
use tests::server::{Setup, TestServer};

const PROMPT: &str =
    "<|im_start|>user\nWho are you?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";

fn with(extra: &Value) -> Value {
    let mut body = json!({ "model": "qwen3-tiny", "prompt": PROMPT, "temperature": 0, "max_tokens": 40 });
    body.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
    body
}

async fn complete(address: SocketAddr, extra: &Value) -> Value {
    answered(address, "/v1/completions", &with(extra)).await
}

async fn refusal(address: SocketAddr, extra: &Value) -> String {
    let answer = post(address, "/v1/completions", &with(extra)).await;
    assert_eq!(answer.status, 400);
    answer.json()["error"]["message"].as_str().expect("a message").to_owned()
}

/// Text, reason and number of tokens of the first choice.
fn ending(answer: &Value) -> (&str, &str, u64) {
    let choice = &answer["choices"][0];
    let texts = ["text", "finish_reason"].map(|field| choice[field].as_str().expect("text"));
    (texts[0], texts[1], answer["usage"]["completion_tokens"].as_u64().expect("a number"))
}

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().expect("a list").iter().map(|number| number.as_f64().expect("a number")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn end_tokens_are_ignored_or_delayed_if_asked_for() {
    let server = TestServer::start(Setup::default()).await;
    let address = server.address;
    let plain = complete(address, &json!({})).await;
    let (text, reason, count) = ending(&plain);
    assert!(reason == "stop" && count < 40, "{plain}");

    let long = complete(address, &json!({ "ignore_eos": true })).await;
    assert_eq!((&ending(&long).1, ending(&long).2), (&"length", 40));
    assert!(ending(&long).0.starts_with(text));
    let word = text.split_whitespace().nth(2).expect("an answer has words");
    let stopped = complete(address, &json!({ "ignore_eos": true, "stop": word })).await;
    let before = text.split_once(word).expect("it is there").0;
    assert_eq!((ending(&stopped).0, ending(&stopped).1), (before, "stop"));

    let least = complete(address, &json!({ "min_tokens": count + 3 })).await;
    assert!(ending(&least).2 >= count + 3 && ending(&least).0.starts_with(text), "{least}");
    // No token that ends the answer was sampled, and none of those before is another.
    let late = complete(address, &json!({ "min_tokens": count - 1 })).await;
    assert_eq!(ending(&late), ending(&plain));
    // A stop text counts only behind the least number of tokens.
    let through = complete(address, &json!({ "min_tokens": count, "stop": word })).await;
    assert!(ending(&through).0.starts_with(text), "{through}");

    let regex = json!({ "structured_outputs": { "regex": "a+" }, "ignore_eos": true });
    let message = refusal(address, &regex).await;
    assert!(message.starts_with("ignore_eos: a grammar restricts this answer"), "{message}");
    let regex = json!({ "guided_regex": "a+", "min_tokens": 2 });
    let message = refusal(address, &regex).await;
    assert!(message.starts_with("min_tokens: a grammar restricts this answer"), "{message}");
    let body = json!({
        "model": "qwen3-tiny", "messages": [{ "role": "user", "content": "Weather?" }], "tool_choice": "required",
        "ignore_eos": true, "tools": [{ "type": "function", "function": { "name": "f", "parameters": {} } }]
    });
    let forced = post(address, "/v1/chat/completions", &body).await;
    assert_eq!((forced.status.as_u16(), &forced.json()["error"]["param"]), (400, &json!("ignore_eos")));
    server.stop().await;
}

/// A model that ends its answer at once has told of that token, too: clients cut off one entry for
/// each token that they asked for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logprobs_have_an_entry_of_the_ending_token() {
    let server = TestServer::start(Setup::default()).await;
    let plain = complete(server.address, &json!({ "logprobs": 1, "return_token_ids": true })).await;
    let (choice, count) = (&plain["choices"][0], ending(&plain).2);
    assert_eq!(ending(&plain).1, "stop");
    for list in ["tokens", "token_logprobs", "top_logprobs", "text_offset"] {
        let list = choice["logprobs"][list].as_array().expect("a list");
        assert_eq!(
            (list.len() as u64, choice["token_ids"].as_array().map(Vec::len)),
            (count, Some(list.len()))
        );
    }
    let whole = format!("{PROMPT}{}", ending(&plain).0);
    let asked = json!({ "prompt": whole, "echo": true, "logprobs": 1, "max_tokens": 1 });
    let ended = complete(server.address, &asked).await;
    let told = |answer: &Value| {
        numbers(&json!(answer["choices"][0]["logprobs"]["token_logprobs"].as_array().expect("a list")[1..]))
    };
    let end = [&plain, &ended].map(|answer| *told(answer).last().expect("an end"));
    assert_eq!((ending(&ended).1, ending(&ended).2), ("stop", 1));
    assert!((end[0] - end[1]).abs() < 1e-4, "{end:?}");
    let only =
        complete(server.address, &json!({ "prompt": whole, "echo": true, "logprobs": 1, "max_tokens": 0 }))
            .await;
    assert_eq!(told(&ended).len(), told(&only).len() + 1);
    server.stop().await;
}

/// The model's log-probabilities of what it wrote itself, greedily, are those that it tells of the
/// same tokens as a prompt.
async fn check_echo(address: SocketAddr) {
    let options = json!({ "logprobs": 3, "return_token_ids": true, "ignore_eos": true });
    let written = complete(address, &options).await["choices"][0].clone();
    let ids = |field: &str| written[field].as_array().expect("ids").clone();
    let (prompt, output) = (ids("prompt_token_ids"), ids("token_ids"));
    let whole = [prompt.clone(), output.clone()].concat();

    let asked = json!({ "prompt": whole, "echo": true, "logprobs": 3, "max_tokens": 0 });
    let answer = complete(address, &asked).await;
    let echoed = &answer["choices"][0];
    assert_eq!(
        (&echoed["finish_reason"], &answer["usage"]["completion_tokens"]),
        (&json!("length"), &json!(0))
    );
    let text = format!("{PROMPT}{}", written["text"].as_str().expect("text"));
    assert!(echoed["text"].as_str().expect("text").starts_with(PROMPT));
    let (own, told) = (&written["logprobs"], &echoed["logprobs"]);
    let of_output = |field: &str| json!(told[field].as_array().expect("a list")[prompt.len()..]);
    assert_eq!(of_output("tokens"), own["tokens"]);
    for (told, own) in numbers(&of_output("token_logprobs")).iter().zip(numbers(&own["token_logprobs"])) {
        assert!((told - own).abs() < 1e-4, "{told} instead of {own}");
    }
    for (told, own) in of_output("top_logprobs")
        .as_array()
        .expect("a list")
        .iter()
        .zip(own["top_logprobs"].as_array().expect("a list"))
    {
        let names = |top: &Value| top.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(told), names(own));
    }
    assert_eq!((&told["token_logprobs"][0], &told["top_logprobs"][0]), (&Value::Null, &Value::Null));
    assert_eq!(told["tokens"].as_array().expect("a list").len(), whole.len());
    // Tokens stand where the offsets say.
    let shown: Vec<char> = echoed["text"].as_str().expect("text").chars().collect();
    for (token, at) in told["tokens"].as_array().expect("a list").iter().zip(numbers(&told["text_offset"])) {
        let token: Vec<char> = token.as_str().expect("text").chars().collect();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
        let at = at as usize;
        assert_eq!(shown[at..at + token.len()], token);
    }

    // The same as text, with an answer, and streamed: two prompts at once.
    let asked = json!({ "prompt": [PROMPT, whole], "echo": true, "logprobs": 3, "max_tokens": 3, "ignore_eos": true });
    let both = complete(address, &asked).await;
    let first = &both["choices"][0];
    assert!(text.starts_with(first["text"].as_str().expect("text")), "{first}");
    let expected = numbers(&own["token_logprobs"]);
    let count = prompt.len();
    let list = first["logprobs"]["token_logprobs"].as_array().expect("a list");
    assert_eq!(list.len(), count + 3);
    assert!((list[count].as_f64().expect("a number") - expected[0]).abs() < 1e-4);
    assert_eq!(json!(list[..count]), json!(told["token_logprobs"].as_array().expect("a list")[..count]));
    let mut streamed = asked.clone();
    streamed["stream"] = json!(true);
    let stream = post(address, "/v1/completions", &with(&streamed)).await;
    let mut check = Protocol::Completions.check();
    check.feed(&stream.body).and_then(|()| check.finish()).expect("a stream as the grammar says");
    for index in 0..2 {
        let chunks: Vec<Value> =
            stream.events().into_iter().map(|chunk| chunk["choices"][0].clone()).collect();
        let of = chunks.iter().filter(|choice| choice["index"] == index);
        let joined: String = of.clone().filter_map(|choice| choice["text"].as_str()).collect();
        let listed: Vec<Value> = of
            .filter_map(|choice| choice["logprobs"]["token_logprobs"].as_array())
            .flatten()
            .cloned()
            .collect();
        let expected = &both["choices"][index];
        assert_eq!(
            (json!(joined), json!(listed)),
            (expected["text"].clone(), expected["logprobs"]["token_logprobs"].clone())
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn echo_of_a_prompt_has_the_logprobs_of_its_writing() {
    let server = TestServer::start(Setup::default()).await;
    check_echo(server.address).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn echo_of_ids_and_an_empty_answer_need_no_logprobs() {
    let server = TestServer::start(Setup::default()).await;
    let address = server.address;
    let nothing = complete(address, &json!({ "max_tokens": 0 })).await;
    assert_eq!(ending(&nothing), ("", "length", 0));
    let ids = post(address, "/tokenize", &json!({ "prompt": PROMPT })).await.json()["tokens"].clone();
    let echoed = complete(address, &json!({ "prompt": ids, "echo": true, "max_tokens": 0 })).await;
    assert_eq!((ending(&echoed), &echoed["choices"][0]["logprobs"]), ((PROMPT, "length", 0), &Value::Null));
    // One token has none before it.
    let one = json!({ "prompt": [ids[0]], "echo": true, "logprobs": 1, "max_tokens": 0 });
    assert_eq!(complete(address, &one).await["choices"][0]["logprobs"]["token_logprobs"], json!([null]));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_tells_no_log_probabilities_of_prompts() {
    let folder = tempfile::tempdir().expect("a folder");
    let rules = json!([{ "when": {}, "text": "Hello." }]);
    let server = TestServer::start(Setup::replay(folder.path(), &rules)).await;
    let message = refusal(server.address, &json!({ "echo": true, "logprobs": 1 })).await;
    assert!(message.starts_with("echo: the engine (replay) tells no log-probabilities"), "{message}");
    let echoed = complete(server.address, &json!({ "echo": true })).await;
    assert_eq!(ending(&echoed).0, format!("{PROMPT}Hello."));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokenizer_facts_are_there_for_rendering_clients() {
    let server = TestServer::start(Setup::default()).await;
    let info = get(server.address, "/tokenizer_info").await.json();
    assert_eq!((&info["eos_token"], &info["pad_token"]), (&json!("<|im_end|>"), &json!("<|endoftext|>")));
    assert!(info["chat_template"].as_str().expect("text").contains("<|im_start|>"));
    assert_eq!(info["model_max_length"], 4096);
    let named = get(server.address, "/tokenizer_info?model=qwen3-tiny").await;
    assert_eq!(named.json(), info);
    assert_eq!(get(server.address, "/tokenizer_info?model=no%2Fsuch").await.status, 404);
    server.stop().await;
}
