//! Errors of models of the hub. Each message has one line: what is wrong, where, and what to do.

use std::path::Path;

use system::program;

/// Error of a model of the hub.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// The cache lacks the model, or a part of it, and nothing may be downloaded.
    #[error(
        "{name} isn't whole in the cache ({cache}), and HF_HUB_OFFLINE is set: unset it, or get the model with: {} pull {name}{similar}",
        program::name()
    )]
    Offline {
        /// The model.
        name: String,
        /// Folder of the cache.
        cache: String,
        /// What the cache has of similar names, as the message's end.
        similar: String,
    },
    /// The cache has nothing of the model.
    #[error("{name} isn't in the cache ({folder}): {} models lists what is{similar}", program::name())]
    NotCached {
        /// The model.
        name: String,
        /// Folder of the cache.
        folder: String,
        /// What the cache has of similar names, as the message's end.
        similar: String,
    },
    /// What is to be removed is being downloaded.
    #[error("{name}: another process downloads it: stop that, or wait for it")]
    InUse {
        /// The model.
        name: String,
    },
    /// `HF_ENDPOINT` or the token can't be used.
    #[error("{0}")]
    Settings(String),
    /// The hub has no such model, or doesn't show it.
    #[error(
        "{name}: neither a file or directory here nor a model on {hub}, or a private one: {remedy}{similar}"
    )]
    Unknown {
        /// `ORG/NAME`.
        name: String,
        /// URL of the hub.
        hub: String,
        /// What to do.
        remedy: &'static str,
        /// What the cache has of similar names, as the message's end.
        similar: String,
    },
    /// The model's licence must be accepted.
    #[error("{name} is gated: accept its conditions at {hub}/{name}, {remedy}")]
    Gated {
        /// `ORG/NAME`.
        name: String,
        /// URL of the hub.
        hub: String,
        /// What to do then.
        remedy: &'static str,
    },
    /// The model has no such revision.
    #[error("{name}: no such revision (branch, tag or commit)")]
    Revision {
        /// `ORG/NAME@REVISION`.
        name: String,
    },
    /// The hub refuses the token.
    #[error("{hub} refuses the token ({origin}): {message}")]
    Token {
        /// URL of the hub.
        hub: String,
        /// Where the token is from.
        origin: String,
        /// The hub's words.
        message: String,
    },
    /// The hub answered with an error, or not at all, and goes on doing so.
    #[error(
        "{name}: {hub}: {reason}; what came so far is kept: try again, or name another hub (HF_ENDPOINT), a directory or a GGUF file"
    )]
    Unavailable {
        /// The model, as it was named.
        name: String,
        /// URL of the hub.
        hub: String,
        /// What happened last.
        reason: String,
    },
    /// The hub's answers contradict each other, or make no sense.
    #[error("{file}: {reason}")]
    Wrong {
        /// What is wrong: a file or a URL.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The repository holds no model in the form that is read.
    #[error("{name}: {reason}")]
    NoModel {
        /// `ORG/NAME`.
        name: String,
        /// What it lacks, and what to do.
        reason: String,
    },
    /// The engine doesn't know the model's family, or its files are broken.
    #[error(transparent)]
    Engine(#[from] engine::models::LoadError),
    /// The disk is too small.
    #[error("{name} takes {need} more, and {folder} has {free} left: HF_HUB_CACHE names another folder")]
    Disk {
        /// The model.
        name: String,
        /// What is missing, for people.
        need: String,
        /// What is free, for people.
        free: String,
        /// Folder of the cache.
        folder: String,
    },
    /// A file or folder of the cache can't be used.
    #[error("{path}: {reason}")]
    Cache {
        /// The file or folder.
        path: String,
        /// What the system says.
        reason: String,
    },
    /// There is no runtime to wait in.
    #[error("can't wait for the hub: {0}")]
    Runtime(String),
}

impl HubError {
    pub(super) fn cache(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.display().to_string();
        move |error| Self::Cache { path, reason: error.to_string() }
    }

    pub(super) fn wrong(file: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Wrong { file: file.into(), reason: reason.into() }
    }
}
