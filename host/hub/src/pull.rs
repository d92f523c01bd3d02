//! Download of a model: what is needed, whether there is room for it, and then several files at a
//! time.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;

use engine::ModelFiles;
use engine::models::ModelConfig;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use super::blob::{Download, has_size, partial_path};
use super::cache::{Cache, variable};
use super::client::HubClient;
use super::files::{self, CONFIG};
use super::header;
use super::listing::{HubFile, Listing};
use super::similar::similar;
use super::size::size;
use super::{HubError, HubName, NeededFiles};

/// Files that are downloaded at a time.
const AT_ONCE: usize = 4;
/// Most bytes of the files that are downloaded before the room on the disk is checked.
const MAX_DESCRIPTION: u64 = 128 << 20;

/// A download that is planned: the configuration and the index of the weights, or the headers of
/// GGUF files, are in the cache, and what else is needed is known.
pub struct Pull {
    client: HubClient,
    cache: Cache,
    name: HubName,
    commit: String,
    /// Files by path, in the order in which they are downloaded.
    files: Vec<(String, HubFile)>,
    /// The folder of the files, or the first GGUF file.
    model: PathBuf,
    is_gguf: bool,
}

/// A file of a planned download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFile {
    /// Path in the repository.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// What of it the cache lacks.
    pub missing_bytes: u64,
}

/// How far a download is.
#[derive(Debug, Clone, Copy)]
pub struct DownloadProgress<'a> {
    /// The model.
    pub model: &'a HubName,
    /// Files that are there, and all.
    pub files: usize,
    /// Number of all files.
    pub of_files: usize,
    /// Bytes that are there.
    pub bytes: u64,
    /// Size of all files.
    pub of_bytes: u64,
}

impl Pull {
    /// Asks the hub what the model consists of. Downloads the configuration and the index of the
    /// weights, or the headers of GGUF files, without which that can't be said.
    ///
    /// # Errors
    /// The hub can't be asked, or has no such model; several are meant; or the engine doesn't know
    /// its family.
    pub async fn plan(name: &HubName, need: NeededFiles) -> Result<Self, HubError> {
        let cache = Cache::of(name);
        if is_offline() {
            let cache = cache.root().display().to_string();
            let similar = similar(name.repository());
            return Err(HubError::Offline { name: name.to_string(), cache, similar });
        }
        let client = HubClient::from_environment()?;
        let commit = client.commit(name).await?;
        let listing = client.files(name, &commit).await?;
        let model = cache.snapshot(&commit);
        let mut pull =
            Self { client, cache, name: name.clone(), commit, files: Vec::new(), model, is_gguf: false };
        let listed = |paths: Vec<String>| {
            let entries = paths.into_iter().filter_map(|path| listing.get_key_value(&path));
            entries.map(|(path, file)| (path.clone(), file.clone())).collect()
        };
        if let Some(paths) = files::gguf(name, &listing, need)? {
            (pull.model, pull.is_gguf) = (pull.model.join(&paths[0]), true);
            pull.files = listed(paths);
            header::check(pull.files.iter().map(|(path, file)| pull.download(path, file)).collect()).await?;
        } else {
            pull.files = listed(pull.plan_folder(&listing, need).await?);
        }
        Ok(pull)
    }

    /// Paths of all files of a model in Hugging Face's layout.
    async fn plan_folder(&self, listing: &Listing, need: NeededFiles) -> Result<Vec<String>, HubError> {
        let snapshot = ModelFiles::Directory(self.model.clone());
        self.get(listing, CONFIG).await?;
        if need == NeededFiles::Weights {
            ModelConfig::read(&snapshot)?;
        }
        if let Some(index) = files::index(listing, need) {
            self.get(listing, index).await?;
        }
        files::needed(self.name.repository(), listing, &snapshot, need)
    }

    /// Whether the model is in GGUF files, which hold all that it consists of.
    pub fn is_gguf(&self) -> bool {
        self.is_gguf
    }

    /// The commit.
    pub fn commit(&self) -> &str {
        &self.commit
    }

