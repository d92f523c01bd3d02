//! `tiktoken.model`: ids are those of tiktoken, control tokens have the ids of the published
//! models, and broken files are refused.

use std::path::Path;
use std::sync::Arc;

use crate::common::path;
use engine::ModelFiles;
use prompt::{Detokenizer, Tokenizer};
use serde::Deserialize;
use tempfile::TempDir;

#[derive(Deserialize)]
struct Golden {
    text: String,
    ids: Vec<u32>,
}

fn folder() -> std::path::PathBuf {
    path("tests/prompt/tiktoken")
}

fn load(folder: &Path) -> Result<Tokenizer, String> {
    Tokenizer::load(&ModelFiles::Directory(folder.to_owned())).map_err(|error| error.to_string())
}

/// Loads a copy of the folder with one file changed; returns the error without the folder's path.
fn error(file: &str, edit: impl Fn(&str) -> String) -> String {
    let copy = TempDir::new().unwrap();
    for name in ["tiktoken.model", "tokenizer_config.json"] {
        let text = std::fs::read_to_string(folder().join(name)).unwrap();
        std::fs::write(copy.path().join(name), if name == file { edit(&text) } else { text }).unwrap();
    }
    load(copy.path()).unwrap_err().replace(&format!("{}/", copy.path().display()), "")
}

#[test]
fn ids_are_those_of_tiktoken_and_give_the_text_back() {
    let tokenizer = Arc::new(load(&folder()).unwrap());
    let goldens: Vec<Golden> =
        serde_json::from_slice(&std::fs::read(folder().join("goldens.json")).unwrap()).unwrap();
    assert!(goldens.len() > 300);
    for Golden { text, ids } in goldens {
        assert_eq!(tokenizer.encode_text(&text).unwrap(), ids, "{text:?}");
        let mut back = String::new();
        let mut detokenizer = Detokenizer::new(Arc::clone(&tokenizer), &[]);
        for id in &ids {
            detokenizer.push(*id, &mut back);
        }
        assert_eq!(back, text);
    }
}

#[test]
fn the_256_ids_behind_the_ranks_are_control_tokens() {
    let tokenizer = load(&folder()).unwrap();
    let first = u32::try_from(tokenizer.vocab_size()).unwrap() - 256;
    for (literal, at, special) in [
        ("[BOS]", 0, true),
        ("[EOS]", 1, true),
        ("<|im_end|>", 2, false),
        ("[UNK]", 254, true),
        ("[PAD]", 255, true),
    ] {
        assert_eq!(tokenizer.token_id(literal), Some(first + at), "{literal}");
        assert_eq!(tokenizer.is_special(first + at), special, "{literal}");
    }
    let reserved = format!("<|reserved_token_{}|>", first + 3);
    assert_eq!(tokenizer.token_id(&reserved), Some(first + 3));
    assert_eq!(tokenizer.encode_with_added("a[EOS]").unwrap()[1..], [first + 1]);
    assert!(!tokenizer.encode_text("[EOS]").unwrap().contains(&(first + 1)));
}

#[test]
fn broken_files_are_refused_in_a_line() {
    for (text, wanted) in [
        ("YQ==", r#"entry 1: expected base64, a blank and a rank, found "YQ==""#),
        ("YQ== 0\nYg== x", r#"entry 2: expected base64, a blank and a rank, found "Yg== x""#),
        ("?? 0", r#"entry 1: expected base64, a blank and a rank, found "?? 0""#),
        ("YQ== 0\nYg== 0", "rank 0 occurs twice"),
        ("YQ== 0\nYg== 2", "rank 2 of 2 tokens: ranks must have no gaps"),
    ] {
        let found = error("tiktoken.model", |_| text.to_owned());
        assert_eq!(found, format!("tiktoken.model: {wanted}; fetch the file again"));
    }
    let other = error("tokenizer_config.json", |text| text.replace("TikTokenTokenizer", "QwenTokenizer"));
    assert!(
        other.contains(r#"known for tokenizer_class "TikTokenTokenizer" only, found "QwenTokenizer""#),
        "{other}"
    );
    let beyond = error("tokenizer_config.json", |text| {
        text.replace(
            "{\n \"added_tokens_decoder\": {",
            "{\n \"added_tokens_decoder\": {\"7\": {\"content\": \"x\"},",
        )
    });
    assert!(beyond.contains(r#"has an added token "7", not from"#), "{beyond}");
}
