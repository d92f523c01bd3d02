//! The file of a server's keys: one key of 64 hexadecimal digits per line, the newest first. A
//! missing file is made with a fresh key and mode 0600. A file that others can read is refused.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::{KEY_BYTES, Seal};
use system::private::{self, PrivateError};
use system::{bounded, random};

/// Most keys of a file. Whoever replaces a key needs the last one or two; more than this are a
/// mistake.
const MAX_KEYS: usize = 16;
/// Most bytes of a file: room for `MAX_KEYS` keys and blank lines.
const MAX_BYTES: u64 = 4096;

/// Error of a key file that can't be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", file.display())]
pub struct KeyFileError {
    file: PathBuf,
    reason: Reason,
}

#[derive(Debug, thiserror::Error)]
enum Reason {
    #[error(transparent)]
    Private(#[from] PrivateError),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("line {0}: expected a key of 64 hexadecimal digits, such as `openssl rand -hex 32` prints")]
    Line(usize),
    #[error("expected 1 to {MAX_KEYS} keys, one per line")]
    Count,
}

impl KeyFileError {
    /// Whether the file exists and its content or its mode is wrong. Else file or folder can't be
    /// made, read or written.
    pub fn is_of_the_file(&self) -> bool {
        match &self.reason {
            Reason::Private(PrivateError::Io(_)) => false,
            Reason::Io(error) => error.kind() == io::ErrorKind::InvalidData,
            Reason::Private(_) | Reason::Line(_) | Reason::Count => true,
        }
    }
}

impl Seal {
    /// A seal with the keys in `file`, which is made if it is missing.
    ///
    /// # Panics
    /// If the system has no randomness to give.
    pub fn from_file(file: &Path) -> Result<Self, KeyFileError> {
        read_or_make(file).map_err(|reason| KeyFileError { file: file.to_owned(), reason })
    }
}

fn read_or_make(file: &Path) -> Result<Seal, Reason> {
    if let Some(seal) = read(file)? {
        return Ok(seal);
    }
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let key = random::hex::<KEY_BYTES>();
    // Another process may have made the file in the meantime: then that file's key is used.
    private::create_private(file, &[key.as_bytes(), b"\n"])?;
    read(file)?.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound).into())
}

fn read(file: &Path) -> Result<Option<Seal>, Reason> {
    let Some(opened) = private::open_secret(file)? else { return Ok(None) };
    let text = bounded::text_of(opened, MAX_BYTES)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let key = |(number, line): (usize, &str)| key(line.trim()).ok_or(Reason::Line(number + 1));
    let keys = lines.map(key).collect::<Result<Vec<_>, _>>()?;
    if (1..=MAX_KEYS).contains(&keys.len()) { Ok(Some(Seal::new(&keys))) } else { Err(Reason::Count) }
}

fn key(digits: &str) -> Option<[u8; KEY_BYTES]> {
    let mut key = [0; KEY_BYTES];
    if digits.len() != 2 * KEY_BYTES || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, at) in key.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(&digits[at..at + 2], 16).ok()?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::Seal;
    use crate::seal::SealError;

    fn open(file: &std::path::Path) -> Seal {
        Seal::from_file(file).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_key_is_made_once_and_nobody_else_can_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/b/seal.key");
        let sealed = open(&file).seal("r", "x");
        assert_eq!(open(&file).open("r", &sealed).as_deref(), Ok("x"));
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
        let other = open(&folder.path().join("other.key"));
        assert_eq!(other.open("r", &sealed), Err(SealError::Foreign));
    }

    #[test]
    fn of_many_that_make_it_at_once_all_have_one_key() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("seal.key");
        let sealed: Vec<String> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| open(&file).seal("r", "x"))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(sealed.iter().all(|sealed| open(&file).open("r", sealed).as_deref() == Ok("x")));
    }

    #[test]
    fn key_file_empty_too_long_or_readable_by_others_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("seal.key");
        let key = "0f".repeat(32);
        let refused = |text: &str, mode: u32| {
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            Seal::from_file(&file).unwrap_err().to_string()
        };
        assert!(refused("", 0o600).ends_with("expected 1 to 16 keys, one per line"));
        assert!(refused(&format!("{key}\n{}\n", &key[1..]), 0o600).contains("line 2: expected a key of 64"));
        let long = refused(&format!("{key}\n{}", "\n".repeat(4096)), 0o600);
        assert_eq!(long, format!("{}: it has more than 4096 bytes: shorten it", file.display()));
        assert!(refused(&format!("{key}\n"), 0o644).contains("others have access; chmod 600 it"));
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        open(&file);
    }
}
