//! The cache that Python's tools share, in their layout:
//! `models--ORG--NAME/{refs/REVISION, blobs/DIGEST, snapshots/COMMIT/PATH → ../../blobs/DIGEST}` and
//! `.locks/models--ORG--NAME/DIGEST.lock`.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::listing::Digest;
use super::name::is_commit;
use super::{HubError, HubName};
use system::bounded::{self, SETTINGS_BYTES};

/// Beginning of the names of models' folders, and what stands in them for the slash of a name.
const FOLDER: &str = "models--";
const SEPARATOR: &str = "--";
/// Folder of the locks, which has a folder for each repository.
pub(super) const LOCKS: &str = ".locks";

/// Time between two looks at a lock that another process holds.
const LOCK_POLL: Duration = Duration::from_millis(100);

/// A repository's folders in the cache.
pub(super) struct Cache {
    root: PathBuf,
    /// `models--ORG--NAME`.
    folder: String,
}

impl Cache {
    /// The cache that the environment names, as Hugging Face's own tools find it.
    pub(super) fn of(name: &HubName) -> Self {
        Self { root: cache_directory(), folder: folder_name(name.repository()) }
    }

    /// Folder of the cache.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    fn repository(&self) -> PathBuf {
        self.root.join(&self.folder)
    }

    /// Folder of the snapshot that `revision` names, if there is one.
    pub(super) fn snapshot_of(&self, revision: &str) -> Option<PathBuf> {
        let named =
            bounded::regular_text(&self.repository().join("refs").join(revision), SETTINGS_BYTES).ok();
        let commit = named.map(|commit| commit.trim().to_owned());
        let commit = commit.or_else(|| is_commit(revision).then(|| revision.to_owned()));
        commit
            .filter(|commit| is_commit(commit))
            .map(|commit| self.snapshot(&commit))
            .filter(|path| path.is_dir())
    }

    /// Folder of a commit's files.
    pub(super) fn snapshot(&self, commit: &str) -> PathBuf {
        self.repository().join("snapshots").join(commit)
    }

    /// Paths and sizes of the files of a snapshot whose content is there.
    pub(super) fn files_of(snapshot: &Path) -> Vec<(String, u64)> {
        let mut files = Vec::new();
        let mut folders = vec![snapshot.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                // Files are symbolic links; one to a folder isn't followed.
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(path);
                } else if let Ok(file) = fs::metadata(&path)
                    && file.is_file()
                    && let Some(name) = path.strip_prefix(snapshot).ok().and_then(Path::to_str)
                {
                    files.push((name.to_owned(), file.len()));
                }
            }
        }
        files
    }

    /// Path of a file's content.
    pub(super) fn blob(&self, digest: &Digest) -> PathBuf {
        self.repository().join("blobs").join(digest.text())
    }

    /// Makes the content of `digest` appear as `path` in the commit's snapshot.
    pub(super) fn link(&self, commit: &str, path: &str, digest: &Digest) -> Result<(), HubError> {
        let link = self.snapshot(commit).join(path);
        let up = "../".repeat(path.split('/').count() + 1);
        let target = PathBuf::from(format!("{up}blobs/{}", digest.text()));
        if fs::read_link(&link).is_ok_and(|present| present == target) {
            return Ok(());
        }
        create_parent(&link)?;
        replace(&link, |new| std::os::unix::fs::symlink(&target, new))
    }

    /// Makes `revision` name the commit.
    pub(super) fn set_reference(&self, revision: &str, commit: &str) -> Result<(), HubError> {
        if is_commit(revision) {
            return Ok(());
        }
        let file = self.repository().join("refs").join(revision);
        create_parent(&file)?;
        replace(&file, |new| fs::write(new, commit))
    }

    /// Waits for the lock on a file's content, and holds it until the value is dropped. Python's
    /// tools take the same lock.
    pub(super) async fn lock(&self, digest: &Digest) -> Result<File, HubError> {
        let path = self.root.join(LOCKS).join(&self.folder).join(lock_name(digest.text()));
        create_parent(&path)?;
        let opened = File::options().create(true).truncate(false).write(true).open(&path);
        let file = opened.map_err(HubError::cache(&path))?;
        let mut is_first = true;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(HubError::cache(&path)(error)),
                Err(TryLockError::WouldBlock) if is_first => {
                    is_first = false;
                    tracing::info!(lock = %path.display(), "another process downloads this file: waiting for it");
                }
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_POLL).await,
            }
        }
    }

    /// Bytes that the disk of the cache has left; `None` if that can't be found out.
    pub(super) fn free_bytes(&self) -> Option<u64> {
        let folder = self.root.ancestors().find(|folder| folder.exists())?;
        let disk = rustix::fs::statvfs(folder).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }
}

