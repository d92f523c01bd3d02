//! Conversion of text to token ids and back, for `/tokenize` and `/detokenize`.

use super::error::StartError;
use super::job::Job;
use super::served::{Model, Served};
use prompt::ChatFiles;

/// Token ids of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tokenized {
    /// Token ids.
    pub ids: Vec<u32>,
    /// Text of each token, if it was asked for; incomplete characters are replaced.
    pub texts: Option<Vec<String>>,
    /// Most tokens of a sequence of this model.
    pub context: usize,
}

/// Facts about a model's tokenizer.
#[derive(Debug, Clone, Copy)]
pub struct TokenizerInfo<'a> {
    /// The chat template, and the special tokens by name.
    pub chat: &'a ChatFiles,
    /// Most tokens of a sequence of this model.
    pub context: usize,
}

impl Model {
    /// Facts about the tokenizer.
    pub fn tokenizer_info(&self) -> TokenizerInfo<'_> {
        TokenizerInfo { chat: &self.served.chat, context: self.context() }
    }

    /// Returns the tokens of the job's prompt; of the first one, if it has several. `texts`: with
    /// the text of each token.
    pub async fn tokenize(&self, job: Job, texts: bool) -> Result<Tokenized, StartError> {
        self.prepare(move |served, _| {
            let ids = served.ids(job)?;
            let texts = texts.then(|| ids.iter().map(|id| served.text(*id)).collect());
            Ok(Tokenized { ids, texts, context: served.source.info().context })
        })
        .await
    }

    /// Returns the text of tokens, with control tokens as their literals.
    pub async fn detokenize(&self, ids: Vec<u32>) -> Result<String, StartError> {
        self.prepare(move |served, _| {
            served.check_ids(&ids)?;
            served.tokenizer.decode(&ids).map_err(StartError::tokenize)
        })
        .await
    }
}

impl Served {
    /// Encodes a raw prompt of a client, including control tokens in its text.
    pub(super) fn encode(&self, text: &str, special: bool) -> Result<Vec<u32>, StartError> {
        let budget = self.limits.prompt.budget(self.source.info().context);
        Ok(self.tokenizer.encode_raw_prompt(text, special, budget)?)
    }

    /// Refuses token ids outside the vocabulary.
    pub(super) fn check_ids(&self, ids: &[u32]) -> Result<(), StartError> {
        let vocab = self.source.info().vocab.min(self.tokenizer.vocab_size());
        match ids.iter().find(|id| **id as usize >= vocab) {
            Some(id) => Err(StartError::UnknownToken(*id)),
            None => Ok(()),
        }
    }

    fn text(&self, id: u32) -> String {
        String::from_utf8_lossy(&self.tokenizer.token(id)).into_owned()
    }
}
