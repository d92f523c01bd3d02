//! Source of tokens: an engine that computes them, or a file that scripts them.

use std::path::PathBuf;
use std::str::FromStr;

use engine::{Engine, EngineInfo, EngineStats, Generation, GenerationRequest, SubmitError};

use super::error::StartError;
use crate::replay::ReplayScript;
use prompt::Conversation;
use remote::{EngineList, RemoteEngine};

/// Value of `--engine`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineChoice {
    /// A local engine, on a device of this machine.
    Local,
    /// Scripted outputs from this file.
    Replay(PathBuf),
    /// Remote engines.
    Remote(EngineList),
    /// None: only recorded answers are played.
    None,
}

impl FromStr for EngineChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with('@') || text.contains("://") {
            return Ok(Self::Remote(text.parse()?));
        }
        match text.split_once(':') {
            None if text == "local" => Ok(Self::Local),
            Some(("replay", file)) if !file.is_empty() => Ok(Self::Replay(file.into())),
            _ => Err("expected `local`, `replay:FILE`, or URLs of engines (http://HOST:PORT,…), or @FILE with their list".to_owned()),
        }
    }
}

/// The source of a model's tokens.
pub(super) enum TokenSource {
    Engine(Box<dyn Engine>),
    Remote(Box<RemoteEngine>),
    Replay { script: ReplayScript, info: EngineInfo },
}

impl TokenSource {
    pub(super) fn info(&self) -> &EngineInfo {
        match self {
            Self::Engine(engine) => engine.info(),
            Self::Remote(engine) => engine.info(),
            Self::Replay { info, .. } => info,
        }
    }

    /// The remote engines, if there are any.
    pub(super) fn remote(&self) -> Option<&RemoteEngine> {
        if let Self::Remote(engine) = self { Some(engine) } else { None }
    }

    /// What computes tokens; `None` for a script.
    pub(super) fn engine(&self) -> Option<&dyn Engine> {
        match self {
            Self::Engine(engine) => Some(&**engine),
            Self::Remote(engine) => Some(&**engine),
            Self::Replay { .. } => None,
        }
    }

    /// Name that may be shown to clients, without file names.
    pub(super) fn name(&self) -> &str {
        self.engine().map_or("replay", |engine| &engine.info().name)
    }

    /// Queues a request. A script chooses its output by the conversation from which the request was
    /// made.
    pub(super) fn submit(
        &self,
        request: GenerationRequest,
        conversation: &Conversation,
    ) -> Result<Generation, StartError> {
        match self {
            Self::Engine(engine) => Ok(engine.submit(request)?),
            Self::Remote(engine) => Ok(engine.submit(request)?),
            Self::Replay { script, .. } => {
                self.check_length(request.prompt.len(), request.max_tokens)?;
                request.check_plain(self.name())?;
                Ok(script.select(conversation)?.clone().play(request))
            }
        }
    }

    /// Refuses a prompt of this many tokens if it leaves no room for an answer of at most
    /// `max_tokens`. An engine may have room for fewer.
    pub(super) fn check_length(&self, tokens: usize, max_tokens: usize) -> Result<(), StartError> {
        let context = self.info().context;
        if tokens == 0 || tokens + max_tokens.min(1) > context {
            return Err(SubmitError::PromptLength { tokens, context }.into());
        }
        Ok(())
    }

    /// Whether a model writes the answers.
    pub(super) fn generates(&self) -> bool {
        self.engine().is_some()
    }

    /// Whether a model writes answers by grammars that name tokens: by masks of this server, or, of
    /// several engines, one at least by its own.
    pub(super) fn follows_grammars(&self) -> bool {
        match self {
            Self::Engine(engine) => engine.info().constraints.masks || engine.info().constraints.grammar,
            Self::Remote(engine) => engine.follows_grammars(),
            Self::Replay { .. } => false,
        }
    }

    /// Whether requests are taken.
    pub(super) fn is_alive(&self) -> bool {
        self.engine().is_none_or(Engine::is_alive)
    }

    /// Error of the lost device, after which the engine can't run in this process; `None` while the
    /// device works.
    pub(super) fn lost(&self) -> Option<&str> {
        self.engine()?.lost()
    }

    /// Figures for metrics; zeros where there are none.
    pub(super) fn stats(&self) -> EngineStats {
        self.engine().map(Engine::stats).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_is_named_by_a_word_or_a_word_and_a_file() {
        assert_eq!("local".parse(), Ok(EngineChoice::Local));
        assert_eq!("replay:a:b.json".parse(), Ok(EngineChoice::Replay("a:b.json".into())));
        assert!(matches!("http://a:1,https://b".parse(), Ok(EngineChoice::Remote(_))));
        assert_eq!("@e.txt".parse(), Ok(EngineChoice::Remote(EngineList::File("e.txt".into()))));
        for wrong in ["", "gpu", "http://", "http://a,b", "@", "replay", "replay:", "cpu", "local:x"] {
            assert!(wrong.parse::<EngineChoice>().is_err(), "{wrong}");
        }
    }
}