/// Creates the folder of a file.
pub(super) fn create_parent(path: &Path) -> Result<(), HubError> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(HubError::cache(folder))
}

/// Puts what `make` makes in the place of `path`, at once.
fn replace(path: &Path, make: impl FnOnce(&Path) -> std::io::Result<()>) -> Result<(), HubError> {
    let mut new = path.as_os_str().to_owned();
    new.push(format!(".{}.sluice", std::process::id()));
    let new = PathBuf::from(new);
    let replaced = make(&new).and_then(|()| fs::rename(&new, path));
    replaced.map_err(|error| {
        let _ = fs::remove_file(&new);
        HubError::cache(path)(error)
    })
}

/// Name of the lock on a file's content.
pub(super) fn lock_name(blob: &str) -> String {
    format!("{blob}.lock")
}

/// Name of the folder of the repository `ORG/NAME`.
pub(super) fn folder_name(repository: &str) -> String {
    format!("{FOLDER}{}", repository.replace('/', SEPARATOR))
}

/// The repository whose folder has this name, if it is one of a model with a plain name.
pub(super) fn repository_name(folder: &str) -> Option<String> {
    let (organisation, model) = folder.strip_prefix(FOLDER)?.split_once(SEPARATOR)?;
    let name = format!("{organisation}/{model}");
    HubName::parse(&name).filter(|parsed| parsed.repository() == name).map(|_| name)
}

/// Folder of the cache, from the variables that Hugging Face's own tools read.
pub(super) fn cache_directory() -> PathBuf {
    variable("HF_HUB_CACHE").map_or_else(|| home().join("hub"), PathBuf::from)
}

/// Folder of Hugging Face's tools.
pub(super) fn home() -> PathBuf {
    variable("HF_HOME")
        .map(PathBuf::from)
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| PathBuf::from(cache).join("huggingface")))
        .or_else(|| variable("HOME").map(|home| PathBuf::from(home).join(".cache/huggingface")))
        .unwrap_or_else(|| PathBuf::from(".cache/huggingface"))
}

/// An environment variable that isn't empty.
pub(super) fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_of_models_with_plain_names_only() {
        for name in ["org/name", "org/a--b", "Qwen/Qwen3-0.6B"] {
            assert_eq!(repository_name(&folder_name(name)).as_deref(), Some(name));
        }
        for folder in [
            "models--gpt2",
            "datasets--org--name",
            "models--..--..",
            "models--org--",
            "models----name",
            "models--a b--c",
            "models--org--x.gguf:y",
            "version.txt",
        ] {
            assert_eq!(repository_name(folder), None, "{folder}");
        }
    }

    #[test]
    fn reference_leads_to_the_snapshot_once_it_is_set() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache { root: root.path().to_owned(), folder: "models--org--name".to_owned() };
        let (commit, digest) = ("ab".repeat(20), Digest::Git("cd".repeat(20)));
        assert_eq!(cache.snapshot_of("main"), None);
        create_parent(&cache.blob(&digest)).unwrap();
        fs::write(cache.blob(&digest), "{}").unwrap();
        cache.link(&commit, "config.json", &digest).unwrap();
        cache.link(&commit, "a/b.jinja", &digest).unwrap();
        assert_eq!(cache.snapshot_of("main"), None);
        cache.set_reference("refs/pr/1", &commit).unwrap();
        let snapshot = cache.snapshot_of("refs/pr/1").unwrap();
        assert_eq!(cache.snapshot_of(&commit).as_ref(), Some(&snapshot));
        for path in ["config.json", "a/b.jinja"] {
            assert_eq!(fs::read_to_string(snapshot.join(path)).unwrap(), "{}", "{path}");
        }
        std::os::unix::fs::symlink("..", snapshot.join("around")).unwrap();
        cache.link(&commit, "gone", &Digest::Git("ef".repeat(20))).unwrap();
        let mut files = Cache::files_of(&snapshot);
        files.sort();
        assert_eq!(files, [("a/b.jinja".to_owned(), 2), ("config.json".to_owned(), 2)]);
        cache.set_reference("evil", "../../x").unwrap();
        assert_eq!(cache.snapshot_of("evil"), None);
    }
}
