//! Requests to `/tokenize` and `/detokenize`, and their answers.

use serde_json::{Value, json};

use crate::tokenize::{DetokenizeRequest, TokenizeRequest, detokenize, text, tokenize, tokens};
use crate::{Defaults, read_body};
use model::{Beginning, RawPrompt, Tokenized};
use prompt::Role;

fn read(body: &Value) -> Result<TokenizeRequest, String> {
    let defaults = Defaults::default();
    let read = read_body(body.to_string().as_bytes(), &defaults.limits, |body| tokenize(body, &defaults));
    read.map_err(|error| error.message)
}

#[test]
fn a_prompt_is_taken_as_it_is() {
    let asked =
        read(&json!({ "prompt": "a", "add_special_tokens": false, "return_token_strs": true })).unwrap();
    let prompt = RawPrompt::Text { text: "a".to_owned(), special: false };
    assert_eq!((asked.texts, asked.job.beginning), (true, Beginning::Raw(vec![prompt])));
}

#[test]
fn what_chat_refuses_is_refused() {
    let asked = json!({ "messages": [{ "role": "user", "content": "x" }], "documents": [{ "text": "t" }] });
    assert_eq!(read(&asked).unwrap_err(), "documents: send their text in a message");
}

#[test]
fn messages_and_tools_are_taken_as_in_chat() {
    let tool = json!({ "type": "function", "function": { "name": "f" } });
    let body = json!({ "model": "m", "messages": [{ "role": "user", "content": "q" }], "tools": [tool] });
    let asked = read(&body).unwrap();
    assert_eq!(asked.job.beginning, Beginning::Answer);
    assert_eq!(asked.job.conversation.messages[0].role, Role::User);
    assert_eq!(asked.job.conversation.tools.len(), 1);
}

#[test]
fn what_is_neither_is_refused() {
    for (body, start) in [
        (json!({}), "prompt: missing"),
        (json!({ "prompt": ["a", "b"] }), "prompt: at most 1 prompts, got 2"),
        (json!({ "prompt": "a", "messages": [] }), "prompt: expected either prompt or messages"),
        (json!({ "messages": [] }), "messages: there is no message"),
    ] {
        let message = read(&body).unwrap_err();
        assert!(message.starts_with(start), "{message}");
    }
}

#[test]
fn token_ids_are_read_and_text_is_answered() {
    let defaults = Defaults::default();
    let read = |body: &str| read_body(body.as_bytes(), &defaults.limits, |body| detokenize(body, &defaults));
    let asked = read(r#"{"model":"m","tokens":[3,1]}"#).unwrap();
    assert_eq!(asked, DetokenizeRequest { tokens: vec![3, 1] });
    assert!(read(r#"{"tokens":["3"]}"#).unwrap_err().message.starts_with("tokens[0]: expected a token id"));
    assert!(read("{}").unwrap_err().message.starts_with("tokens: missing"));
    assert_eq!(serde_json::to_value(text("hi")).unwrap(), json!({ "prompt": "hi" }));
}

#[test]
fn answer_has_all_fields_with_or_without_texts() {
    let mut tokenized = Tokenized { ids: vec![5, 6], texts: None, context: 100 };
    let expected = json!({ "count": 2, "max_model_len": 100, "tokens": [5, 6], "token_strs": null });
    assert_eq!(serde_json::to_value(tokens(&tokenized)).unwrap(), expected);
    tokenized.texts = Some(vec!["a".to_owned(), "b".to_owned()]);
    assert_eq!(serde_json::to_value(tokens(&tokenized)).unwrap()["token_strs"], json!(["a", "b"]));
}
