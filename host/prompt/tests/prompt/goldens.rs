//! Prompts and ids are those of transformers, for every golden.

use crate::common::{format, from_json, generation_prompt, path, text, tokenizer};
use prompt::{Detokenizer, RenderError, TurnOpening};
use serde_json::Value;

fn goldens() -> Vec<(String, Value)> {
    let mut goldens = Vec::new();
    for entry in std::fs::read_dir(path("tests/goldens/chat_template")).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_some_and(|extension| extension == "json") {
            let json = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
            goldens.push((file.file_stem().unwrap().to_string_lossy().into_owned(), json));
        }
    }
    goldens.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(!goldens.is_empty(), "no goldens: run make_chat.py");
    goldens
}

/// Whether a message of the request spells an added token of the tokenizer.
fn spells_a_control_token(golden: &Value) -> bool {
    let request = golden["messages"].to_string() + &golden["tools"].to_string();
    let ids = tokenizer().encode_with_added(&request).unwrap();
    ids.iter().any(|&id| tokenizer().added_token(id).is_some())
}

#[test]
fn benign_chats_get_transformers_text_and_ids() {
    let mut checked = 0;
    for (name, golden) in goldens() {
        let template = golden["template"].as_str().unwrap();
        let template = std::fs::read_to_string(path("tests/goldens/chat_template").join(template)).unwrap();
        let Some(conversation) = from_json(&golden["messages"], &golden["tools"]) else { continue };
        if spells_a_control_token(&golden) {
            continue;
        }
        let arguments: Vec<_> = golden["kwargs"].as_object().unwrap().clone().into_iter().collect();
        let rendered = format(&template).render(&conversation, &arguments, TurnOpening::NewTurn);
        checked += 1;
        if let Some(error) = golden.get("error") {
            assert_eq!(rendered, Err(RenderError::Raised(error.as_str().unwrap().to_owned())), "{name}");
            continue;
        }
        let prompt = rendered.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(text(&prompt), golden["text"].as_str().unwrap(), "{name}");
        assert_eq!(generation_prompt(&prompt), golden["generation_prompt"].as_str().unwrap(), "{name}");
        if let Some(ids) = golden.get("ids") {
            assert_eq!(serde_json::json!(prompt.ids), *ids, "{name}");
        }
    }
    assert!(checked >= 50, "only {checked} goldens were checked");
}

fn strings() -> Vec<Value> {
    let json = std::fs::read(path("tests/goldens/tokenizer.json")).unwrap();
    let strings: Vec<Value> = serde_json::from_slice(&json).unwrap();
    assert!(!strings.is_empty());
    strings
}

#[test]
fn strings_get_the_ids_of_transformers() {
    let tokenizer = tokenizer();
    for golden in strings() {
        let text = golden["text"].as_str().unwrap();
        let ids = tokenizer.encode_with_added(text).unwrap();
        assert_eq!(serde_json::json!(ids), golden["ids"], "{text:?}");
        if ids.iter().all(|&id| tokenizer.added_token(id).is_none()) {
            assert_eq!(tokenizer.encode_text(text).unwrap(), ids, "{text:?} without added tokens");
        }
    }
}

#[test]
fn the_detokenizer_gives_each_string_back() {
    for golden in strings() {
        let text = golden["text"].as_str().unwrap();
        let mut out = String::new();
        let mut detokenizer = Detokenizer::new(tokenizer(), &[]);
        for id in golden["ids"].as_array().unwrap() {
            detokenizer.push(u32::try_from(id.as_u64().unwrap()).unwrap(), &mut out);
        }
        detokenizer.flush(&mut out);
        assert_eq!(out, text);
    }
}
