//! The models in the cache, with the names by which they are given, and what they take on the disk.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use engine::ModelFiles;
use engine::models::{WEIGHTS_FILE, WEIGHTS_INDEX};

use super::cache::cache_directory;
use super::files::first_missing;
use super::gguf::{self, GgufModel};
use super::name::GgufSelector;
use super::repository::{Repository, SNAPSHOTS, SnapshotFile, repositories};
use super::{HubError, HubName, NeededFiles};

/// What the cache holds.
#[derive(Debug)]
pub struct Inventory {
    /// Folder of the cache.
    pub folder: PathBuf,
    /// Its models, by their names.
    pub models: Vec<StoredModel>,
    /// Bytes of all contents; what several models share counts once.
    pub bytes: u64,
}

/// A model in the cache.
#[derive(Debug)]
pub struct StoredModel {
    /// Its name, as `--model` takes it.
    pub name: HubName,
    /// Its folder, or the first of its GGUF files.
    pub path: PathBuf,
    /// The commit; `None` if no file has its final name yet.
    pub commit: Option<String>,
    /// Whether it is in GGUF files.
    pub is_gguf: bool,
    /// Paths in the repository, and sizes in bytes.
    pub files: Vec<(String, u64)>,
    /// Bytes of its contents; a content of several files counts once.
    pub bytes: u64,
    /// Time of the last change of a file: usually the end of its download.
    pub modified: Option<SystemTime>,
    /// Whether it can be used.
    pub state: StoredState,
}

/// Whether a model in the cache can be used.
#[derive(Debug, PartialEq, Eq)]
pub enum StoredState {
    /// All that an engine here needs is there.
    Whole,
    /// All but the weights is there, as remote engines need it.
    NoWeights,
    /// It can't be used; with the reason.
    Unusable(String),
}

/// Reads what the cache holds. No file is read but references and indices of weights, and no link
/// is followed but those of a snapshot into its repository.
///
/// # Errors
/// The cache can't be read. A repository that can't be is an unusable model.
pub fn inventory() -> Result<Inventory, HubError> {
    let folder = cache_directory();
    let names = repositories().map_err(HubError::cache(&folder))?;
    let mut inventory = Inventory { folder, models: Vec::new(), bytes: 0 };
    for name in names {
        let Some(parsed) = HubName::parse(&name) else { continue };
        match Repository::read(&name) {
            Ok(None) => {}
            Ok(Some(repository)) => {
                let bytes = total(repository.files()).saturating_add(repository.loose_bytes());
                inventory.bytes = inventory.bytes.saturating_add(bytes);
                inventory.models.extend(models_of(&repository, &parsed));
            }
            Err(error) => inventory.models.push(unusable(parsed, &inventory.folder, error.to_string(), 0)),
        }
    }
    Ok(inventory)
}

/// Bytes of files; a content of several counts once.
fn total<'a>(files: impl Iterator<Item = &'a SnapshotFile>) -> u64 {
    let mut counted = BTreeSet::new();
    let counts = files.filter(|file| file.blob.as_ref().is_none_or(|blob| counted.insert(blob)));
    counts.filter_map(|file| file.bytes).fold(0, u64::saturating_add)
}

/// The models of a repository; at last one for what broke off.
fn models_of(repository: &Repository, name: &HubName) -> Vec<StoredModel> {
    let mut models: Vec<StoredModel> = Vec::new();
    for (commit, files) in &repository.snapshots {
        models.extend(Snapshot { repository, commit, files }.models());
    }
    let loose = repository.loose_bytes();
    if loose > 0 || models.is_empty() {
        let reason = if loose > 0 { "a download that broke off" } else { "no file of it is in the cache" };
        models.push(unusable(name.clone(), &repository.path, reason.to_owned(), loose));
    }
    models
}

