//! Where a model's files come from: a directory, GGUF files, or the binary itself. All are read the
//! same way.

use std::borrow::Cow;
use std::fs::File;
use std::path::{Path, PathBuf};

use system::bounded;

use crate::file_bytes::{FileBytes, FileError, map_file};
use crate::gguf_files::GgufFiles;

/// Most bytes of a file that is read whole. The largest, of tokenizers, have 40 MB.
const MOST_SMALL: u64 = 256 << 20;

/// A model's files, by name.
#[derive(Debug, Clone)]
pub enum ModelFiles {
    /// A directory in Hugging Face's layout.
    Directory(PathBuf),
    /// GGUF files, whose small files are made of their keys.
    Gguf(GgufFiles),
    /// Files compiled into the binary: (name, bytes).
    Embedded(&'static [(&'static str, &'static [u8])]),
}

impl ModelFiles {
    /// The path (or name) to show in messages.
    pub fn describe(&self, name: &str) -> String {
        match self {
            Self::Directory(dir) => dir.join(name).display().to_string(),
            Self::Gguf(files) => format!("{} (as {name})", files.path().display()),
            Self::Embedded(_) => format!("(embedded) {name}"),
        }
    }

    /// Reads a small file whole; `None` where there is none.
    pub fn read(&self, name: &str) -> Result<Option<Cow<'static, [u8]>>, FileError> {
        match self {
            Self::Directory(dir) => match bounded::regular(&dir.join(name), MOST_SMALL) {
                Ok(bytes) => Ok(Some(Cow::Owned(bytes))),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(self.error(name, &error)),
            },
            Self::Gguf(files) => Ok(files.read(name)?.map(Cow::Owned)),
            Self::Embedded(_) => Ok(self.embedded(name).map(Cow::Borrowed)),
        }
    }

    /// Maps a large file; `None` where there is none.
    pub fn map(&self, name: &str) -> Result<Option<FileBytes>, FileError> {
        match self {
            Self::Directory(dir) => match File::open(dir.join(name)) {
                Ok(file) => map_file(&file).map(Some).map_err(|error| self.error(name, &error)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(self.error(name, &error)),
            },
            Self::Gguf(_) => Ok(None),
            Self::Embedded(_) => Ok(self.embedded(name).map(FileBytes::Embedded)),
        }
    }

    /// The directory, where there is one.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Self::Directory(dir) => Some(dir),
            Self::Gguf(_) | Self::Embedded(_) => None,
        }
    }

    fn embedded(&self, name: &str) -> Option<&'static [u8]> {
        let Self::Embedded(files) = self else { return None };
        files.iter().find(|(n, _)| *n == name).map(|(_, bytes)| *bytes)
    }

    fn error(&self, name: &str, error: &std::io::Error) -> FileError {
        FileError { file: self.describe(name), reason: error.to_string() }
    }
}
