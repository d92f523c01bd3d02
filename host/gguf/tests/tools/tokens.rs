//! Keys of a tokenizer and a chat template, from a directory of the tiny models: byte-level BPE
//! without merges.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::writer::{Key, Writer};

/// Writes the tokenizer and the template of a directory.
pub(crate) fn write(writer: &mut Writer, folder: &Path) {
    write_first(writer, folder, u64::MAX);
}

/// Writes the same of the tokenizer's first `most` tokens, for a model that has rows for no others.
pub(crate) fn write_first(writer: &mut Writer, folder: &Path, most: u64) {
    let json =
        |name: &str| -> Value { serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap() };
    let (tokenizer, config) = (json("tokenizer.json"), json("tokenizer_config.json"));
    let rows = json("config.json")["vocab_size"].as_u64().unwrap().min(most);
    let mut tokens: BTreeMap<u64, (String, i32)> = BTreeMap::new();
    for (text, id) in tokenizer["model"]["vocab"].as_object().unwrap() {
        tokens.insert(id.as_u64().unwrap(), (text.clone(), 1));
    }
    let mut ids = BTreeMap::new();
    for added in tokenizer["added_tokens"].as_array().unwrap() {
        let (id, text) = (added["id"].as_u64().unwrap(), added["content"].as_str().unwrap());
        ids.insert(text, id);
        tokens.insert(id, (text.to_owned(), if added["special"] == true { 3 } else { 4 }));
    }
    let all = (0..rows).map(|id| tokens.remove(&id).unwrap_or_else(|| (format!("[PAD{id}]"), 5)));
    let (texts, types): (Vec<String>, Vec<i32>) = all.unzip();
    writer.key("tokenizer.ggml.model", Key::Text("gpt2"));
    writer.key("tokenizer.ggml.pre", Key::Text("qwen3-tiny"));
    writer.key("tokenizer.ggml.tokens", Key::Texts(&texts));
    writer.key("tokenizer.ggml.token_type", Key::I32s(&types));
    writer.key("tokenizer.ggml.merges", Key::Texts(&[]));
    for (name, key) in [("bos_token", "bos"), ("eos_token", "eos"), ("pad_token", "padding")] {
        if let Some(id) = config[name].as_str().and_then(|text| ids.get(text)).filter(|id| **id < rows) {
            let id = u32::try_from(*id).unwrap();
            writer.key(&format!("tokenizer.ggml.{key}_token_id"), Key::U32(id));
        }
    }
    let template = std::fs::read_to_string(folder.join("chat_template.jinja")).unwrap();
    writer.key("tokenizer.chat_template", Key::Text(&template));
}
