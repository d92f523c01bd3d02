//! Files and folders that only this user can have written: created with modes that ensure it, and
//! checked before use.
//!
//! Used for machine code (`code_cache`) and keys (`api::seal`, `accept::keys_file`). Checks look at
//! the open file, not at its path, so that nothing can be put in its place in between.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Ending of the name of a file that is still being written.
pub const UNFINISHED: &str = ".unfinished";

/// Permission bits of group and others.
const GROUP_AND_OTHERS_BITS: u32 = 0o077;
/// The same without the group's reading.
const MORE_THAN_GROUP_READS_BITS: u32 = 0o037;
/// User who administers the machine.
const ROOT: u32 = 0;

/// Reason why a file or folder can't be trusted or used.
#[derive(Debug, thiserror::Error)]
pub enum PrivateError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is something else, such as a link.
    #[error("not a plain {0}")]
    Kind(&'static str),
    /// Somebody else owns it.
    #[error("it belongs to user {owner}, not to {user}")]
    Owner {
        /// Its owner.
        owner: u32,
        /// This process's user.
        user: u32,
    },
    /// Others have access to it.
    #[error("its mode is {mode:o}: others have access; chmod {wanted:o} it, or name another")]
    Mode {
        /// Its permission bits.
        mode: u32,
        /// Those it should have.
        wanted: u32,
    },
    /// What is in it wasn't written by this installation.
    #[error("not written by this installation, or damaged")]
    Foreign,
}

/// Creates the folder with mode 0700 if it doesn't exist, and checks that only this user has access
/// to it.
pub fn prepare_folder(folder: &Path) -> Result<(), PrivateError> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
        _ => {}
    }
    let flags = libc::O_NOFOLLOW | libc::O_DIRECTORY | libc::O_CLOEXEC;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(folder);
    let opened = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP | libc::ENOTDIR) => PrivateError::Kind("folder"),
        _ => error.into(),
    })?;
    check(&opened, 0o700)
}

/// Opens a file for reading, if it exists, and checks that only this user has access to it. Links
/// are not followed.
pub fn open_private(path: &Path) -> Result<Option<File>, PrivateError> {
    let Some(file) = open_plain(path, libc::O_NOFOLLOW)? else { return Ok(None) };
    check(&file, 0o600)?;
    Ok(Some(file))
}

/// As [`open_private`], for a secret that an operator names. It may also be root's with nobody but
/// its group reading it, and behind links: as Kubernetes hands the entries of a Secret to a process
/// that isn't root.
pub fn open_secret(path: &Path) -> Result<Option<File>, PrivateError> {
    let refused = match open_private(path) {
        Err(error @ (PrivateError::Kind(_) | PrivateError::Owner { .. })) => error,
        opened => return opened,
    };
    let Some(file) = open_plain(path, 0)? else { return Ok(None) };
    let metadata = file.metadata()?;
    let user = rustix::process::geteuid().as_raw();
    if is_handed_out(metadata.uid(), metadata.mode(), user) { Ok(Some(file)) } else { Err(refused) }
}

/// Whether a file is root's, and nobody but its group reads it beside root; `user` is this
/// process's, which isn't root.
fn is_handed_out(owner: u32, mode: u32, user: u32) -> bool {
    owner == ROOT && user != ROOT && mode & MORE_THAN_GROUP_READS_BITS == 0
}

/// Opens a file for reading, if it exists and is a plain one.
fn open_plain(path: &Path, links: i32) -> Result<Option<File>, PrivateError> {
    // O_NONBLOCK: a named pipe in the file's place would wait for a writer.
    let flags = links | libc::O_CLOEXEC | libc::O_NONBLOCK;
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => return Err(PrivateError::Kind("file")),
        Err(error) => return Err(error.into()),
    };
    if file.metadata()?.is_file() { Ok(Some(file)) } else { Err(PrivateError::Kind("file")) }
}

/// Writes a file whole or not at all, with mode 0600; it replaces a file of that name.
pub fn write_private(folder: &Path, name: &str, parts: &[&[u8]]) -> io::Result<()> {
    let unfinished = folder.join(format!("{}{UNFINISHED}", crate::random::hex::<16>()));
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        parts.iter().try_for_each(|part| file.write_all(part))?;
        fs::rename(&unfinished, folder.join(name))
    };
    write().inspect_err(|_| {
        // The error is ignored: `code_cache` removes unfinished files once they are old.
        let _ = fs::remove_file(&unfinished);
    })
}

/// Writes a new file whole or not at all, with mode 0600; a file that exists already is left as it
/// is.
pub fn create_private(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let unfinished = path.with_extension(format!("{}{UNFINISHED}", crate::random::hex::<16>()));
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        parts.iter().try_for_each(|part| file.write_all(part))?;
        match fs::hard_link(&unfinished, path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    };
    let written = write();
    // The file has its final name by now, or is of no use.
    let _ = fs::remove_file(&unfinished);
    written
}

fn check(opened: &File, wanted: u32) -> Result<(), PrivateError> {
    let metadata = opened.metadata()?;
    let (owner, user) = (metadata.uid(), rustix::process::geteuid().as_raw());
    if owner != user {
        return Err(PrivateError::Owner { owner, user });
    }
    let mode = metadata.mode() & 0o7777;
    if mode & GROUP_AND_OTHERS_BITS != 0 {
        return Err(PrivateError::Mode { mode, wanted });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{ROOT, is_handed_out};

    #[test]
    fn what_root_hands_out_is_read_by_its_group_at_most() {
        let user = 65532;
        for (owner, mode, user, expected) in [
            (ROOT, 0o100_440, user, true),
            (ROOT, 0o100_640, user, true),
            (ROOT, 0o100_400, user, true),
            (ROOT, 0o100_444, user, false),
            (ROOT, 0o100_460, user, false),
            (ROOT, 0o100_604, user, false),
            // Root's own files are for root alone.
            (ROOT, 0o100_440, ROOT, false),
            (1000, 0o100_440, user, false),
            (user, 0o100_440, user, false),
        ] {
            assert_eq!(is_handed_out(owner, mode, user), expected, "{owner} {mode:o} {user}");
        }
    }
}
