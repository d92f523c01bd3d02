//! A tokenizer's vocabulary as llguidance walks it: a trie over the bytes of its tokens.

use std::sync::Arc;

use llguidance::toktrie::{TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv};

use crate::prompt::Tokenizer;

/// Longer tokens are never allowed: the trie can't hold them.
const LONGEST: usize = 1000;

/// Tokens as bytes. Control tokens are no text: a grammar names them by id.
pub(super) struct MaskVocabulary {
    trie: TokTrie,
    tokenizer: Arc<Tokenizer>,
}

impl MaskVocabulary {
    /// The vocabulary of a byte-level tokenizer, and [`end`] behind it; none of any other tokenizer.
    pub(super) fn new(tokenizer: Arc<Tokenizer>) -> Option<Self> {
        if !tokenizer.is_byte_level() {
            return None;
        }
        let ids = 0..end(&tokenizer);
        let words: Vec<Vec<u8>> = ids.map(|id| word(&tokenizer, id)).chain([special("<end>")]).collect();
        let size = u32::try_from(words.len()).ok()?;
        let trie = TokTrie::from(&TokRxInfo::new(size, size - 1), &words);
        Some(Self { trie, tokenizer })
    }

    pub(super) fn into_environment(self) -> TokEnv {
        Arc::new(self)
    }
}

/// The id that stands for the end of the turn, whichever token ends it: the first that the tokenizer doesn't have.
pub(super) fn end(tokenizer: &Tokenizer) -> TokenId {
    u32::try_from(tokenizer.vocab_size()).expect("ids are 32 bits")
}

fn word(tokenizer: &Tokenizer, id: u32) -> Vec<u8> {
    let word = match tokenizer.added_token(id) {
        Some(token) if !token.is_layout() => special(&token.literal),
        _ => tokenizer.token(id),
    };
    if word.len() > LONGEST { Vec::new() } else { word }
}

/// A byte that no text has tells llguidance that this is no text.
fn special(literal: &str) -> Vec<u8> {
    [&[TokTrie::SPECIAL_TOKEN_MARKER], literal.as_bytes()].concat()
}

impl TokenizerEnv for MaskVocabulary {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    /// As a prompt is encoded. A tokenizer that changes text (by a normal form, say) would leave the grammar there, so the longest tokens
    /// of the text itself are taken instead; as they are for parts of a character.
    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<TokenId> {
        let mut ids = Vec::new();
        for chunk in bytes.utf8_chunks() {
            let text = chunk.valid();
            let encoded = self.tokenizer.encode_text(text).ok();
            let same = encoded.filter(|ids| self.trie.decode_raw(ids) == text.as_bytes());
            ids.extend(same.unwrap_or_else(|| self.trie.greedy_tokenize(text.as_bytes())));
            ids.extend(self.trie.greedy_tokenize(chunk.invalid()));
        }
        ids
    }
}
