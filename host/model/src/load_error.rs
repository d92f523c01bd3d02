//! Errors of loading a model.

use super::parsers::pins::PinError;
use super::parsers::select::SelectError;

/// Error of a model that can't be served. The message has one line: what is wrong, where, and what
/// to do.
#[derive(Debug, thiserror::Error)]
pub enum ModelLoadError {
    /// There is no such model.
    #[error(transparent)]
    Locate(#[from] super::locate::NotFound),
    /// A model of the hub can't be had.
    #[error("--model {0}")]
    Hub(hub::HubError),
    /// `config.json` can't be read.
    #[error("{file}: {reason}")]
    Config {
        /// Path of the file.
        file: String,
        /// What is wrong with the file.
        reason: String,
    },
    /// A file can't be read.
    #[error(transparent)]
    File(#[from] engine::FileError),
    /// Tokenizer, template or generation defaults are missing or broken.
    #[error(transparent)]
    Prompt(#[from] prompt::ChatFilesError),
    /// The engine can't run the model.
    #[error(transparent)]
    Engine(#[from] engine::models::LoadError),
    /// The remote engines can't be used.
    #[error(transparent)]
    Remote(#[from] remote::RemoteError),
    /// The replay file is broken.
    #[error(transparent)]
    Replay(#[from] crate::replay::ScriptError),
    /// There is no such parser.
    #[error(transparent)]
    FindParser(#[from] parsers::ResolveError),
    /// The parser is broken.
    #[error(transparent)]
    Parser(#[from] parsers::PluginLoadError),
    /// The sandbox can't be set up on this machine.
    #[error(transparent)]
    Sandbox(#[from] parsers::RuntimeError),
    /// The system lets no memory become executable, so that no parser can run.
    #[error(
        "memory may not become executable ({0}), so no parser can run: under systemd set MemoryDenyWriteExecute=no; --parser none serves all text as content"
    )]
    ExecutableMemory(std::io::Error),
    /// The parser's markers are invalid.
    #[error(transparent)]
    Markers(#[from] turn::MarkerError),
    /// No parser can be chosen for the model.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// A parser's content differs from its pin, or a pin names no parser.
    #[error(transparent)]
    Pin(#[from] PinError),
    /// Two models have the same name.
    #[error("two models are called {0}: give each a name of its own, --model NAME=DIR")]
    SameName(String),
    /// One of several models can't be served.
    #[error("model {model}: {error}")]
    OneOf {
        /// Name of the model.
        model: String,
        /// Error of this model.
        error: Box<Self>,
    },
}

impl ModelLoadError {
    /// Wraps the error with the model's name, where several models are loaded.
    pub(super) fn of(self, model: &str) -> Self {
        Self::OneOf { model: model.to_owned(), error: Box::new(self) }
    }

    /// The error itself, without the model's name.
    pub fn cause(&self) -> &Self {
        if let Self::OneOf { error, .. } = self { error.cause() } else { self }
    }
}

// The message has the hub's whole words, so the hub's error isn't its source, too.
impl From<hub::HubError> for ModelLoadError {
    fn from(error: hub::HubError) -> Self {
        Self::Hub(error)
    }
}
