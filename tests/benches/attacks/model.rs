//! A model with a vocabulary of any size: the embedded model's files, with made-up words added to
//! its tokenizer. Its weights are random.

use std::path::Path;

use serde_json::{Value, json};

const FILES: [(&str, &str); 5] = [
    ("config.json", include_str!("../../../host/models/qwen3-tiny/config.json")),
    ("tokenizer.json", include_str!("../../../host/models/qwen3-tiny/tokenizer.json")),
    ("tokenizer_config.json", include_str!("../../../host/models/qwen3-tiny/tokenizer_config.json")),
    ("generation_config.json", include_str!("../../../host/models/qwen3-tiny/generation_config.json")),
    ("chat_template.jinja", include_str!("../../../host/models/qwen3-tiny/chat_template.jinja")),
];
/// Tokens of context: room for forty tools.
const CONTEXT: usize = 1 << 15;
const SYLLABLES: [&str; 24] = [
    "an", "be", "con", "de", "er", "fo", "ge", "hi", "in", "ka", "lo", "me", "no", "or", "per", "qua", "re",
    "st", "ti", "un", "ver", "wo", "y", "0",
];

/// Writes a model of about `words` tokens into a folder.
pub(crate) fn write(folder: &Path, words: usize) {
    for (name, text) in FILES {
        let mut text = text.to_owned();
        if name.ends_with("config.json") || name == "tokenizer.json" {
            let mut value: Value = serde_json::from_str(&text).expect("JSON");
            match name {
                "config.json" => {
                    value["vocab_size"] = json!(words + 1024);
                    value["max_position_embeddings"] = json!(CONTEXT);
                }
                "tokenizer.json" => add_words(&mut value, words),
                _ => {}
            }
            text = value.to_string();
        }
        std::fs::write(folder.join(name), text).expect("a temporary folder can be written");
    }
}

/// Adds words behind all tokens, so that no id changes. Half begin with a space, as the
/// vocabularies of byte-level tokenizers have them.
fn add_words(tokenizer: &mut Value, words: usize) {
    let added = tokenizer["added_tokens"].as_array().expect("a list");
    let first = 1 + added.iter().filter_map(|token| token["id"].as_u64()).max().expect("some");
    let vocabulary = tokenizer["model"]["vocab"].as_object_mut().expect("an object");
    let mut id = first;
    for number in 0.. {
        if vocabulary.len() >= words {
            break;
        }
        let (mut rest, mut word) = (number / 2, if number % 2 == 0 { "Ġ" } else { "" }.to_owned());
        loop {
            word.push_str(SYLLABLES[rest % SYLLABLES.len()]);
            rest /= SYLLABLES.len();
            if rest == 0 {
                break;
            }
        }
        if !vocabulary.contains_key(&word) {
            vocabulary.insert(word, json!(id));
            id += 1;
        }
    }
}
