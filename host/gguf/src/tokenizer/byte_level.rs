//! Byte-level BPE (`gpt2`): tokens are runs of bytes in GPT-2's alphabet, and the file lists merges.

use serde_json::{Value, json};

use super::Parts;
use super::json::Merge;
use super::pre_tokenizer::PreTokenizer;
use crate::error::{GgufError, printable};
use crate::keys::Keys;

/// Name of the kind.
pub(super) const NAME: &str = "gpt2";
const MERGES: &str = "tokenizer.ggml.merges";

pub(super) fn parts<'a>(keys: &Keys<'a>) -> Result<Parts<'a>, GgufError> {
    let pre_tokenizer = PreTokenizer::read(keys)?;
    let byte_level =
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
    let splits = pre_tokenizer.patterns.iter().map(|pattern| {
        json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false})
    });
    let all: Vec<Value> = splits.chain([byte_level.clone()]).collect();
    Ok(Parts {
        merges: merges(keys, NAME)?,
        normalizer: if pre_tokenizer.composes { json!({"type": "NFC"}) } else { Value::Null },
        pre_tokenizer: json!({"type": "Sequence", "pretokenizers": all}),
        decoder: byte_level,
        ignore_merges: pre_tokenizer.ignores_merges,
        byte_fallback: false,
        begins: pre_tokenizer.begins,
    })
}

/// Reads merges: two tokens with a space between them, before which each may have no space but as
/// its first character. A file without the list is refused: its texts would fall into bytes.
pub(super) fn merges<'a>(keys: &Keys<'a>, kind: &str) -> Result<Vec<Merge<'a>>, GgufError> {
    let list = keys.tokenizer_array(MERGES, kind)?;
    let pair = |text: &'a str| {
        let first = text.chars().next()?.len_utf8();
        let space = first + text.get(first..)?.find(' ')?;
        Some((&text[..space], &text[space + 1..]))
    };
    let mut merges = Vec::new();
    for value in list.iter() {
        let text = value.as_str().ok_or_else(|| keys.error(format!("{MERGES} must be a list of texts")))?;
        let merge = pair(text)
            .ok_or_else(|| keys.error(format!("{MERGES}: {:?} are not two tokens", printable(text))));
        merges.push(merge?);
    }
    Ok(merges)
}
