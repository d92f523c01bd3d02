//! A tokenizer's vocabulary for llguidance: a trie over the bytes of its tokens.

use std::sync::Arc;

use llguidance::toktrie::{TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv};

use prompt::Tokenizer;

/// Most bytes of a token in the trie, which can't hold longer ones. Masks never allow longer
/// tokens.
const LONGEST: usize = 1000;

/// Trie and tokenizer for llguidance. Control tokens have no text in the trie: a grammar names them
/// by id.
pub(super) struct MaskVocabulary {
    trie: TokTrie,
    tokenizer: Arc<Tokenizer>,
}

impl MaskVocabulary {
    /// The vocabulary of a tokenizer, with [`end`] as its last token; `None` if its tokens have no
    /// bytes of their own.
    pub(super) fn new(tokenizer: Arc<Tokenizer>) -> Option<Self> {
        if !tokenizer.spells_bytes() {
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

/// Id in llguidance's masks for the end of the turn, whichever token ends it: the first id beyond
/// the tokenizer's.
pub(super) fn end(tokenizer: &Tokenizer) -> TokenId {
    u32::try_from(tokenizer.vocab_size()).expect("ids are 32 bits")
}

fn word(tokenizer: &Tokenizer, id: u32) -> Vec<u8> {
    let word = match tokenizer.added_token(id) {
        Some(token) if !token.is_whitespace() => special(&token.literal),
        _ => tokenizer.token(id),
    };
    if word.len() > LONGEST { Vec::new() } else { word }
}

/// Marks a token as a control token, by a first byte that never occurs in UTF-8 text.
fn special(literal: &str) -> Vec<u8> {
    [&[TokTrie::SPECIAL_TOKEN_MARKER], literal.as_bytes()].concat()
}

impl TokenizerEnv for MaskVocabulary {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    /// Encodes text as in a prompt. Where the tokenizer changes the text (by a normal form, for
    /// example), its tokens would violate the grammar, so the text is split greedily into the
    /// longest tokens instead. The same is done for parts of a character.
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
