//! Folders of the cache, each held open and reached from the one above by a single name.
//!
//! Invariant: no symbolic link below the cache's root is followed, whatever is put in a folder's place
//! meanwhile: one is listed as a link, read as a link, and removed as a link.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, openat, readlinkat, unlinkat};
use system::bounded;

/// Most entries of one folder, and most folders inside each other: more than any repository has.
const MAX_ENTRIES: usize = 1 << 18;
const MAX_DEPTH: usize = 64;

/// An open folder.
pub(super) struct Folder(OwnedFd);

/// What a folder has under a name.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) kind: EntryKind,
    /// Size of a file, in bytes; 0 of anything else.
    pub(super) bytes: u64,
    /// Bytes that the disk gets back if it is removed: none if the file has another name elsewhere.
    pub(super) freed: u64,
    pub(super) modified: Option<SystemTime>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    Folder,
    File,
    Link,
    /// A pipe, a device.
    Other,
}

impl Folder {
    /// Opens the folder that the user named, which may be a link.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(openat(CWD, path, flags, Mode::empty())?))
    }

    /// Opens the folder `name` in it.
    pub(super) fn enter(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = name.as_ref();
        if self.entry(name)?.kind == EntryKind::Link {
            return Err(io::Error::other("a symbolic link, which is not followed: remove it by hand"));
        }
        Ok(Self(self.open_entry(name, OFlags::RDONLY | OFlags::DIRECTORY)?))
    }

    /// What it has under `name`.
    pub(super) fn entry(&self, name: impl AsRef<OsStr>) -> io::Result<Entry> {
        // A path of the kernel's alone: nothing is opened that could wait or act.
        let place = File::from(self.open_entry(name.as_ref(), OFlags::PATH)?);
        Ok(Entry::of(&place.metadata()?))
    }

    /// All that is in it, in the order of the names.
    pub(super) fn entries(&self) -> io::Result<Vec<(OsString, Entry)>> {
        let mut entries = Vec::new();
        for listed in Dir::read_from(&self.0)? {
            let listed = listed?;
            let name = OsStr::from_bytes(listed.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            match self.entry(name) {
                Ok(entry) => entries.push((name.to_owned(), entry)),
                // It went meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            if entries.len() > MAX_ENTRIES {
                return Err(io::Error::other(format!("a folder with more than {MAX_ENTRIES} entries")));
            }
        }
        entries.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        Ok(entries)
    }

    /// Calls `visit` for all that isn't a folder, in it and in the folders in it, with paths from it.
    pub(super) fn walk(&self, visit: &mut dyn FnMut(&Path, &Entry)) -> io::Result<()> {
        self.walk_below(Path::new(""), MAX_DEPTH, visit)
    }

    fn walk_below(&self, above: &Path, depth: usize, visit: &mut dyn FnMut(&Path, &Entry)) -> io::Result<()> {
        for (name, entry) in self.entries()? {
            let path = above.join(&name);
            if entry.kind == EntryKind::Folder {
                self.enter(&name)?.walk_below(&path, less(depth)?, visit)?;
            } else {
                visit(&path, &entry);
            }
        }
        Ok(())
    }

    /// The folder that holds the file at `path`, which has plain parts only, and the file's name.
    pub(super) fn folder_of<'a>(&self, path: &'a Path) -> io::Result<(Self, &'a OsStr)> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut folder = self.again()?;
        for part in above {
            folder = folder.enter(part)?;
        }
        Ok((folder, name))
    }

    /// The text of a file of at most `most` bytes.
    pub(super) fn text(&self, name: impl AsRef<OsStr>, most: u64) -> io::Result<String> {
        if self.entry(&name)?.kind != EntryKind::File {
            return Err(io::Error::other("no regular file"));
        }
        bounded::text_of(File::from(self.open_entry(name.as_ref(), OFlags::RDONLY | OFlags::NONBLOCK)?), most)
    }

    /// Opens a file, for its lock.
    pub(super) fn file(&self, name: &OsStr) -> io::Result<File> {
        Ok(File::from(self.open_entry(name, OFlags::RDONLY | OFlags::NONBLOCK)?))
    }

    /// Where a link leads.
    pub(super) fn target(&self, name: &OsStr) -> io::Result<PathBuf> {
        let target = readlinkat(&self.0, name, Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()).into())
    }

    /// Removes what isn't a folder; returns the bytes that the disk gets back.
    pub(super) fn remove(&self, name: &OsStr) -> io::Result<u64> {
        let freed = self.entry(name)?.freed;
        unlinkat(&self.0, name, AtFlags::empty())?;
        Ok(freed)
    }

    /// Removes an empty folder.
    pub(super) fn remove_empty(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(unlinkat(&self.0, name.as_ref(), AtFlags::REMOVEDIR)?)
    }

    /// Removes `name` with all that is in it; returns the bytes that the disk gets back.
    pub(super) fn remove_all(&self, name: impl AsRef<OsStr>) -> io::Result<u64> {
        self.remove_below(name.as_ref(), MAX_DEPTH)
    }

    fn remove_below(&self, name: &OsStr, depth: usize) -> io::Result<u64> {
        if self.entry(name)?.kind != EntryKind::Folder {
            return self.remove(name);
        }
        let (folder, mut freed) = (self.enter(name)?, 0_u64);
        for (inner, _) in folder.entries()? {
            freed = freed.saturating_add(folder.remove_below(&inner, less(depth)?)?);
        }
        self.remove_empty(name)?;
        Ok(freed)
    }

    fn again(&self) -> io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }

    fn open_entry(&self, name: &OsStr, flags: OFlags) -> io::Result<OwnedFd> {
        let is_plain = !name.is_empty() && name != "." && name != ".." && !name.as_bytes().contains(&b'/');
        if !is_plain {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(openat(&self.0, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?)
    }
}

impl Entry {
    fn of(metadata: &Metadata) -> Self {
        let kind = match metadata.file_type() {
            kind if kind.is_dir() => EntryKind::Folder,
            kind if kind.is_file() => EntryKind::File,
            kind if kind.is_symlink() => EntryKind::Link,
            _ => EntryKind::Other,
        };
        let bytes = if kind == EntryKind::File { metadata.len() } else { 0 };
        let freed = if metadata.nlink() > 1 { 0 } else { bytes };
        Self { kind, bytes, freed, modified: metadata.modified().ok() }
    }
}

fn less(depth: usize) -> io::Result<usize> {
    depth
        .checked_sub(1)
        .ok_or_else(|| io::Error::other(format!("more than {MAX_DEPTH} folders in each other")))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder with a file, a link to a folder outside, a loop of links, and a link to itself.
    fn tangled() -> (tempfile::TempDir, tempfile::TempDir) {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("kept"), "kept").unwrap();
        fs::create_dir_all(inside.path().join("a/b")).unwrap();
        fs::write(inside.path().join("a/b/file"), "12345").unwrap();
        symlink(outside.path(), inside.path().join("a/out")).unwrap();
        symlink(outside.path().join("kept"), inside.path().join("a/kept")).unwrap();
        symlink("..", inside.path().join("a/up")).unwrap();
        symlink("self", inside.path().join("a/self")).unwrap();
        (inside, outside)
    }

    #[test]
    fn links_are_listed_and_removed_as_links() {
        let (inside, outside) = tangled();
        let folder = Folder::open(inside.path()).unwrap();
        let mut found = Vec::new();
        folder.walk(&mut |path, entry| found.push((path.display().to_string(), entry.kind))).unwrap();
        let link = |name: &str| (format!("a/{name}"), EntryKind::Link);
        let file = ("a/b/file".to_owned(), EntryKind::File);
        assert_eq!(found, [file, link("kept"), link("out"), link("self"), link("up")]);
        let a = folder.enter("a").unwrap();
        assert!(["out", "up", "self", "b/file", "..", ".", ""].iter().all(|name| a.enter(name).is_err()));
        assert!(
            folder.folder_of(Path::new("a/out/kept")).is_err()
                && folder.folder_of(Path::new("../x")).is_err()
        );
        assert!(a.text("kept", 10).is_err());
        assert_eq!(folder.remove_all("a").unwrap(), 5);
        assert_eq!(fs::read_to_string(outside.path().join("kept")).unwrap(), "kept");
        assert_eq!(inside.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn a_file_with_another_name_frees_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("one"), "12345").unwrap();
        fs::hard_link(folder.path().join("one"), folder.path().join("two")).unwrap();
        let open = Folder::open(folder.path()).unwrap();
        assert_eq!(
            (open.remove(OsStr::new("one")).unwrap(), open.remove(OsStr::new("two")).unwrap()),
            (0, 5)
        );
    }

    #[test]
    fn folders_without_an_end_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("d/".repeat(MAX_DEPTH + 2))).unwrap();
        let open = Folder::open(folder.path()).unwrap();
        assert!(open.walk(&mut |_, _| ()).is_err() && open.remove_all("d").is_err());
    }
}
