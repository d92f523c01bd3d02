//! What every chunk of a stream repeats, and which of them carry usage.

use super::super::frames::Frames;
use super::super::obfuscation::{Obfuscation, encoded_len};
use super::chunks::{Chunk, ChunkChoice, ChunkUsage};
use crate::turn::Usage;

/// The head of a stream's chunks.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: String,
    pub(super) created: u64,
    pub(super) model: String,
    /// The last chunk tells the usage.
    pub(super) include_usage: bool,
    /// Pads what chunks say, if that is wanted.
    pub(super) obfuscation: Option<Obfuscation>,
}

impl Stream {
    /// A chunk of one choice.
    pub(super) fn choice(&mut self, choice: ChunkChoice<'_>, frames: &mut Frames) {
        let usage = if self.include_usage { ChunkUsage::Later(None) } else { ChunkUsage::Unwanted };
        let Self { id, created, model, obfuscation, .. } = self;
        let said = choice.delta.said();
        let obfuscation = obfuscation.as_mut().map(|obfuscation| obfuscation.pad(encoded_len(said)));
        let object = "chat.completion.chunk";
        let choices = &[choice];
        frames.push(None, &Chunk { id, object, created: *created, model, choices, usage, obfuscation });
    }

    /// The usage chunk, if it is wanted.
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
