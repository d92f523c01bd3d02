//! The prompt by which models write summaries of conversations, from a file.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};
use api::agent::DEFAULT_PROMPT;

use system::bounded;

/// Maximum size of the file, in bytes: the prompt is part of each compaction's context.
const MAX_BYTES: u64 = 64 << 10;

/// Reads the operator's prompt; without a file it is the server's own.
pub(super) fn prompt(file: Option<&Path>) -> anyhow::Result<Arc<str>> {
    let Some(file) = file else { return Ok(DEFAULT_PROMPT.into()) };
    read(file).with_context(|| format!("--compaction-prompt {}", file.display()))
}

fn read(file: &Path) -> anyhow::Result<Arc<str>> {
    let text = bounded::text(file, MAX_BYTES)?;
    ensure!(!text.trim().is_empty(), "it is empty: write what the model is to do, or leave the switch out");
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use super::{DEFAULT_PROMPT, MAX_BYTES, prompt};

    #[test]
    fn file_replaces_the_prompt_and_useless_ones_fail() {
        assert_eq!(&*prompt(None).unwrap(), DEFAULT_PROMPT);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("prompt.txt");
        let with = |text: &[u8]| {
            std::fs::write(&file, text).unwrap();
            prompt(Some(&file)).map_err(|error| format!("{error:#}"))
        };
        assert_eq!(with(b"Sum it up.\n").as_deref(), Ok("Sum it up.\n"));
        for (text, says) in [
            (&b" \n"[..], "it is empty"),
            (&vec![b'x'; usize::try_from(MAX_BYTES).unwrap() + 1], "shorten it"),
            (&b"\xff\xff"[..], "UTF-8"),
        ] {
            let error = with(text).unwrap_err();
            assert!(error.contains("--compaction-prompt") && error.contains(says), "{error}");
        }
        let missing = prompt(Some(&folder.path().join("none"))).unwrap_err();
        assert!(format!("{missing:#}").contains("No such file"), "{missing:#}");
    }
}