fn unusable(name: HubName, path: &Path, reason: String, bytes: u64) -> StoredModel {
    StoredModel {
        name,
        path: path.to_owned(),
        commit: None,
        is_gguf: false,
        files: Vec::new(),
        bytes,
        modified: None,
        state: StoredState::Unusable(reason),
    }
}

/// A snapshot of a repository.
struct Snapshot<'a> {
    repository: &'a Repository,
    commit: &'a str,
    files: &'a [SnapshotFile],
}

impl Snapshot<'_> {
    /// A folder's model, models in GGUF files, or both.
    fn models(&self) -> Vec<StoredModel> {
        let present: Vec<(&str, u64)> = self.present().map(|(path, bytes, _)| (path, bytes)).collect();
        let gguf = gguf::models(present.iter().copied());
        let has_weights = present.iter().any(|(path, _)| [WEIGHTS_FILE, WEIGHTS_INDEX].contains(path));
        let of_gguf: BTreeSet<&str> =
            gguf.iter().flat_map(|model| &model.paths).map(String::as_str).collect();
        let mut models = Vec::new();
        if has_weights || gguf.is_empty() {
            let rest = present.iter().map(|(path, _)| *path).filter(|path| !of_gguf.contains(path));
            models.extend(self.model(None, &rest.collect()));
        }
        for model in &gguf {
            let paths = model.paths.iter().map(String::as_str).collect();
            models.extend(self.model(Some(selector(&gguf, model)), &paths));
        }
        models
    }

    /// Files that are there and have paths that can be shown.
    fn present(&self) -> impl Iterator<Item = (&str, u64, &SnapshotFile)> {
        self.files.iter().filter_map(|file| Some((file.path.to_str()?, file.bytes?, file)))
    }

    fn model(&self, selector: Option<&str>, paths: &BTreeSet<&str>) -> Option<StoredModel> {
        let folder = self.repository.path.join(SNAPSHOTS).join(self.commit);
        let files: Vec<_> = self.present().filter(|(path, ..)| paths.contains(path)).collect();
        let path = selector.map_or_else(|| folder.clone(), |_| folder.join(paths.first().unwrap_or(&"")));
        Some(StoredModel {
            name: self.name(selector)?,
            state: if selector.is_some() { StoredState::Whole } else { state(&folder) },
            path,
            commit: Some(self.commit.to_owned()),
            is_gguf: selector.is_some(),
            modified: files.iter().filter_map(|(.., file)| file.modified).max(),
            bytes: total(files.iter().map(|(.., file)| *file)),
            files: files.into_iter().map(|(path, bytes, _)| (path.to_owned(), bytes)).collect(),
        })
    }

    /// The shortest name that means this model.
    fn name(&self, selector: Option<&str>) -> Option<HubName> {
        let selector = selector.map(|selector| format!(":{selector}")).unwrap_or_default();
        let names = self.repository.revisions(self.commit).map(|revision| {
            let revision = if revision == HubName::MAIN { String::new() } else { format!("@{revision}") };
            HubName::parse(&format!("{}{revision}{selector}", self.repository.name))
        });
        names.flatten().next()
    }
}

/// What chooses the model among others: its quantisation, or else its file.
fn selector<'a>(models: &[GgufModel], model: &'a GgufModel) -> &'a str {
    let quant = GgufSelector::Quant(model.quant().to_owned());
    let chosen = gguf::choose(models, Some(&quant));
    if !model.quant().is_empty() && chosen.is_ok_and(|chosen| chosen == model) {
        model.quant()
    } else {
        &model.paths[0]
    }
}

/// Whether the model in a folder can be used.
fn state(folder: &Path) -> StoredState {
    let files = ModelFiles::Directory(folder.to_owned());
    match (first_missing(&files, NeededFiles::Prompt), first_missing(&files, NeededFiles::Weights)) {
        (Some(file), _) => StoredState::Unusable(format!("{file} is missing")),
        (None, Some(_)) => StoredState::NoWeights,
        (None, None) => StoredState::Whole,
    }
}
