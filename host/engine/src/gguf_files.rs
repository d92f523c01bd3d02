//! A GGUF file, or the parts of one, mapped into memory.
//!
//! Invariant: the headers were read once without an error when the files were opened. Parts lie
//! beside each other under the names that llama.cpp gives them.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gguf::{FilePart, Gguf, GgufError};

use crate::file_bytes::{FileBytes, FileError, map_file};

/// A model in GGUF files. Cheap to clone.
#[derive(Debug, Clone)]
pub struct GgufFiles {
    path: PathBuf,
    /// Name of each part for messages, and its bytes.
    parts: Arc<[(String, FileBytes)]>,
}

impl From<GgufError> for FileError {
    fn from(GgufError { file, reason }: GgufError) -> Self {
        Self { file, reason }
    }
}

impl GgufFiles {
    /// Maps a file, and where it is a part, the other parts of its model.
    ///
    /// # Errors
    /// A file can't be read, or its header is broken.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let first = map(path)?;
        let count = FilePart::whole(&first.0, &first.1).part_count()?;
        let parts = if count == 1 { vec![first] } else { map_parts(path, count)? };
        let files = Self { path: path.to_owned(), parts: parts.into() };
        files.parsed(|_| Ok(()))?;
        Ok(files)
    }

    /// Whether a file begins as GGUF files do.
    pub fn is_gguf(path: &Path) -> bool {
        let mut magic = [0; gguf::MAGIC.len()];
        let read = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
        read.is_ok() && magic == gguf::MAGIC
    }

    /// The path that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Name of the model: the file's name without its ending and without its number as a part.
    pub fn model_name(&self) -> String {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        split_gguf_name(&stem).map_or_else(|| stem.to_string(), |(name, ..)| name.to_owned())
    }

    /// Name of each part for messages, and its bytes.
    pub fn parts(&self) -> &[(String, FileBytes)] {
        &self.parts
    }

    /// What the file says it is, in a few words.
    ///
    /// # Errors
    /// The file was changed since it was opened.
    pub fn summary(&self) -> Result<String, FileError> {
        self.parsed(|gguf| Ok(gguf.summary()))
    }

    /// Bytes of the weights in blocks, which no `--quantize` changes.
    ///
    /// # Errors
    /// The file was changed since it was opened.
    pub fn block_bytes(&self) -> Result<u64, FileError> {
        self.parsed(|gguf| Ok(gguf.block_bytes()))
    }

    /// A small file of the model, as a model directory would have it.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, FileError> {
        self.parsed(|gguf| gguf.file(name))
    }

    /// Reads the headers, for `with` to use.
    pub(crate) fn parsed<T>(
        &self,
        with: impl FnOnce(&Gguf<'_>) -> Result<T, GgufError>,
    ) -> Result<T, FileError> {
        let parts: Vec<FilePart<'_>> =
            self.parts.iter().map(|(name, bytes)| FilePart::whole(name, bytes)).collect();
        Ok(with(&Gguf::parse(&parts)?)?)
    }
}

fn map(path: &Path) -> Result<(String, FileBytes), FileError> {
    let name = path.display().to_string();
    let error = |error: std::io::Error| FileError { file: name.clone(), reason: error.to_string() };
    let bytes = map_file(&File::open(path).map_err(error)?).map_err(error)?;
    Ok((name, bytes))
}

/// Maps the parts of a model, one of which is at `path`.
fn map_parts(path: &Path, count: usize) -> Result<Vec<(String, FileBytes)>, FileError> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let (name, ending) = match (split_gguf_name(&stem), path.extension()) {
        (Some((name, _, of)), Some(ending)) if of == count => (name, ending.to_string_lossy()),
        _ => {
            let reason = format!(
                "the model has {count} parts, whose names end with -00001-of-{count:05}.gguf and so on; keep these names"
            );
            return Err(FileError { file: path.display().to_string(), reason });
        }
    };
    (1..=count)
        .map(|part| map(&path.with_file_name(format!("{name}-{part:05}-of-{count:05}.{ending}"))))
        .collect()
}

/// Name, number and count of a part's name without its ending: `NAME-00002-of-00005` as (NAME, 2,
/// 5); `None` for a name of no part.
pub fn split_gguf_name(stem: &str) -> Option<(&str, usize, usize)> {
    let (rest, count) = stem.rsplit_once("-of-")?;
    let (name, number) = rest.rsplit_once('-')?;
    let is_number = |text: &str| text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    let digits = |text: &str| is_number(text).then(|| text.parse().ok())?;
    Some((name, digits(number)?, digits(count)?))
}
