//! Models of the hub (Hugging Face, or `HF_ENDPOINT`): downloads what a model needs into the cache
//! that Python's tools share, and says what is missing there.
//!
//! Invariants: a file has its final name in the cache only once its digest is right; a reference
//! names a snapshot only once the snapshot is whole; the token goes to the hub's own origin only;
//! nothing that the hub says becomes a path unchecked. Called when a model is loaded, and by `host
//! pull`.

mod blob;
mod cache;
mod client;
mod error;
mod files;
mod listing;
mod name;
mod pull;
mod token;
mod tries;

use engine::ModelFiles;

use self::cache::Cache;
pub use self::error::HubError;
pub use self::name::HubName;
pub use self::pull::{DownloadProgress, PlannedFile, Pull, size};
use super::locate::hub_name;
use super::options::{LoadFormat, ModelOptions};
use super::source::EngineChoice;

/// What of a model is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// All files, for an engine on this machine, which must know the family.
    Weights,
    /// All files but the weights.
    Prompt,
}

impl Need {
    /// What a model needs to be served with these options.
    pub(super) fn of(options: &ModelOptions) -> Self {
        match (&options.engine, options.load_format) {
            (EngineChoice::Local, LoadFormat::Auto) => Self::Weights,
            _ => Self::Prompt,
        }
    }
}

/// The snapshot of the model in the cache, if there is one.
pub(super) fn snapshot(name: &HubName) -> Option<ModelFiles> {
    Cache::of(name).snapshot_of(name.revision()).map(ModelFiles::Directory)
}

/// The model's name on the hub if the cache lacks some of what it needs; `None` for a model that
/// isn't of the hub.
pub(super) fn lacking(model: Option<&str>, need: Need) -> Option<HubName> {
    let name = hub_name(model?)?;
    let is_whole = snapshot(&name).is_some_and(|files| files::first_missing(&files, need).is_none());
    (!is_whole).then_some(name)
}

/// Downloads what the cache lacks of the model, if it is one of the hub. Blocks.
///
/// # Errors
/// The hub can't be asked (`HF_HUB_OFFLINE` forbids it, or there is no connection), has no such
/// model, or sends something else than it lists; or the model is of no family that the engine
/// knows.
pub(super) fn fetch_missing(
    model: Option<&str>,
    need: Need,
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
