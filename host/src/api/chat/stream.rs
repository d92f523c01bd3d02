//! Writer of a stream's chunks: the fields that every chunk repeats, and which chunks carry usage.

use super::super::frames::Frames;
use super::super::obfuscation::{Obfuscation, encoded_len};
use super::chunks::{Chunk, ChunkChoice, ChunkUsage};
use crate::turn::Usage;

/// Writer of one stream's chunks.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: String,
    pub(super) created: u64,
    pub(super) model: String,
    /// Whether a last chunk carries the usage.
    pub(super) include_usage: bool,
    /// Makes the padding of chunks, if the client wants them padded.
    pub(super) obfuscation: Option<Obfuscation>,
}

impl Stream {
    /// Writes a chunk of one choice.
    pub(super) fn choice(&mut self, choice: ChunkChoice<'_>, frames: &mut Frames) {
        let usage = if self.include_usage { ChunkUsage::Later(None) } else { ChunkUsage::Unwanted };
        let Self { id, created, model, obfuscation, .. } = self;
        let said = choice.delta.said();
        let obfuscation = obfuscation.as_mut().map(|obfuscation| obfuscation.pad(encoded_len(said)));
        let object = "chat.completion.chunk";
        let choices = &[choice];
        frames.push(None, &Chunk { id, object, created: *created, model, choices, usage, obfuscation });
    }

    /// Writes the usage chunk, if the client asked for it.
    pub(super) fn usage(&self, usage: Usage, frames: &mut Frames) {
        if self.include_usage {
            let Self { id, created, model, .. } = self;
            let (object, usage) = ("chat.completion.chunk", ChunkUsage::Now(usage.into()));
            let chunk =
                Chunk { id, object, created: *created, model, choices: &[], usage, obfuscation: None };
            frames.push(None, &chunk);
        }
    }
}
