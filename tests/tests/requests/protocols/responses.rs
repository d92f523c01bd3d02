//! Fields of requests of the Responses API, over a socket: one call at most, truncation, sealed
//! reasoning, log-probabilities, the turn's own tokens, custom tools.

use api::Protocol;
use serde_json::{Value, json};
use tests::client::{Answer, post};
use tests::mask::masked;
use tests::server::{Setup, TestServer};
use tests::transcripts::responses_tools;

const TWO_CALLS: &str = "Both.\n<tool_call>\n{\"name\": \"get_time\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>\n\
     <tool_call>\n{\"name\": \"get_time\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>\nDone.";

async fn serve(rules: Value, context: Option<usize>) -> (TestServer, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut setup = Setup::replay(folder.path(), &rules);
    setup.model.context = context;
    (TestServer::start(setup).await, folder)
}

async fn ask(server: &TestServer, input: Value, extra: Value) -> Answer {
    let mut body = json!({ "model": "qwen3-tiny", "input": input, "tools": responses_tools() });
    body.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
    let answer = post(server.address, "/v1/responses", &body).await;
    if body["stream"] == true {
        let mut check = Protocol::Responses.check();
        check
            .feed(&answer.body)
            .and_then(|()| check.finish())
            .unwrap_or_else(|violation| panic!("{violation}"));
    }
    answer
}

fn terminal(answer: &Answer) -> Value {
    answer.events().last().expect("a terminal event")["response"].clone()
}

