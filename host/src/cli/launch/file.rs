//! The temporary file of an agent that can't be told by arguments and variables alone. It is
//! removed when this value goes, unless it is kept.

use std::path::PathBuf;

use anyhow::Context;
use system::private::create_private;

use super::agents::TextFile;

pub(super) struct TemporaryFile {
    path: PathBuf,
    is_kept: bool,
}

impl TemporaryFile {
    pub(super) fn write(TextFile { path, text }: &TextFile) -> anyhow::Result<Self> {
        create_private(path, &[text.as_bytes()]).with_context(|| path.display().to_string())?;
        Ok(Self { path: path.clone(), is_kept: false })
    }

    /// Leaves the file where it is.
    pub(super) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
