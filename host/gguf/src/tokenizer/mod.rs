//! `tokenizer.json` of a GGUF file: its vocabulary, merges or scores, and the name of a way to cut
//! text, in the format of Hugging Face's library. Tokens keep their ids.

mod byte_level;
mod gemma4;
mod json;
mod pre_tokenizer;
mod sentence_piece;
mod special;
mod vocabulary;

use serde_json::{Value, json};

pub use pre_tokenizer::KIMI_PATTERN;
pub(crate) use special::{end_ids, tokenizer_config};

use super::error::{GgufError, printable};
use super::model::Gguf;
use json::{Merge, TokenizerJson};
pub(crate) use vocabulary::TOKENS;
use vocabulary::Vocabulary;

/// What a kind of tokenizers adds to a vocabulary.
struct Parts<'a> {
    merges: Vec<Merge<'a>>,
    normalizer: Value,
    pre_tokenizer: Value,
    decoder: Value,
    /// Whether a word that is a token becomes that token, whatever the merges would give.
    ignore_merges: bool,
    /// Whether characters that are no tokens become tokens of their bytes.
    byte_fallback: bool,
    /// Whether a prompt begins with the token for that, where the file doesn't say.
    begins: bool,
}

/// The text of `tokenizer.json`.
pub(crate) fn tokenizer_json(gguf: &Gguf<'_>) -> Result<Vec<u8>, GgufError> {
    let keys = &gguf.keys;
    let vocabulary = Vocabulary::read(keys)?;
    let parts = match keys.needed_text("tokenizer.ggml.model")? {
        byte_level::NAME => byte_level::parts(keys)?,
        gemma4::NAME => gemma4::parts(keys)?,
        sentence_piece::NAME => sentence_piece::parts(keys, &vocabulary)?,
        model => {
            let reason = format!(
                "tokenizer.ggml.model {} is not supported; supported: gpt2, llama, gemma4",
                printable(model)
            );
            return Err(keys.error(reason));
        }
    };
    let post_processor = post_processor(gguf, &vocabulary, parts.begins)?;
    let file = TokenizerJson::new(&vocabulary, parts, post_processor);
    serde_json::to_vec(&file).map_err(|error| keys.error(format!("its tokenizer: {error}")))
}

/// Tokens that begin and end every text that is encoded as a whole prompt.
fn post_processor(gguf: &Gguf<'_>, vocabulary: &Vocabulary<'_>, begins: bool) -> Result<Value, GgufError> {
    let keys = &gguf.keys;
    let begin = keys.flag("tokenizer.ggml.add_bos_token")?.unwrap_or(begins);
    let end = keys.flag("tokenizer.ggml.add_eos_token")?.unwrap_or(false);
    let token = |is_added: bool, name| match special::id(keys, name)?.filter(|_| is_added) {
        Some(id) => Ok(vocabulary.token(id).map(|token| (id, token))),
        None => Ok(None),
    };
    let (begin, end) = (token(begin, "bos")?, token(end, "eos")?);
    let mut template = vec![json!({"Sequence": {"id": "A", "type_id": 0}})];
    let mut tokens = serde_json::Map::new();
    for (is_first, added) in [(true, begin), (false, end)] {
        let Some((id, token)) = added else { continue };
        let at = if is_first { 0 } else { template.len() };
        template.insert(at, json!({"SpecialToken": {"id": token, "type_id": 0}}));
        tokens.insert(token.to_owned(), json!({"id": token, "ids": [id], "tokens": [token]}));
    }
    if tokens.is_empty() {
        return Ok(Value::Null);
    }
    let pair = [&template[..], &[json!({"Sequence": {"id": "B", "type_id": 1}})]].concat();
    Ok(json!({"type": "TemplateProcessing", "single": template, "pair": pair, "special_tokens": tokens}))
}
