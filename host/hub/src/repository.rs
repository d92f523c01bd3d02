//! What the cache holds of one repository, read without following links: snapshots, what of each is
//! there, and the contents that they share.
//!
//! Invariant: a file of a snapshot counts as there only if it is a link into the repository's own
//! `blobs`, or a file itself.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use super::HubName;
use super::cache::{cache_directory, folder_name, repository_name};
use super::folder::{Entry, EntryKind, Folder};
use super::name::is_commit;

pub(super) const REFERENCES: &str = "refs";
pub(super) const SNAPSHOTS: &str = "snapshots";
pub(super) const BLOBS: &str = "blobs";
/// Ending of what isn't whole, of Python's tools and of this one's.
const PARTIAL: &str = ".incomplete";
/// Largest file of a reference, in bytes: it has a commit's id.
const REFERENCE_BYTES: u64 = 256;

/// A repository in the cache.
pub(super) struct Repository {
    /// The cache.
    pub(super) root: Folder,
    /// `models--ORG--NAME`.
    pub(super) folder: String,
    /// The open folder of that name, and its path.
    pub(super) open: Folder,
    pub(super) path: PathBuf,
    /// `ORG/NAME`.
    pub(super) name: String,
    /// Commits by the branches and tags that name them.
    pub(super) references: BTreeMap<String, String>,
    /// Files of snapshots, by commit.
    pub(super) snapshots: BTreeMap<String, Vec<SnapshotFile>>,
    /// Contents by their names, partial ones among them.
    pub(super) blobs: BTreeMap<String, Entry>,
}

/// A file of a snapshot.
pub(super) struct SnapshotFile {
    /// Its path in the repository.
    pub(super) path: PathBuf,
    /// Name of its content; `None` if it is a file itself, or a link elsewhere.
    pub(super) blob: Option<String>,
    /// Its size in bytes; `None` if it isn't there.
    pub(super) bytes: Option<u64>,
    pub(super) modified: Option<SystemTime>,
}

/// Repositories of models in the cache, `ORG/NAME`, in their order. What else is there is left out.
pub(super) fn repositories() -> io::Result<Vec<String>> {
    let root = match Folder::open(&cache_directory()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        root => root?,
    };
    let entries = root.entries()?.into_iter();
    let folders = entries.filter(|(_, entry)| matches!(entry.kind, EntryKind::Folder | EntryKind::Link));
    Ok(folders.filter_map(|(name, _)| repository_name(name.to_str()?)).collect())
}

impl Repository {
    /// Reads the repository `ORG/NAME`; `None` if the cache has no folder of it.
    pub(super) fn read(name: &str) -> io::Result<Option<Self>> {
        let (path, folder) = (cache_directory(), folder_name(name));
        let opened = Folder::open(&path).and_then(|root| Ok((root.enter(&folder)?, root)));
        let (open, root) = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let blobs = blobs(&open)?;
        let snapshots = snapshots(&open, &blobs)?;
        let references = references(&open)?;
        let (path, name) = (path.join(&folder), name.to_owned());
        Ok(Some(Self { root, folder, open, path, name, references, snapshots, blobs }))
    }

    /// The commit that a revision names: a branch, a tag or a commit whose snapshot is there.
    pub(super) fn commit(&self, revision: &str) -> Option<&str> {
        let commit = self.references.get(revision).map_or(revision, String::as_str);
        self.snapshots.get_key_value(commit).map(|(commit, _)| commit.as_str())
    }

    /// Names of the commit, `main` first, at last its id; never empty.
    pub(super) fn revisions<'a>(&'a self, commit: &'a str) -> impl Iterator<Item = &'a str> {
        let names = self.references.iter().filter(move |(_, named)| *named == commit);
        let mut names: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
        names.sort_by_key(|name| *name != HubName::MAIN);
        names.into_iter().chain([commit])
    }

    /// Bytes of contents that aren't whole or belong to no snapshot: what broke off.
    pub(super) fn loose_bytes(&self) -> u64 {
        let used: BTreeSet<&String> = self.files().filter_map(|file| file.blob.as_ref()).collect();
        let loose = self.blobs.iter().filter(|(blob, _)| blob.ends_with(PARTIAL) || !used.contains(blob));
        loose.fold(0, |sum, (_, entry)| sum.saturating_add(entry.bytes))
    }

