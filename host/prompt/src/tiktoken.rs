//! Converter of `tiktoken.model`, which Kimi and Moonlight have instead of a `tokenizer.json`:
//! ranked runs of bytes become the same tokenizer in Hugging Face's format.
//!
//! A line of the file is a token's bytes in base64 and its rank, which is its id. tiktoken joins
//! the neighbours whose bytes together have the lowest rank, the leftmost first; so every way to
//! cut a token into two tokens becomes a merge, in the order of ranks. Only the published models'
//! code (`tokenization_kimi.py`, class `TikTokenTokenizer`) says how text is cut before that, and
//! that the 256 ids after the last rank are control tokens. Called by `tokenizer`.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gguf::KIMI_PATTERN;
use serde_json::{Map, Value, json};

use super::token_bytes::spell;

/// Tokenizer class that cuts text by [`KIMI_PATTERN`].
const CLASS: &str = "TikTokenTokenizer";
/// Number of control tokens; their ids follow the last rank.
const CONTROLS: usize = 256;
/// Maximum size of a token in bytes. The longest published one has 128.
const LONGEST: usize = 1024;

/// Returns the text of a `tokenizer.json` for the same tokenizer. `config` is
/// `tokenizer_config.json`. The error is a reason.
pub(super) fn tokenizer_json(ranks: &str, config: &Value) -> Result<Vec<u8>, String> {
    match config.get("tokenizer_class").and_then(Value::as_str) {
        Some(CLASS) => {}
        other => {
            let found = other.unwrap_or("none");
            return Err(format!(
                "how it cuts text is known for tokenizer_class {CLASS:?} only, found {found:?}"
            ));
        }
    }
    let tokens = read_ranks(ranks)?;
    let vocab: Map<String, Value> =
        tokens.iter().enumerate().map(|(id, bytes)| (spell(bytes), json!(id))).collect();
    let file = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": controls(config, tokens.len())?,
        "normalizer": null,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": KIMI_PATTERN}, "behavior": "Isolated", "invert": false},
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
        ]},
        "post_processor": null,
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
            // A word that is in the vocabulary becomes that token, whatever the merges would give.
            "ignore_merges": true, "vocab": vocab, "merges": merges(&tokens)},
    });
    Ok(file.to_string().into_bytes())
}

/// Reads the bytes of each token, in the order of ranks.
fn read_ranks(text: &str) -> Result<Vec<Vec<u8>>, String> {
    let mut tokens: Vec<Option<Vec<u8>>> = Vec::new();
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    tokens.resize(lines.len(), None);
    for (number, line) in lines.iter().enumerate() {
        let (bytes, rank) = read_line(line).ok_or_else(|| {
            let shown: String = line.chars().take(40).collect();
            format!("entry {}: expected base64, a blank and a rank, found {shown:?}", number + 1)
        })?;
        match tokens.get_mut(rank) {
            Some(place @ None) => *place = Some(bytes),
            Some(Some(_)) => return Err(format!("rank {rank} occurs twice")),
            None => return Err(format!("rank {rank} of {} tokens: ranks must have no gaps", lines.len())),
        }
    }
    Ok(tokens.into_iter().flatten().collect())
}

fn read_line(line: &str) -> Option<(Vec<u8>, usize)> {
    let (bytes, rank) = line.split_once(' ')?;
    let bytes = STANDARD.decode(bytes).ok().filter(|bytes| (1..=LONGEST).contains(&bytes.len()))?;
    Some((bytes, rank.trim_end().parse().ok()?))
}

/// Returns every way to make a token of two others, in the order of the tokens' ranks; for one
/// token, the longest first part first.
fn merges(tokens: &[Vec<u8>]) -> Vec<(String, String)> {
    let ids: HashMap<&[u8], usize> = tokens.iter().enumerate().map(|(id, t)| (t.as_slice(), id)).collect();
    let cuts = |token: &Vec<u8>| -> Vec<(String, String)> {
        let both = (1..token.len()).rev().map(|at| token.split_at(at));
        let known = both.filter(|(a, b)| ids.contains_key(a) && ids.contains_key(b));
        known.map(|(a, b)| (spell(a), spell(b))).collect()
    };
    tokens.iter().flat_map(cuts).collect()
}

/// Returns the control tokens: those that the configuration names, and reserved ones for the other
/// ids.
fn controls(config: &Value, first: usize) -> Result<Vec<Value>, String> {
    let empty = Map::new();
    let named = config.get("added_tokens_decoder").and_then(Value::as_object).unwrap_or(&empty);
    let last = first + CONTROLS - 1;
    if let Some(id) = named.keys().find(|id| !id.parse().is_ok_and(|id| (first..=last).contains(&id))) {
        return Err(format!("tokenizer_config.json has an added token {id:?}, not from {first} to {last}"));
    }
    let control = |id: usize| {
        let mut token = json!({"single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
            "special": true, "content": format!("<|reserved_token_{id}|>")});
        if let Some(fields) = named.get(&id.to_string()).and_then(Value::as_object) {
            token.as_object_mut().into_iter().for_each(|token| token.extend(fields.clone()));
        }
        token["id"] = json!(id);
        token
    };
    Ok((first..=last).map(control).collect())
}
