//! Models of the hub (Hugging Face, or `HF_ENDPOINT`): downloads what a model needs into the cache
//! that Python's tools share, says what is there and what is missing, and removes it.
//!
//! Invariants: a file has its final name in the cache only once its digest is right; a reference
//! names a snapshot only once the model in it is whole; the token goes to the hub's own origin only;
//! nothing that the hub says becomes a path unchecked; nothing outside of the cache is removed. Called
//! when a model is loaded, and by `host pull`, `host models` and `host rm`.
#![doc = include_str!("../DESIGN.md")]

mod blob;
mod cache;
mod client;
mod error;
mod files;
mod folder;
mod gguf;
mod header;
mod inventory;
mod listing;
mod name;
mod pace;
mod pull;
mod removal;
mod repository;
mod similar;
mod size;
mod token;
mod tries;

use std::path::{Path, PathBuf};

use engine::ModelFiles;
use engine::models::{WEIGHTS_FILE, WEIGHTS_INDEX};

use self::cache::Cache;
pub use self::error::HubError;
use self::gguf::NoChoice;
pub use self::inventory::{Inventory, StoredModel, StoredState, inventory};
pub use self::name::{HubName, is_gguf};
pub use self::pull::{DownloadProgress, PlannedFile, Pull};
pub use self::removal::Removal;
pub use self::similar::similar;
pub use self::size::size;

/// What of a model is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeededFiles {
    /// All files, for an engine on this machine, which must know the family.
    Weights,
    /// All files but the weights.
    Prompt,
}

/// What the cache has of a model.
pub enum CachedModel {
    /// A folder in Hugging Face's layout, which may lack files.
    Folder(PathBuf),
    /// A GGUF file, or the first part of a model that is there as a whole.
    Gguf(PathBuf),
}

/// The model's name on the hub, if it is given by one: nothing here is called so, and it isn't a
/// GGUF file in a folder.
pub fn hub_name(model: &str) -> Option<HubName> {
    if Path::new(model).exists() {
        return None;
    }
    HubName::parse(model).filter(|name| !is_gguf(name.repository()))
}

/// What the cache has of the model, if it has something. Of several GGUF files that a name could
/// mean, those in the cache are the ones that count.
///
/// # Errors
/// It has several; the error is a reason.
pub fn cached(name: &HubName) -> Result<Option<CachedModel>, String> {
    let Some(folder) = Cache::of(name).snapshot_of(name.revision()) else { return Ok(None) };
    let files = Cache::files_of(&folder);
    let models = gguf::models(files.iter().map(|(path, bytes)| (path.as_str(), *bytes)));
    let has_weights = [WEIGHTS_FILE, WEIGHTS_INDEX].iter().any(|file| folder.join(file).is_file());
    if name.gguf().is_none() && (has_weights || models.is_empty()) {
        return Ok(Some(CachedModel::Folder(folder)));
    }
    match gguf::choose(&models, name.gguf()) {
        Ok(model) => Ok(Some(CachedModel::Gguf(folder.join(&model.paths[0])))),
        Err(NoChoice::None(_)) => Ok(None),
        Err(NoChoice::Several(reason)) => Err(reason),
    }
}

/// The model's name on the hub if the cache lacks some of what it needs; `None` for a model that
/// isn't of the hub.
pub fn lacking(model: Option<&str>, need: NeededFiles) -> Option<HubName> {
    let name = hub_name(model?)?;
    let is_whole = match cached(&name) {
        Ok(Some(CachedModel::Folder(folder))) => {
            files::first_missing(&ModelFiles::Directory(folder), need).is_none()
        }
        Ok(None) => false,
        // Several are told apart by what the user gives, not by the hub.
        Ok(Some(CachedModel::Gguf(_))) | Err(_) => true,
    };
    (!is_whole).then_some(name)
}

/// Downloads what the cache lacks of the model, if it is one of the hub. Blocks.
///
/// # Errors
/// The hub can't be asked (`HF_HUB_OFFLINE` forbids it, or there is no connection), has no such
/// model, or sends something else than it lists; or the model is of no family that the engine
/// knows.
pub fn fetch_missing(
    model: Option<&str>,
    need: NeededFiles,
    progress: &mut dyn FnMut(DownloadProgress<'_>),
) -> Result<(), HubError> {
    let Some(name) = lacking(model, need) else { return Ok(()) };
    block_on(async { Pull::plan(&name, need).await?.run(progress).await.map(drop) })
}

/// Runs a future on this thread, which may be one of a runtime's.
fn block_on<T>(future: impl Future<Output = Result<T, HubError>>) -> Result<T, HubError> {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        return tokio::task::block_in_place(|| runtime.block_on(future));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| HubError::Runtime(error.to_string()))?.block_on(future)
}
