//! Removal of models from the cache: a repository, a revision, or a GGUF file of one.
//!
//! Invariants: only what is below the repository's own folder is removed, and links are removed, not
//! followed (`folder.rs`). A content that a snapshot which stays refers to stays. References go first,
//! contents last, so that a removal that is interrupted leaves no model that looks whole.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::cache::{LOCKS, cache_directory, folder_name, lock_name};
use super::folder::EntryKind;
use super::gguf::{self, NoChoice};
use super::repository::{BLOBS, REFERENCES, Repository, SNAPSHOTS, SnapshotFile, below};
use super::similar::similar;
use super::{HubError, HubName};

/// A removal that is planned. Nobody else downloads what it removes while this value lives.
pub struct Removal {
    repository: Repository,
    part: RemovedPart,
    /// References that name what is removed.
    references: Vec<String>,
    /// Contents that nothing else refers to.
    blobs: Vec<String>,
    bytes: u64,
    _locks: Vec<File>,
}

/// What is removed of a repository.
enum RemovedPart {
    /// All of it: every revision, and what broke off.
    Repository,
    Snapshot(String),
    /// Files of a snapshot, which has others.
    Files(String, Vec<PathBuf>),
}

impl Removal {
    /// Finds what the name means: `ORG/NAME` all that the cache has of the repository, `@REVISION` a
    /// snapshot, `:QUANT` or `:FILE.gguf` a GGUF file of one. Locks it.
    ///
    /// # Errors
    /// The cache has nothing of that name, several files could be meant, or another process
    /// downloads it.
    pub fn plan(name: &HubName) -> Result<Self, HubError> {
        let folder = cache_directory();
        let path = folder.join(folder_name(name.repository()));
        let repository = Repository::read(name.repository()).map_err(HubError::cache(&path))?;
        let repository = repository.ok_or_else(|| HubError::NotCached {
            name: name.to_string(),
            folder: folder.display().to_string(),
            similar: similar(name.repository()),
        })?;
        let part = part(&repository, name)?;
        let (references, blobs) = (references(&repository, &part), blobs(&repository, &part));
        let locks = locks(&repository, &part, &blobs, name)?;
        let bytes = bytes(&repository, &part, &blobs).map_err(HubError::cache(&repository.path))?;
        Ok(Self { repository, part, references, blobs, bytes, _locks: locks })
    }

    /// Bytes that the disk gets back.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What is removed, in words.
    pub fn what(&self) -> String {
        let folder = self.repository.path.display();
        match &self.part {
            RemovedPart::Repository => match self.repository.snapshots.len() {
                0 => format!("what was downloaded of it, in {folder}"),
                1 => format!("all of it, in {folder}"),
                revisions => format!("all {revisions} revisions of it, in {folder}"),
            },
            RemovedPart::Snapshot(commit) => format!("commit {commit}, in {folder}"),
            RemovedPart::Files(commit, paths) => {
                let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
                format!("{} of commit {commit}, in {folder}", paths.join(", "))
            }
        }
    }

    /// Removes it; returns the bytes that the disk got back.
    ///
    /// # Errors
    /// Something can't be removed. What was removed before is gone.
    pub fn run(self) -> Result<u64, HubError> {
        self.remove().map_err(HubError::cache(&self.repository.path))
    }

    fn remove(&self) -> io::Result<u64> {
        let Repository { root, folder, open, .. } = &self.repository;
        let mut freed = 0_u64;
        let mut free = |bytes: io::Result<u64>| bytes.map(|bytes| freed = freed.saturating_add(bytes));
        for reference in &self.references {
            free(self.remove_file(REFERENCES, Path::new(reference)))?;
        }
        match &self.part {
            RemovedPart::Repository => {
                for part in [REFERENCES, SNAPSHOTS, BLOBS] {
                    free(present(open.remove_all(part)))?;
                }
                free(root.remove_all(folder))?;
            }
            RemovedPart::Snapshot(commit) => free(open.enter(SNAPSHOTS)?.remove_all(commit))?,
            RemovedPart::Files(commit, paths) => {
                for path in paths {
                    free(self.remove_file(SNAPSHOTS, &Path::new(commit).join(path)))?;
                }
            }
        }
        for blob in &self.blobs {
            free(self.remove_file(BLOBS, Path::new(blob)))?;
        }
        Ok(freed)
    }

    /// Removes a file below a folder of the repository, and the folders that it leaves empty.
    fn remove_file(&self, below: &str, path: &Path) -> io::Result<u64> {
        let top = self.repository.open.enter(below)?;
        let (folder, name) = top.folder_of(path)?;
        let freed = folder.remove(name)?;
        for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            let (folder, name) = top.folder_of(above)?;
            if folder.remove_empty(name).is_err() {
                break; // It holds more.
            }
        }
        Ok(freed)
    }
}