fn kinds(response: &Value) -> Vec<&str> {
    let output = response["output"].as_array().expect("items");
    output.iter().map(|item| item["type"].as_str().expect("a type")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serial_calls_end_the_turn_cleanly_after_the_first() {
    for size in [1, 4, 0] {
        // The engine would never end by itself: the server has to cancel the generation.
        let (server, _folder) =
            serve(json!([{ "text": TWO_CALLS, "tokens_per_step": size, "finish": "hang" }]), None).await;
        for stream in [true, false] {
            let extra = json!({ "parallel_tool_calls": false, "stream": stream });
            let answer = ask(&server, json!("x"), extra).await;
            let response = if stream { terminal(&answer) } else { answer.json() };
            assert_eq!(response["status"], "completed", "{response}");
            assert_eq!(kinds(&response), ["message", "function_call"]);
            assert_eq!(response["output"][1]["arguments"], "{\"city\": \"Oslo\"}");
        }
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serial_call_cut_off_still_fails_or_is_incomplete() {
    let text = "<tool_call>\n{\"name\": \"get_time\", \"arguments\": {\"city\": \"Os";
    let (server, _folder) = serve(json!([{ "text": text }]), None).await;
    let one = json!({ "parallel_tool_calls": false });
    assert_eq!(ask(&server, json!("x"), one.clone()).await.json()["status"], "failed");
    let limited = json!({ "parallel_tool_calls": false, "max_output_tokens": 15 });
    assert_eq!(ask(&server, json!("x"), limited).await.json()["status"], "incomplete");
    server.stop().await;
}

/// Input of a long conversation: instructions, many exchanges, a last question.
fn long_input() -> Value {
    let mut input = vec![json!({ "role": "developer", "content": "Stay polite." })];
    for number in 0..40 {
        input.push(
            json!({ "role": "user", "content": format!("Question {number} about the weather in the city.") }),
        );
        input.push(
            json!({ "role": "assistant", "content": format!("Answer {number}: it is sunny in the city.") }),
        );
    }
    input.push(json!({ "role": "user", "content": "The last question." }));
    input.into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn truncation_drops_oldest_keeps_instructions_and_end() {
    let (server, _folder) = serve(json!([{ "text": "Fine." }]), Some(512)).await;
    let extra = json!({ "truncation": "auto", "enable_response_messages": true, "tools": [] });
    let answer = ask(&server, long_input(), extra).await;
    assert_eq!(answer.status, 200);
    let response = answer.json();
    assert_eq!((&response["truncation"], &response["status"]), (&json!("auto"), &json!("completed")));
    let prompt = response["input_messages"][0]["message"].as_str().expect("the prompt");
    assert!(prompt.contains("Stay polite.") && prompt.contains("The last question."), "{prompt}");
    assert!(prompt.contains("Answer 39") && !prompt.contains("Question 0 "), "{prompt}");
    let tokens = response["usage"]["input_tokens"].as_u64().expect("a number");
    assert!((256..=448).contains(&tokens), "{tokens} tokens: the room is used, and an eighth is left");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn truncation_makes_room_for_the_asked_answer() {
    let (server, _folder) = serve(json!([{ "text": "Fine." }]), Some(512)).await;
    let extra = json!({ "truncation": "auto", "max_output_tokens": 250, "tools": [] });
    let response = ask(&server, long_input(), extra).await.json();
    let tokens = response["usage"]["input_tokens"].as_u64().expect("a number");
    assert!((100..=262).contains(&tokens), "{tokens}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_prompt_that_may_not_be_cut_is_refused() {
    let (server, _folder) = serve(json!([{ "text": "Fine." }]), Some(512)).await;
    let one = json!("What is the weather in this city? ".repeat(100));
    for (input, truncation) in
        [(long_input(), Value::Null), (long_input(), json!("disabled")), (one, json!("auto"))]
    {
        let answer = ask(&server, input, json!({ "truncation": truncation })).await;
        assert_eq!(answer.status, 400);
        assert_eq!(answer.json()["error"]["code"], "context_length_exceeded");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sealed_reasoning_comes_back_into_the_prompt() {
    let calls = "<think>\nThe colour is mauve.\n</think>\n\n<tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call>";
    let (server, _folder) =
        serve(json!([{ "when": { "tool_results": 0 }, "text": calls }, { "text": "Noon." }]), None).await;
    let question = json!({ "role": "user", "content": "q" });
    let include = json!({ "include": ["reasoning.encrypted_content"], "store": false, "stream": true, "reasoning": { "summary": "auto" } });
    let first = terminal(&ask(&server, json!([question]), include).await);
    assert_eq!(kinds(&first), ["reasoning", "function_call"]);
    let (reasoning, call) = (&first["output"][0], &first["output"][1]);
    assert!(!reasoning["encrypted_content"].as_str().expect("sealed").contains("mauve"));
    let bare =
        json!({ "type": "reasoning", "summary": [], "encrypted_content": reasoning["encrypted_content"] });
    let result = json!({ "type": "function_call_output", "call_id": call["call_id"], "output": "12:00" });
    let input = json!([question, bare, call, result]);
    let second = ask(&server, input.clone(), json!({})).await.json();
    // Its prompt is that of the same reasoning in the clear, and is shown to nobody.
    let mut clear = input.clone();
    clear[1] = json!({ "type": "reasoning", "summary": [{ "type": "summary_text", "text": "The colour is mauve." }] });
    let raw = json!({ "enable_response_messages": true });
    let same = ask(&server, clear, raw.clone()).await.json();
    let prompt = same["input_messages"][0]["message"].as_str().expect("the prompt");
    assert!(prompt.contains("<think>\nThe colour is mauve.\n</think>"), "{prompt}");
    assert_eq!(second["usage"]["input_tokens"], same["usage"]["input_tokens"]);
    let shown = ask(&server, input.clone(), raw).await;
    assert_eq!(shown.status, 400, "{:?}", shown.body);
    assert_eq!(shown.json()["error"]["param"], "enable_response_messages");

    let mut tampered = input;
    let sealed = bare["encrypted_content"].as_str().expect("sealed");
    tampered[1]["encrypted_content"] = json!(format!("{}AAAA", &sealed[..sealed.len() - 4]));
    let refused = ask(&server, tampered, json!({})).await;
    assert_eq!(
        (refused.status.as_u16(), &refused.json()["error"]["code"]),
        (400, &json!("invalid_encrypted_content"))
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn own_tokens_are_told_on_request_with_their_markup() {
    let text = "<think>\nHm.\n</think>\n\nHi 🌍.";
    let (server, _folder) = serve(json!([{ "text": text, "tokens_per_step": 2 }]), None).await;
    let extra = json!({ "enable_response_messages": true, "stream": true, "tools": [] });
    let response = terminal(&ask(&server, json!("Hello"), extra).await);
    let (input, output) = (&response["input_messages"][0], &response["output_messages"][0]);
    let count = |message: &Value| message["tokens"].as_array().expect("ids").len() as u64;
    assert_eq!(count(input), response["usage"]["input_tokens"].as_u64().expect("a number"));
    assert_eq!(count(output), response["usage"]["output_tokens"].as_u64().expect("a number"));
    assert!(
        input["message"].as_str().expect("text").starts_with("<|im_start|>user\nHello<|im_end|>"),
        "{input}"
    );
    assert_eq!(output["message"], format!("{text}<|im_end|>"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logprobs_stand_with_the_tokens_of_messages() {
    let server = TestServer::start(Setup::default()).await;
    let extra = json!({
        "include": ["message.output_text.logprobs"], "top_logprobs": 3, "temperature": 0, "tools": [], "stream": true
    });
    let answer = ask(&server, json!("Tell me a joke."), extra).await;
    let response = terminal(&answer);
    let message = response["output"].as_array().expect("items").iter().find(|item| item["type"] == "message");
    let part = &message.expect("a message")["content"][0];
    let tokens = part["logprobs"].as_array().expect("a list");
    assert!(tokens.len() > 3);
    let bytes: Vec<u8> = tokens
        .iter()
        .flat_map(|token| token["bytes"].as_array().expect("bytes"))
        .map(|byte| u8::try_from(byte.as_u64().expect("a byte")).expect("a byte"))
        .collect();
    let text = part["text"].as_str().expect("text");
    assert_eq!(String::from_utf8(bytes).expect("whole characters").trim(), text.trim());
    for token in tokens {
        let top = token["top_logprobs"].as_array().expect("a list");
        assert_eq!(top.len(), 3);
        assert_eq!(top[0]["token"], token["token"], "greedy: the likeliest is the one taken");
    }
    let streamed: Vec<Value> = answer
        .events()
        .iter()
        .filter(|event| event["type"] == "response.output_text.delta")
        .flat_map(|event| event["logprobs"].as_array().expect("a list").clone())
        .collect();
    assert_eq!(&streamed, tokens);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn custom_input_is_its_own_text_and_returns_unchanged() {
    let patch = "*** Begin Patch\n*** Update File: \"a\\b.txt\"\n+é🌍\t!\n*** End Patch\n";
    let arguments = json!({ "input": patch });
    let text =
        format!("<tool_call>\n{{\"name\": \"apply_patch\", \"arguments\": {arguments}}}\n</tool_call>");
    for size in [1, 3, 0] {
        let rules = json!([{ "when": { "tool_results": 0 }, "text": text, "tokens_per_step": size }, { "text": "Done." }]);
        let (server, _folder) = serve(rules, None).await;
        let format = json!({ "type": "grammar", "syntax": "lark", "definition": "start: /(?s:.*)/" });
        let tools = json!({ "tools": [{ "type": "custom", "name": "apply_patch", "description": "Edits files.", "format": format }], "stream": true });
        let question = json!({ "role": "user", "content": "q" });
        let answer = ask(&server, json!([question]), tools.clone()).await;
        let response = terminal(&answer);
        assert_eq!(kinds(&response), ["custom_tool_call"]);
        assert_eq!(response["output"][0]["input"], patch);
        let deltas: String = answer
            .events()
            .iter()
            .filter(|event| event["type"] == "response.custom_tool_call_input.delta")
            .filter_map(|event| event["delta"].as_str().map(str::to_owned))
            .collect();
        assert_eq!(deltas, patch);
        let result = json!({ "type": "custom_tool_call_output", "call_id": response["output"][0]["call_id"], "output": "ok" });
        let mut more = tools;
        more["enable_response_messages"] = json!(true);
        let second = terminal(&ask(&server, json!([question, response["output"][0], result]), more).await);
        let prompt = second["input_messages"][0]["message"].as_str().expect("the prompt");
        assert!(prompt.contains("{\"name\": \"apply_patch\", \"arguments\": {\"input\":"), "{prompt}");
        assert!(prompt.contains("*** End Patch"), "{prompt}");
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn custom_call_cut_anywhere_is_incomplete_and_sound() {
    let arguments = json!({ "input": "*** Begin\n\"é🌍\"\n*** End\n" });
    let text = format!(
        "<think>\nEdit.\n</think>\n\n<tool_call>\n{{\"name\": \"edit\", \"arguments\": {arguments}}}\n</tool_call>"
    );
    let (server, _folder) = serve(json!([{ "text": text, "tokens_per_step": 3 }]), None).await;
    let asked = |limit: Option<u64>, stream| json!({ "tools": [{ "type": "custom", "name": "edit" }], "max_output_tokens": limit, "stream": stream });
    let whole = ask(&server, json!("x"), asked(None, false)).await.json();
    assert_eq!(kinds(&whole), ["reasoning", "custom_tool_call"]);
    for limit in 1..whole["usage"]["output_tokens"].as_u64().expect("a number") {
        let streamed = terminal(&ask(&server, json!("x"), asked(Some(limit), true)).await);
        let whole = ask(&server, json!("x"), asked(Some(limit), false)).await.json();
        assert_eq!(streamed["status"], "incomplete", "cut after {limit}");
        assert_eq!(masked(&streamed), masked(&whole), "cut after {limit}");
    }
    server.stop().await;
}
