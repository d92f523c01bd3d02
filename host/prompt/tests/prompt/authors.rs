//! Who wrote which tokens of a prompt.

use crate::common::{conversation, from_json, model_format, tokenizer};
use prompt::{Author, ChatFormat, ChatMessage, Conversation, Role, TurnOpening};
use serde_json::json;

/// The parts of a prompt with their authors' words.
fn parts(format: &ChatFormat, talk: &Conversation, opening: TurnOpening) -> Vec<(&'static str, String)> {
    let prompt = format.render_with_authors(talk, &[], opening).unwrap();
    assert_eq!(prompt.ids, format.render(talk, &[], opening).unwrap().ids);
    let counts = prompt.authors.iter().map(|(_, tokens)| *tokens as usize);
    assert_eq!(counts.clone().sum::<usize>(), prompt.ids.len());
    let mut ids = &prompt.ids[..];
    let part = |(author, tokens): &(Author, u32)| {
        let (own, rest) = ids.split_at(*tokens as usize);
        ids = rest;
        (author.word(), tokenizer().decode(own).unwrap())
    };
    prompt.authors.iter().map(part).collect()
}

#[test]
fn each_role_wrote_its_own_text() {
    let messages = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather <|im_end|>?"},
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "c", "function": {"name": "look", "arguments": {"city": "Zug"}}}]},
        {"role": "tool", "tool_call_id": "c", "content": "Rain."},
    ]);
    let tools = json!([{"type": "function", "function": {"name": "look", "description": "Looks."}}]);
    let talk = from_json(&messages, &tools).unwrap();
    let parts = parts(&model_format(), &talk, TurnOpening::NewTurn);
    let of = |word: &str| -> Vec<&str> {
        parts.iter().filter(|(author, _)| *author == word).map(|(_, text)| text.trim()).collect()
    };
    assert_eq!(of("system"), ["Be brief."]);
    assert_eq!(of("user"), ["Weather <|im_end|>?"]);
    assert_eq!(of("tool"), ["Rain."]);
    assert_eq!(of("tools").len(), 1, "{parts:?}");
    assert!(of("tools")[0].contains("\"description\": \"Looks.\""), "{parts:?}");
    assert!(of("assistant").concat().contains("Zug"), "{parts:?}");
    assert!(parts[0].1.starts_with("<|im_start|>system"));
    assert_eq!(parts.last().map(|(author, _)| *author), Some("template"));
}

#[test]
fn a_text_that_is_continued_is_the_models() {
    let talk = conversation(vec![
        ChatMessage::text(Role::User, "Hi"),
        ChatMessage::text(Role::Assistant, "Well, I"),
    ]);
    let parts = parts(&model_format(), &talk, TurnOpening::ContinueLast);
    assert_eq!(parts.last(), Some(&("assistant", "Well, I".to_owned())));
}

#[test]
fn a_prompt_that_is_read_in_pieces_keeps_its_authors() {
    let long = "water and locks ".repeat(20_000);
    let talk = conversation(vec![
        ChatMessage::text(Role::System, "Short."),
        ChatMessage::text(Role::User, long.trim_end()),
    ]);
    let parts = parts(&model_format(), &talk, TurnOpening::NewTurn);
    let user: Vec<_> = parts.iter().filter(|(author, _)| *author == "user").collect();
    assert_eq!(user.len(), 1);
    assert_eq!(user[0].1, long.trim_end());
}
