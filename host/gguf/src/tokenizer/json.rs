//! The format of `tokenizer.json`, written from borrowed tokens: a vocabulary of a hundred thousand
//! tokens is not copied.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;

use super::Parts;
use super::vocabulary::{TokenType, Vocabulary};

/// Two tokens that become one.
pub(super) type Merge<'a> = (&'a str, &'a str);

/// A whole file.
#[derive(Serialize)]
pub(super) struct TokenizerJson<'a> {
    version: &'static str,
    truncation: (),
    padding: (),
    added_tokens: Vec<AddedToken<'a>>,
    normalizer: Value,
    pre_tokenizer: Value,
    post_processor: Value,
    decoder: Value,
    model: Bpe<'a>,
}

#[derive(Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of the file format")]
struct AddedToken<'a> {
    id: usize,
    content: &'a str,
    single_word: bool,
    lstrip: bool,
    rstrip: bool,
    normalized: bool,
    special: bool,
}

#[derive(Serialize)]
struct Bpe<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    dropout: (),
    unk_token: Option<&'a str>,
    continuing_subword_prefix: (),
    end_of_word_suffix: (),
    fuse_unk: bool,
    byte_fallback: bool,
    ignore_merges: bool,
    vocab: Tokens<'a>,
    merges: Vec<Merge<'a>>,
}

/// Tokens as an object from text to id.
struct Tokens<'a>(Vec<(usize, &'a str)>);

impl Serialize for Tokens<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (id, text) in &self.0 {
            map.serialize_entry(text, id)?;
        }
        map.end()
    }
}

impl<'a> TokenizerJson<'a> {
    /// Puts a file together. Added tokens are in the vocabulary too, so that they keep their ids.
    pub(super) fn new(vocabulary: &Vocabulary<'a>, parts: Parts<'a>, post_processor: Value) -> Self {
        let unknown = vocabulary.iter().find(|(_, _, of)| *of == TokenType::Unknown);
        let bpe = Bpe {
            kind: "BPE",
            dropout: (),
            unk_token: unknown.map(|(_, text, _)| text),
            continuing_subword_prefix: (),
            end_of_word_suffix: (),
            fuse_unk: parts.byte_fallback,
            byte_fallback: parts.byte_fallback,
            ignore_merges: parts.ignore_merges,
            vocab: Tokens(vocabulary.iter().map(|(id, text, _)| (id, text)).collect()),
            merges: parts.merges,
        };
        Self {
            version: "1.0",
            truncation: (),
            padding: (),
            added_tokens: vocabulary.iter().filter_map(added_token).collect(),
            normalizer: parts.normalizer,
            pre_tokenizer: parts.pre_tokenizer,
            post_processor,
            decoder: parts.decoder,
            model: bpe,
        }
    }
}

fn added_token((id, content, of): (usize, &str, TokenType)) -> Option<AddedToken<'_>> {
    let special = match of {
        TokenType::Unknown | TokenType::Control => true,
        TokenType::UserDefined => false,
        TokenType::Normal | TokenType::Unused | TokenType::Byte => return None,
    };
    Some(AddedToken {
        id,
        content,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special,
    })
}