    /// Files of all snapshots.
    pub(super) fn files(&self) -> impl Iterator<Item = &SnapshotFile> {
        self.snapshots.values().flatten()
    }
}

/// The folder `name`; `None` if it isn't there.
pub(super) fn below(folder: &Folder, name: &str) -> io::Result<Option<Folder>> {
    match folder.enter(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        entered => entered.map(Some),
    }
}

fn blobs(repository: &Folder) -> io::Result<BTreeMap<String, Entry>> {
    let Some(folder) = below(repository, BLOBS)? else { return Ok(BTreeMap::new()) };
    let files = folder.entries()?.into_iter().filter(|(_, entry)| entry.kind == EntryKind::File);
    Ok(files.filter_map(|(name, entry)| Some((name.into_string().ok()?, entry))).collect())
}

fn snapshots(
    repository: &Folder,
    blobs: &BTreeMap<String, Entry>,
) -> io::Result<BTreeMap<String, Vec<SnapshotFile>>> {
    let Some(folder) = below(repository, SNAPSHOTS)? else { return Ok(BTreeMap::new()) };
    let mut snapshots = BTreeMap::new();
    for (name, entry) in folder.entries()? {
        let Some(commit) = name.to_str().filter(|name| is_commit(name) && entry.kind == EntryKind::Folder)
        else {
            continue;
        };
        snapshots.insert(commit.to_owned(), snapshot(&folder.enter(commit)?, blobs)?);
    }
    Ok(snapshots)
}

fn snapshot(folder: &Folder, blobs: &BTreeMap<String, Entry>) -> io::Result<Vec<SnapshotFile>> {
    let mut files = Vec::new();
    folder.walk(&mut |path, entry| files.push((path.to_owned(), entry.clone())))?;
    let mut read = Vec::with_capacity(files.len());
    for (path, entry) in files {
        let blob = if entry.kind == EntryKind::Link {
            let (folder, name) = folder.folder_of(&path)?;
            blob_of(&path, &folder.target(name)?)
        } else {
            None
        };
        let content = match &blob {
            Some(blob) => blobs.get(blob),
            None => Some(&entry).filter(|entry| entry.kind == EntryKind::File),
        };
        let (bytes, modified) = (content.map(|entry| entry.bytes), content.and_then(|entry| entry.modified));
        read.push(SnapshotFile { path, blob, bytes, modified });
    }
    Ok(read)
}

/// Name of the content that the link at `path` of a snapshot leads to, if it is one of the
/// repository's own.
fn blob_of(path: &Path, target: &Path) -> Option<String> {
    let mut parts = target.components();
    for _ in 0..=path.components().count() {
        (parts.next()? == Component::ParentDir).then_some(())?;
    }
    let is_blobs = parts.next()? == Component::Normal(BLOBS.as_ref());
    match (parts.next()?, parts.next()) {
        (Component::Normal(blob), None) if is_blobs => blob.to_str().map(str::to_owned),
        _ => None,
    }
}

fn references(repository: &Folder) -> io::Result<BTreeMap<String, String>> {
    let Some(folder) = below(repository, REFERENCES)? else { return Ok(BTreeMap::new()) };
    let mut names = Vec::new();
    folder.walk(&mut |path, entry| {
        names.extend(path.to_str().filter(|_| entry.kind == EntryKind::File).map(str::to_owned));
    })?;
    let commit = |name: &String| {
        let (folder, file) = folder.folder_of(Path::new(name)).ok()?;
        let commit = folder.text(file, REFERENCE_BYTES).ok()?.trim().to_owned();
        is_commit(&commit).then_some(commit)
    };
    Ok(names.into_iter().filter_map(|name| Some((name.clone(), commit(&name)?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_into_the_own_contents_count() {
        for (path, target, blob) in [
            ("config.json", "../../blobs/ab", Some("ab")),
            ("a/b.jinja", "../../../blobs/ab", Some("ab")),
            ("config.json", "../blobs/ab", None),
            ("config.json", "../../../blobs/ab", None),
            ("config.json", "../../blobs/..", None),
            ("config.json", "../../blobs/a/b", None),
            ("config.json", "../../blobs", None),
            ("config.json", "/etc/passwd", None),
            ("config.json", "../../refs/main", None),
        ] {
            assert_eq!(blob_of(Path::new(path), Path::new(target)).as_deref(), blob, "{path} -> {target}");
        }
    }
}
