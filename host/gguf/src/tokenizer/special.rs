//! Special tokens by their ids in the file's keys, and the tokens that end a turn.

use serde_json::{Map, Value};

use super::gemma4;
use super::vocabulary::{TokenType, Vocabulary};
use crate::error::GgufError;
use crate::keys::Keys;

/// Special tokens: their names in `tokenizer_config.json`, and in keys.
const NAMES: [(&str, &str); 6] = [
    ("bos_token", "bos"),
    ("eos_token", "eos"),
    ("unk_token", "unknown"),
    ("sep_token", "seperator"),
    ("pad_token", "padding"),
    ("mask_token", "mask"),
];

/// Keys of tokens that end a turn.
const ENDS: [&str; 3] = ["eos", "eot", "eom"];

/// Control tokens that end a turn wherever a vocabulary has them: files name one, and models write
/// others too.
#[rustfmt::skip]
const END_TEXTS: [&str; 17] = [
    "<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|calls|>", "<|flush|>",
    "<end_of_turn>", "<turn|>", "<|endoftext|>", "<|end_of_text|>", "<end_of_utterance>", "<EOT>", "[EOT]", "[EOS]",
    "<｜end▁of▁sentence｜>",
];
/// Text of a token that ends a message, but not a turn, in vocabularies that also have the second.
const END_OF_MESSAGE: (&str, &[&str]) = ("<|end|>", &["<|return|>", "<|flush|>"]);

/// Id of a special token; `None` where the file doesn't say, or says one beyond the vocabulary.
pub(super) fn id(keys: &Keys<'_>, name: &str) -> Result<Option<usize>, GgufError> {
    let found = keys.size(&format!("tokenizer.ggml.{name}_token_id"), 0..=u64::from(u32::MAX))?;
    let default = match (name, keys.text("tokenizer.ggml.model")?) {
        ("bos", Some("llama")) => Some(1),
        ("eos", Some("llama")) => Some(2),
        ("unknown", Some("llama")) => Some(0),
        _ => None,
    };
    Ok(found.or(default).and_then(|id| usize::try_from(id).ok()))
}

/// `tokenizer_config.json`: literals of the special tokens.
pub(crate) fn tokenizer_config(keys: &Keys<'_>) -> Result<Map<String, Value>, GgufError> {
    let vocabulary = Vocabulary::read(keys)?;
    let mut config = Map::new();
    for (name, key) in NAMES {
        let token = id(keys, key)?.and_then(|id| vocabulary.token(id));
        config.extend(token.map(|token| (name.to_owned(), Value::from(token))));
    }
    Ok(config)
}

/// Ids of the tokens that end a turn, each once, the file's own first.
pub(crate) fn end_ids(keys: &Keys<'_>) -> Result<Vec<usize>, GgufError> {
    let vocabulary = Vocabulary::read(keys)?;
    let mut ids = Vec::new();
    for name in ENDS {
        ids.extend(id(keys, name)?.filter(|id| vocabulary.token(*id).is_some()));
    }
    let (message, turns) = END_OF_MESSAGE;
    let is_message =
        |text: &str| text == message && vocabulary.iter().any(|(_, text, _)| turns.contains(&text));
    let controls = vocabulary
        .iter()
        .filter(|(_, text, of)| *of == TokenType::Control && END_TEXTS.contains(text) && !is_message(text));
    ids.extend(controls.map(|(id, ..)| id));
    if keys.text("tokenizer.ggml.model")? == Some(gemma4::NAME) {
        let ends = vocabulary.iter().filter(|(_, text, _)| *text == gemma4::TOOL_RESPONSE);
        ids.extend(ends.map(|(id, ..)| id));
    }
    let mut seen = std::collections::HashSet::new();
    ids.retain(|id| seen.insert(*id));
    Ok(ids)
}
