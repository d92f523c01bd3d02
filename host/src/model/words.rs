//! Text to token ids and back, for clients that ask: what `/tokenize` and `/detokenize` answer with.

use super::error::StartError;
use super::job::Job;
use super::served::{Model, Served};
use crate::prompt::RenderError;

/// Token ids of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tokenized {
    /// The ids.
    pub ids: Vec<u32>,
    /// Each token's text, where it was asked for; broken characters are replaced.
    pub texts: Option<Vec<String>>,
    /// Tokens that a sequence of this model may have.
    pub context: usize,
}

impl Model {
    /// The tokens of the prompt that a job would begin with; the first, where it has several.
    pub async fn tokenize(&self, job: Job, texts: bool) -> Result<Tokenized, StartError> {
        self.prepare(move |served| {
            let ids = served.ids(job)?;
            let texts = texts.then(|| ids.iter().map(|id| served.text(*id)).collect());
            Ok(Tokenized { ids, texts, context: served.source.info().context })
        })
        .await
    }

    /// The text of tokens, control tokens as they are spelt.
    pub async fn detokenize(&self, ids: Vec<u32>) -> Result<String, StartError> {
        self.prepare(move |served| {
            served.check_ids(&ids)?;
            served.tokenizer.decode(&ids).map_err(StartError::tokenize)
        })
        .await
    }
}

impl Served {
    /// Ids of text that a client wrote as a prompt, its control tokens included.
    pub(super) fn encode(&self, text: &str, special: bool) -> Result<Vec<u32>, StartError> {
        let limit = self.source.info().context.saturating_mul(self.limits.prompt_bytes_per_token);
        if text.len() > limit {
            return Err(RenderError::TooLong { bytes: text.len(), limit }.into());
        }
        self.tokenizer.encode_raw(text, special).map_err(StartError::tokenize)
    }

    /// Refuses ids that the vocabulary doesn't have.
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
