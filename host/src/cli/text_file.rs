//! Files that a command reads whole: each within a bound, since a path may name a device or a
//! stream without an end.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Largest file of settings that somebody wrote, such as a chat template, in bytes.
pub(super) const SETTINGS_BYTES: u64 = 4 << 20;

/// Reads a text of at most `most` bytes.
///
/// # Errors
/// It can't be read, isn't UTF-8, or has more.
pub(super) fn text(path: &Path, most: u64) -> io::Result<String> {
    let bytes = bytes(File::open(path)?, most)?;
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it isn't UTF-8"))
}

/// Reads at most `most` bytes.
///
/// # Errors
/// They can't be read, or there are more.
pub(super) fn bytes(file: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("it has more than {most} bytes: shorten it")));
    }
    Ok(bytes)
}
