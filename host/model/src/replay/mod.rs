//! Script of the replay engine: which output is played for which conversation, so that everything
//! behind the engine can be tested without a model. Its file format is described, with an example,
//! in `docs/replay.md`.
//!
//! Invariants: a file is read whole and checked whole at start, unknown fields included; the first
//! rule whose conditions all hold is played; a request can't change what a rule plays, except by
//! its own token limit. Called by the model room when the server runs with `--engine replay:FILE`.

mod condition;
mod file;
mod record;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use engine::PlayedOutput;

use self::condition::Condition;
use crate::record::{MAGIC, RECORD_BYTES};
use prompt::Conversation;
use system::bounded;

/// Script of a replay file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReplayScript {
    rules: Vec<Rule>,
}

/// Rule of a script: an output, and the conditions under which it is played.
#[derive(Debug, Clone, PartialEq)]
struct Rule {
    when: Condition,
    output: PlayedOutput,
}

/// Vocabulary of the model whose tokens a script plays.
pub struct Vocabulary<'a> {
    /// Tokenises raw model output: added tokens such as `<think>` become their ids.
    pub encode: &'a dyn Fn(&str) -> Result<Vec<u32>, String>,
    /// Number of token ids: all ids are below it.
    pub size: usize,
}

/// Error of a replay file: the file, the place in it, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("replay file {file}: {reason}")]
pub struct ScriptError {
    /// The file as the operator named it.
    pub file: String,
    /// Place and reason, e.g. `rules[2].pace_ms: invalid type: …`.
    pub reason: String,
}

/// Error: no rule matches the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no rule of the replay file matches this conversation")]
pub struct NoRule;

impl ReplayScript {
    /// Reads a replay file, or a record, which is known by its first bytes.
    pub fn load(path: &Path, vocabulary: &Vocabulary<'_>) -> Result<Self, ScriptError> {
        let name = path.display().to_string();
        if is_record(path) {
            let rules = record::rules(path, vocabulary);
            return rules.map(|rules| Self { rules }).map_err(|reason| ScriptError { file: name, reason });
        }
        match bounded::text(path, RECORD_BYTES) {
            Ok(text) => Self::parse(&name, &text, vocabulary),
            Err(error) => Err(ScriptError { file: name, reason: format!("cannot be read: {error}") }),
        }
    }

    /// Reads the text of a replay file called `name`.
    pub fn parse(name: &str, text: &str, vocabulary: &Vocabulary<'_>) -> Result<Self, ScriptError> {
        match file::parse(text, vocabulary) {
            Ok(rules) => Ok(Self { rules }),
            Err(reason) => Err(ScriptError { file: name.to_string(), reason }),
        }
    }

    /// Returns the output of the first rule whose conditions hold.
    pub fn select(&self, conversation: &Conversation) -> Result<&PlayedOutput, NoRule> {
        let rule = self.rules.iter().find(|rule| rule.when.holds(conversation));
        rule.map(|rule| &rule.output).ok_or(NoRule)
    }
}

/// Whether the file begins as records do.
fn is_record(path: &Path) -> bool {
    let mut first = [0; MAGIC.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == MAGIC
}

#[cfg(test)]
mod tests;
