//! Small files of a model directory, made of a file's keys.

use serde_json::{Map, Value, json};

use super::config::config_json;
use super::error::GgufError;
use super::keys::Keys;
use super::model::Gguf;
use super::tokenizer::{end_ids, tokenizer_config, tokenizer_json};

/// Key of the chat template; behind a dot, the names of others.
const TEMPLATE: &str = "tokenizer.chat_template";

/// Sampling parameters: their names in `generation_config.json`, and in keys.
const SAMPLING: [(&str, &str); 5] = [
    ("temperature", "temp"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("min_p", "min_p"),
    ("repetition_penalty", "penalty_repeat"),
];

impl Gguf<'_> {
    /// The file `name` as Hugging Face's layout would have it; `None` for one that there is nothing
    /// for.
    ///
    /// # Errors
    /// The keys that it is made of are broken, or say what isn't supported.
    pub fn file(&self, name: &str) -> Result<Option<Vec<u8>>, GgufError> {
        let keys = &self.keys;
        let text = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
        match name {
            "config.json" => config_json(self).map(Some),
            "generation_config.json" => generation_config(keys).map(json_text).map(Some),
            "tokenizer.json" => tokenizer_json(self).map(Some),
            "tokenizer_config.json" => tokenizer_config(keys).map(json_text).map(Some),
            "chat_template.jinja" => Ok(text(keys.text(TEMPLATE)?)),
            "additional_chat_templates/tool_use.jinja" => {
                Ok(text(keys.text(&format!("{TEMPLATE}.tool_use"))?))
            }
            _ => Ok(None),
        }
    }
}

fn json_text(object: Map<String, Value>) -> Vec<u8> {
    Value::Object(object).to_string().into_bytes()
}

/// `generation_config.json`: the tokens that end a turn, and sampling parameters. A file that
/// doesn't set one leaves it to the server.
fn generation_config(keys: &Keys<'_>) -> Result<Map<String, Value>, GgufError> {
    let mut config = Map::new();
    config.insert("eos_token_id".to_owned(), json!(end_ids(keys)?));
    for (name, key) in SAMPLING {
        let key = format!("general.sampling.{key}");
        let number = match name {
            "top_k" => keys.size(&key, 0..=u64::from(u32::MAX))?.map(Value::from),
            _ => keys.number(&key)?.map(Value::from),
        };
        config.extend(number.map(|number| (name.to_owned(), number)));
    }
    Ok(config)
}
