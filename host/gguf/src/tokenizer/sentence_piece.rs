//! `SentencePiece` (`llama`): characters are joined to the token with the highest score, one pair
//! after the other. That is BPE whose merges are all ways to make a token of two others, in the
//! order of the tokens' scores. Spaces are spelt `▁`.

use std::cmp::Ordering;
use std::collections::HashSet;

use serde_json::{Value, json};

use super::Parts;
use super::json::Merge;
use super::vocabulary::{SCORES, TokenType, Vocabulary};
use crate::error::GgufError;
use crate::keys::Keys;

/// Name of the kind.
pub(super) const NAME: &str = "llama";
/// Longest token in bytes that is made of others. Published ones have 48.
const LONGEST: usize = 256;
/// Most bytes of all merges together. Published vocabularies have a third of it.
const MOST_MERGE_BYTES: usize = 64 << 20;

pub(super) fn parts<'a>(keys: &Keys<'a>, vocabulary: &Vocabulary<'a>) -> Result<Parts<'a>, GgufError> {
    keys.tokenizer_array(SCORES, NAME)?;
    let adds_space = keys.flag("tokenizer.ggml.add_space_prefix")?.unwrap_or(true);
    Ok(Parts { merges: merges(keys, vocabulary)?, ..spelling(adds_space) })
}

/// How texts are spelt: `▁` for spaces, perhaps with one more before the text, and bytes for
/// characters that are no tokens.
pub(super) fn spelling<'a>(adds_space: bool) -> Parts<'a> {
    let spelt = json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"});
    let mut normalizers = vec![spelt];
    let mut decoders = vec![
        json!({"type": "Replace", "pattern": {"String": "▁"}, "content": " "}),
        json!({"type": "ByteFallback"}),
        json!({"type": "Fuse"}),
    ];
    if adds_space {
        normalizers.insert(0, json!({"type": "Prepend", "prepend": "▁"}));
        decoders.push(json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
    }
    Parts {
        merges: Vec::new(),
        normalizer: json!({"type": "Sequence", "normalizers": normalizers}),
        pre_tokenizer: Value::Null,
        decoder: json!({"type": "Sequence", "decoders": decoders}),
        ignore_merges: false,
        byte_fallback: true,
        begins: true,
    }
}

/// Every way to make a token of two others, those of the highest score first. Tokens of other types
/// are never made of text.
fn merges<'a>(keys: &Keys<'a>, vocabulary: &Vocabulary<'a>) -> Result<Vec<Merge<'a>>, GgufError> {
    let is_normal = |(_, _, of): &(usize, &str, TokenType)| *of == TokenType::Normal;
    let known: HashSet<&str> = vocabulary.iter().filter(is_normal).map(|(_, text, _)| text).collect();
    let short = vocabulary.iter().filter(|token| is_normal(token) && token.1.len() <= LONGEST);
    let mut tokens: Vec<(usize, &'a str)> = short.map(|(id, text, _)| (id, text)).collect();
    let by_score = |a: &(usize, &str), b: &(usize, &str)| {
        let (a, b) = (vocabulary.score(a.0), vocabulary.score(b.0));
        b.partial_cmp(&a).unwrap_or(Ordering::Equal)
    };
    tokens.sort_by(by_score);
    let (mut merges, mut bytes) = (Vec::new(), 0);
    for (_, token) in tokens {
        let cuts = token.char_indices().skip(1).map(|(at, _)| token.split_at(at));
        for merge in cuts.filter(|(left, right)| known.contains(left) && known.contains(right)) {
            bytes += token.len() + size_of::<Merge<'_>>();
            if bytes > MOST_MERGE_BYTES {
                return Err(keys.error("its tokens can be made of each other in too many ways"));
            }
            merges.push(merge);
        }
    }
    Ok(merges)
}
