//! Files that are read whole: each within a bound, since a path may name a device or a stream
//! without an end, and a file may come from anybody.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Largest file of settings that somebody wrote, such as a chat template, in bytes.
pub const SETTINGS_BYTES: u64 = 4 << 20;

/// Reads a file of at most `most` bytes that its folder's author chose, which must be a regular
/// one: a pipe would never end.
///
/// # Errors
/// It can't be read, is no regular file, or has more.
pub fn regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    bytes(open_regular(path)?, most)
}

/// Opens a regular file. What it is is asked first: a pipe's opening waits for a writer.
///
/// # Errors
/// It can't be opened, or is no regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(invalid("no regular file".to_owned()));
    }
    File::open(path)
}

/// As [`regular`], of a UTF-8 text.
///
/// # Errors
/// The same, or it isn't UTF-8.
pub fn regular_text(path: &Path, most: u64) -> io::Result<String> {
    utf8(regular(path, most)?)
}

/// Reads a UTF-8 text of at most `most` bytes from the path that the user named, which may be a
/// pipe.
///
/// # Errors
/// It can't be read, isn't UTF-8, or has more.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    text_of(File::open(path)?, most)
}

/// As [`text`], of a file that is open.
///
/// # Errors
/// The same.
pub fn text_of(file: impl Read, most: u64) -> io::Result<String> {
    utf8(bytes(file, most)?)
}

/// Reads at most `most` bytes.
///
/// # Errors
/// They can't be read, or there are more.
pub fn bytes(file: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(invalid(format!("it has more than {most} bytes: shorten it")));
    }
    Ok(bytes)
}

fn utf8(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| invalid("it isn't UTF-8".to_owned()))
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
