//! `replay --fork N`: the engine goes on as it had, or with other settings.

use serde_json::{Value, json};

use super::{MODELS, Recorded, Records, replay, text_of, with};

/// An answer in one piece to a request with `extra`, and its record.
fn answer(model: &str, path: &str, extra: &Value) -> (String, Records) {
    let server = Recorded::start(model, &["--no-enable-prefix-caching"]);
    let body = with(json!({"model": model, "temperature": 1.5}), extra);
    let answer = server.post(path, &body);
    (untimed(&answer), server.stop())
}

/// An answer without the time of its end, to the byte.
fn untimed(answer: &str) -> String {
    let Some((before, rest)) = answer.split_once("\"completed_at\":") else { return answer.to_owned() };
    format!("{before}{}", rest.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// Number of the answer's tokens.
fn written(answer: &str) -> usize {
    let count = ["completion_tokens\":", "output_tokens\":"].iter().find_map(|key| answer.split_once(key));
    count.and_then(|(_, rest)| rest.split([',', '}']).next()?.parse().ok()).expect("a usage")
}

fn fork(records: &Records, tokens: usize, settings: &[&str]) -> String {
    let tokens = tokens.to_string();
    let settings: Vec<_> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    let output = replay(&records.files(), &[&["--fork", &tokens][..], &settings].concat());
    assert!(output.status.success(), "{}", text_of(&output.stderr));
    untimed(text_of(&output.stdout).trim_end())
}

#[test]
fn forks_with_nothing_set_are_the_straight_run() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "maxLength": 12}},
        "required": ["a"], "additionalProperties": false});
    let format = json!({"format": {"type": "json_schema", "name": "x", "schema": schema}});
    let messages = json!([{"role": "user", "content": "Hello!"}]);
    let penalties = json!({"messages": messages, "max_tokens": 40, "frequency_penalty": 1.1,
        "presence_penalty": 0.4, "repetition_penalty": 1.3, "logprobs": true});
    for model in MODELS {
        for (path, extra) in [
            ("/v1/chat/completions", penalties.clone()),
            ("/v1/responses", json!({"input": "Hello!", "max_output_tokens": 60, "text": format})),
        ] {
            let (straight, records) = answer(model, path, &extra);
            // The draws are random, so an answer may be short.
            for tokens in [0, 1, 5, 8].into_iter().filter(|tokens| *tokens <= written(&straight)) {
                assert_eq!(fork(&records, tokens, &[]), straight, "{model} {path} {tokens}");
            }
        }
    }
}

#[test]
fn settings_hold_behind_the_fork_only() {
    let body = json!({"prompt": "The weather", "max_tokens": 24, "seed": 5, "return_token_ids": true, "ignore_eos": true});
    let (straight, records) = answer("qwen3-tiny", "/v1/completions", &body);
    let ids = |text: &str| serde_json::from_str::<Value>(text).unwrap()["choices"][0]["token_ids"].clone();
    let straight = ids(&straight).as_array().unwrap().clone();
    let mut ends = Vec::new();
    for settings in [&["temperature=0"][..], &["seed=6"], &["top_k=1", "max_tokens=12"]] {
        let forked = ids(&fork(&records, 8, settings)).as_array().unwrap().clone();
        assert_eq!(forked[..8], straight[..8], "{settings:?}");
        ends.push(forked[8..].to_vec());
    }
    assert_ne!(ends[1], straight[8..]);
    assert_eq!(ends[2].len(), 4);
    assert_eq!(ends[2], ends[0][..4], "the likeliest token is the only one of one");
    let refused = replay(&records.files(), &["--fork", "99"]);
    assert!(text_of(&refused.stderr).contains("the answer has 24 tokens"), "{refused:?}");
    let refused = replay(&records.files(), &["--fork", "1", "--set", "heat=1"]);
    assert!(text_of(&refused.stderr).contains("no such setting: temperature"), "{refused:?}");
}