    /// Folder of the cache.
    pub fn folder(&self) -> &std::path::Path {
        self.cache.root()
    }

    /// What the disk has left; `None` if that can't be found out.
    pub fn free_bytes(&self) -> Option<u64> {
        self.cache.free_bytes()
    }

    /// Files of the model.
    pub fn files(&self) -> impl Iterator<Item = PlannedFile> {
        self.files.iter().map(|(path, file)| {
            let blob = self.cache.blob(&file.digest);
            let present = if has_size(&blob, file.bytes) {
                file.bytes
            } else {
                std::fs::metadata(partial_path(&blob)).map_or(0, |partial| partial.len().min(file.bytes))
            };
            PlannedFile { path: path.clone(), bytes: file.bytes, missing_bytes: file.bytes - present }
        })
    }

    /// Downloads what is missing; returns the folder with all files, or the first GGUF file.
    ///
    /// # Errors
    /// The disk has too little room, which is checked first; or the hub sends something else than
    /// it lists, or ends its answers.
    pub async fn run(&self, progress: &mut dyn FnMut(DownloadProgress<'_>)) -> Result<PathBuf, HubError> {
        self.check_room()?;
        let received = RefCell::new(vec![0; self.files.len()]);
        let whole = Cell::new(0);
        let progress = RefCell::new(progress);
        let of_bytes = total(self.files.iter().map(|(_, file)| file.bytes));
        let report = || {
            let bytes = total(received.borrow().iter().copied());
            let (files, of_files) = (whole.get(), self.files.len());
            progress.borrow_mut()(DownloadProgress { model: &self.name, files, of_files, bytes, of_bytes });
        };
        let downloads = self.files.iter().enumerate().map(|(index, (path, file))| {
            let (received, whole, report) = (&received, &whole, &report);
            async move {
                let note = |bytes| {
                    received.borrow_mut()[index] = bytes;
                    report();
                };
                self.download(path, file).run(&note).await?;
                whole.set(whole.get() + 1);
                report();
                Ok::<_, HubError>(())
            }
        });
        stream::iter(downloads).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
        self.cache.set_reference(self.name.revision(), &self.commit)?;
        Ok(self.model.clone())
    }

    /// Downloads one file of the listing, which describes the others.
    async fn get(&self, listing: &Listing, path: &str) -> Result<(), HubError> {
        match listing.get(path) {
            Some(file) if file.bytes > MAX_DESCRIPTION => {
                Err(HubError::wrong(path, format!("it has {}, which no such file has", size(file.bytes))))
            }
            Some(file) => self.download(path, file).run(&|_| {}).await,
            None => Err(HubError::NoModel {
                name: self.name.repository().to_owned(),
                reason: format!("no {path} there: it is no model in the form that is read"),
            }),
        }
    }

    fn download<'a>(&'a self, path: &'a str, file: &'a HubFile) -> Download<'a> {
        let Self { client, cache, name, commit, .. } = self;
        Download { client, cache, name, commit, path, file }
    }

    fn check_room(&self) -> Result<(), HubError> {
        let need = total(self.files().map(|file| file.missing_bytes));
        match self.free_bytes() {
            Some(free) if free < need => Err(HubError::Disk {
                name: self.name.to_string(),
                need: size(need),
                free: size(free),
                folder: self.folder().display().to_string(),
            }),
            _ => Ok(()),
        }
    }
}

/// Sum of sizes; the hub may list any.
fn total(sizes: impl Iterator<Item = u64>) -> u64 {
    sizes.fold(0, u64::saturating_add)
}

/// Whether nothing may be downloaded, in the words that Hugging Face's own tools take.
fn is_offline() -> bool {
    let is_set = |name| {
        let value = variable(name).map(|value| value.to_string_lossy().to_ascii_uppercase());
        value.is_some_and(|value| ["1", "ON", "YES", "TRUE"].contains(&value.as_str()))
    };
    is_set("HF_HUB_OFFLINE") || is_set("TRANSFORMERS_OFFLINE")
}
