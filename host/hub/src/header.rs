//! Headers of GGUF files, which come before the rest of them: a family, tokenizer or type that isn't
//! supported costs megabytes.

use engine::GgufHead;
use engine::models::LoadError;

use super::HubError;
use super::blob::Download;

/// First bytes of a model's first file, and of its other parts. They hold the header of most: keys
/// of the tokenizer, which the first file has, take five to ten megabytes.
const FIRST: u64 = 8 << 20;
const OTHER: u64 = 256 << 10;
/// Most bytes of a model's headers together, which are held in memory.
const MOST: u64 = 64 << 20;

/// Downloads the headers of a model's files, which are given in their order, and checks that the
/// engine knows it.
pub(super) async fn check(files: Vec<Download<'_>>) -> Result<(), HubError> {
    let (mut heads, mut left, mut first) = (Vec::with_capacity(files.len()), MOST, FIRST);
    for file in files {
        let head = head(&file, first, left).await?;
        left -= head.bytes.len() as u64;
        heads.push(head);
        first = OTHER;
    }
    Ok(GgufHead::check(&heads)?)
}

/// The header of a file: its first `bytes`, or more of them, at most `most`.
async fn head(file: &Download<'_>, mut bytes: u64, most: u64) -> Result<GgufHead, HubError> {
    let name = format!("{}/{}", file.name.repository(), file.path);
    loop {
        bytes = bytes.min(most);
        let mut head =
            GgufHead { name: name.clone(), bytes: file.head(bytes).await?, file_bytes: file.file.bytes };
        if let Some(length) = head.header_len().map_err(LoadError::from)? {
            head.bytes.truncate(length);
            return Ok(head);
        }
        if bytes == most {
            return Err(HubError::wrong(name, "its header is longer than any model's"));
        }
        bytes *= 2;
    }
}
