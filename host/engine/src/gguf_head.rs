//! First bytes of a GGUF file, for a look at what it is before the rest of it is there.

use gguf::{FilePart, Gguf};

use crate::file_bytes::FileError;
use crate::models::{LoadError, ModelConfig};

/// Small files that are made of a header's keys, but for the configuration.
const MADE_OF_KEYS: [&str; 2] = ["tokenizer.json", "generation_config.json"];

/// First bytes of a GGUF file, or of a part.
#[derive(Debug)]
pub struct GgufHead {
    /// Name of the file for messages.
    pub name: String,
    /// Its first bytes.
    pub bytes: Vec<u8>,
    /// Its size.
    pub file_bytes: u64,
}

impl GgufHead {
    /// Length of the header; `None` if it goes on behind the bytes that are there.
    ///
    /// # Errors
    /// The header is broken, or has what isn't supported.
    pub fn header_len(&self) -> Result<Option<usize>, FileError> {
        Ok(self.part().header_len()?)
    }

    /// Checks that the engine knows the model whose parts these are: its family, and its types of
    /// tensors and tokenizer. All headers must be there; numbers of tensors are not looked at.
    ///
    /// # Errors
    /// It doesn't, or the headers aren't those of one model.
    pub fn check(parts: &[Self]) -> Result<(), LoadError> {
        let parts: Vec<FilePart<'_>> = parts.iter().map(Self::part).collect();
        let gguf = Gguf::parse(&parts).map_err(FileError::from)?;
        let file = |name| gguf.file(name).map_err(FileError::from);
        for name in MADE_OF_KEYS {
            file(name)?;
        }
        let config = file("config.json")?.unwrap_or_default();
        ModelConfig::parse(parts.first().map_or("", |part| part.name), &config).map(drop)
    }

    fn part(&self) -> FilePart<'_> {
        let file_bytes = usize::try_from(self.file_bytes).unwrap_or(usize::MAX);
        FilePart { name: &self.name, bytes: &self.bytes, file_bytes }
    }
}
