//! The file of API keys: a line `NAME=KEY` for each key, blank lines, and comments, which begin
//! with `#`. Several keys of one name are how a key is replaced: the old one stays until all
//! clients have the new one. A file that others can read is refused, as is a bad line; errors give
//! the line's number and never show the line.

use std::io;
use std::path::{Path, PathBuf};

use crate::accept::keys::{ApiKey, KeyError};
use system::bounded;
use system::private::{PrivateError, open_secret};

/// Most keys of a file: a request's key is compared with every one.
const MAX_KEYS: usize = 4096;
/// Most bytes of a file.
const MAX_BYTES: u64 = 1 << 20;

/// Error of a file of keys that can't be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", file.display())]
pub struct KeysFileError {
    file: PathBuf,
    reason: Reason,
}

#[derive(Debug, thiserror::Error)]
enum Reason {
    #[error(transparent)]
    Private(#[from] PrivateError),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("line {0}: {1}")]
    Line(usize, KeyError),
    #[error("expected 1 to {MAX_KEYS} keys, a line NAME=KEY each")]
    Count,
}

/// Reads all keys of `file`.
///
/// # Errors
/// The file is missing or unreadable, others have access to it, or a line is no key with a name.
pub fn read_keys(file: &Path) -> Result<Vec<ApiKey>, KeysFileError> {
    read(file).map_err(|reason| KeysFileError { file: file.to_owned(), reason })
}

fn read(file: &Path) -> Result<Vec<ApiKey>, Reason> {
    let opened = open_secret(file)?.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let text = bounded::text_of(opened, MAX_BYTES)?;
    let lines = (1..).zip(text.lines().map(str::trim));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let key = |(number, line)| ApiKey::named(line).map_err(|error| Reason::Line(number, error));
    let keys = lines.map(key).collect::<Result<Vec<_>, _>>()?;
    if (1..=MAX_KEYS).contains(&keys.len()) { Ok(keys) } else { Err(Reason::Count) }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::accept::keys::{Keys, PresentedKey};

    #[test]
    fn comments_and_blanks_are_no_keys_and_names_repeat() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("keys");
        fs::write(&file, "# team\n\nalice=one=1\r\n  alice = two#2 \n bob=three,3\n").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        let keys = Keys::new(read_keys(&file).unwrap()).unwrap();
        let owner = |key: &[u8]| keys.owner(&PresentedKey::new(key)).map(|owner| owner.name().to_owned());
        assert_eq!([owner(b"one=1"), owner(b"two#2")], [Some("alice".to_owned()), Some("alice".to_owned())]);
        assert_eq!((owner(b"three,3").as_deref(), keys.owners()), (Some("bob"), 2));
        assert_eq!(owner(b"# team"), None);
    }
}