/// What the name means.
fn part(repository: &Repository, name: &HubName) -> Result<RemovedPart, HubError> {
    if name.is_repository() {
        return Ok(RemovedPart::Repository);
    }
    let lacks = |reason: String| HubError::NoModel { name: repository.name.clone(), reason };
    let commit = repository.commit(name.revision()).ok_or_else(|| {
        let (revision, program) = (name.revision(), system::program::name());
        lacks(format!("the cache has no revision {revision} of it: {program} models lists what there is"))
    })?;
    let files = &repository.snapshots[commit];
    let paths: BTreeSet<_> = match name.gguf() {
        None => files.iter().map(|file| file.path.clone()).collect(),
        Some(selector) => {
            let present = files.iter().filter_map(|file| Some((file.path.to_str()?, file.bytes?)));
            let models = gguf::models(present);
            let chosen = gguf::choose(&models, Some(selector)).map_err(|none| {
                let (NoChoice::None(reason) | NoChoice::Several(reason)) = none;
                lacks(format!("in the cache, {reason}"))
            })?;
            chosen.paths.iter().map(PathBuf::from).collect()
        }
    };
    let commit = commit.to_owned();
    if files.iter().any(|file| !paths.contains(&file.path)) {
        return Ok(RemovedPart::Files(commit, paths.into_iter().collect()));
    }
    // A repository without snapshots and contents is no more than empty folders.
    let part = RemovedPart::Snapshot(commit);
    let is_last = repository.snapshots.len() == 1 && blobs(repository, &part).len() == repository.blobs.len();
    Ok(if is_last { RemovedPart::Repository } else { part })
}

fn references(repository: &Repository, part: &RemovedPart) -> Vec<String> {
    let RemovedPart::Snapshot(removed) = part else { return Vec::new() };
    let named = repository.references.iter().filter(|(_, commit)| *commit == removed);
    named.map(|(name, _)| name.clone()).collect()
}

/// Contents that only files of a removed snapshot refer to; a repository is removed with all its
/// contents.
fn blobs(repository: &Repository, part: &RemovedPart) -> Vec<String> {
    let is_removed = |commit: &String, file: &SnapshotFile| match part {
        RemovedPart::Repository => false,
        RemovedPart::Snapshot(removed) => commit == removed,
        RemovedPart::Files(removed, paths) => commit == removed && paths.contains(&file.path),
    };
    let files = || {
        repository.snapshots.iter().flat_map(|(commit, files)| files.iter().map(move |file| (commit, file)))
    };
    let of = |removed: bool| -> BTreeSet<&String> {
        let chosen = files().filter(|(commit, file)| is_removed(commit, file) == removed);
        chosen.filter_map(|(_, file)| file.blob.as_ref()).collect()
    };
    let (removed, kept) = (of(true), of(false));
    let alone = removed.difference(&kept).filter(|blob| repository.blobs.contains_key(**blob));
    alone.map(|blob| (*blob).clone()).collect()
}

/// The locks on what is removed. Those that no download has made yet can't be held.
fn locks(
    repository: &Repository,
    part: &RemovedPart,
    blobs: &[String],
    name: &HubName,
) -> Result<Vec<File>, HubError> {
    let path = cache_directory().join(LOCKS).join(&repository.folder);
    let fault = |error: io::Error| HubError::cache(&path)(error);
    let locks = below(&repository.root, LOCKS).map_err(fault)?;
    let folder = locks.map(|locks| below(&locks, &repository.folder)).transpose().map_err(fault)?.flatten();
    let Some(folder) = folder else { return Ok(Vec::new()) };
    let wanted: BTreeSet<String> = blobs.iter().map(|blob| lock_name(blob)).collect();
    let is_wanted = |file: &str| matches!(part, RemovedPart::Repository) || wanted.contains(file);
    let mut held = Vec::new();
    for (file, entry) in folder.entries().map_err(fault)? {
        if entry.kind != EntryKind::File || !file.to_str().is_some_and(is_wanted) {
            continue;
        }
        let lock = folder.file(&file).map_err(fault)?;
        match lock.try_lock() {
            Ok(()) => held.push(lock),
            Err(TryLockError::WouldBlock) => return Err(HubError::InUse { name: name.to_string() }),
            Err(TryLockError::Error(error)) => return Err(fault(error)),
        }
    }
    Ok(held)
}

/// Bytes that the disk gets back: files with another name elsewhere free nothing.
fn bytes(repository: &Repository, part: &RemovedPart, blobs: &[String]) -> io::Result<u64> {
    let contents = blobs.iter().filter_map(|blob| repository.blobs.get(blob)).map(|blob| blob.freed);
    let mut bytes = contents.fold(0, u64::saturating_add);
    let mut add = |path: &Path, freed: u64| {
        let is_removed = match part {
            RemovedPart::Files(_, paths) => paths.iter().any(|removed| removed == path),
            RemovedPart::Repository | RemovedPart::Snapshot(_) => true,
        };
        bytes = bytes.saturating_add(if is_removed { freed } else { 0 });
    };
    match part {
        RemovedPart::Repository => repository.open.walk(&mut |path, entry| add(path, entry.freed))?,
        RemovedPart::Snapshot(commit) | RemovedPart::Files(commit, _) => {
            let snapshot = repository.open.enter(SNAPSHOTS)?.enter(commit)?;
            snapshot.walk(&mut |path, entry| add(path, entry.freed))?;
        }
    }
    Ok(bytes)
}

/// What isn't there frees nothing.
fn present(removed: io::Result<u64>) -> io::Result<u64> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        removed => removed,
    }
}
