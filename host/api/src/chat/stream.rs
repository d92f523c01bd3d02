//! Writer of a stream's chunks: the fields that every chunk repeats, and which chunks carry usage;
//! and what a request says of its answer.

use super::chunks::{Chunk, ChunkChoice, ChunkUsage};
use crate::event_buffer::EventBuffer;
use crate::obfuscation::encoded_len;
use turn::Usage;

/// Options of a request that decide what its answer holds.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the request")]
pub(super) struct OutputOptions {
    /// Number of choices.
    pub(super) n: u32,
    /// Whether the answer lists the tokens of the content with their log-probabilities.
    pub(super) logprobs: bool,
    /// Whether the answer has the token ids of prompt and output.
    pub(super) token_ids: bool,
    /// Whether a stream has a last chunk with the usage.
    pub(super) include_usage: bool,
    /// Whether chunks are padded.
    pub(super) obfuscate: bool,
}

/// Writer of one stream's chunks.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: String,
    pub(super) created: u64,
    pub(super) model: String,
    /// Whether a last chunk carries the usage.
    pub(super) include_usage: bool,
    /// Whether chunks are padded.
    pub(super) padded: bool,
}

impl Stream {
    /// Writes a chunk of one choice.
    pub(super) fn choice(&self, choice: ChunkChoice<'_>, buffer: &mut EventBuffer) {
        let usage = if self.include_usage { ChunkUsage::Later(None) } else { ChunkUsage::Unwanted };
        let Self { id, created, model, padded, .. } = self;
        let said = choice.delta.said();
        let object = "chat.completion.chunk";
        let choices = &[choice];
        let chunk = Chunk { id, object, created: *created, model, choices, usage };
        if *padded {
            buffer.push_padded(None, encoded_len(said), &chunk);
        } else {
            buffer.push(None, &chunk);
        }
    }

    /// Writes the usage chunk, if the client asked for it.
    pub(super) fn usage(&self, usage: Usage, buffer: &mut EventBuffer) {
        if self.include_usage {
            let Self { id, created, model, .. } = self;
            let (object, usage) = ("chat.completion.chunk", ChunkUsage::Now(usage.into()));
            buffer.push(None, &Chunk { id, object, created: *created, model, choices: &[], usage });
        }
    }
}
