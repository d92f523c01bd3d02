//! How far the load of a model is, for whoever waits for it.

use hub::DownloadProgress;

/// How far the load of a model is.
#[derive(Debug, Clone, Copy)]
pub enum LoadProgress<'a> {
    /// What the cache lacked is downloaded.
    Download(DownloadProgress<'a>),
    /// The engine gets ready.
    Engine(engine::models::EngineProgress),
}
