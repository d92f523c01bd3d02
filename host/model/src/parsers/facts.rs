//! Facts from a model's files by which its parser is chosen. Read once, when the model is loaded.

use std::collections::HashSet;

use engine::ModelFiles;

use super::select::Evidence;
use crate::config::Config;
use prompt::{CallingTurn, ChatFiles, ChatFilesError, ChatFormat, Tokenizer, response_template};

/// Facts from a model's files by which its parser is chosen.
pub(crate) struct ModelFacts {
    /// The model's `model_type`, then its architectures.
    pub(super) types: Vec<String>,
    /// Sources of the chat template and of the template for tools.
    pub(super) template: String,
    /// A conversation without tools as the template writes it; empty if it takes none.
    pub(super) plain: String,
    /// Turns with a call as the template writes them; none if it writes no calls.
    pub(crate) turns: Vec<CallingTurn>,
    /// Literals of the tokenizer's added tokens.
    pub(super) tokens: HashSet<String>,
    /// The model's own response template as JSON, which says how its output is read.
    pub(super) table: Option<String>,
}

impl ModelFacts {
    /// Reads the facts. `ends` are the ids that end the model's turn.
    pub(crate) fn read(
        files: &ModelFiles,
        config: &Config,
        chat: &ChatFiles,
        tokenizer: &Tokenizer,
        format: &ChatFormat,
        ends: &[u32],
    ) -> Result<Self, ChatFilesError> {
        let types = config.model_type.iter().chain(config.architectures.iter().flatten()).cloned().collect();
        let template = [chat.template.as_str(), chat.tool_template.as_deref().unwrap_or_default()].join("\n");
        let tokens = tokenizer.added_literals().map(str::to_owned).collect();
        let plain = format.plain_conversation();
        let turns =
            format.calling_turns(ends).map_err(|reason| ChatFilesError::of_template(files, reason))?;
        Ok(Self { types, template, plain, turns, tokens, table: response_template(files)? })
    }

    pub(super) fn evidence(&self) -> Evidence<'_> {
        let Self { types, template, plain, turns, tokens, .. } = self;
        Evidence { types, template, plain, turns, tokens }
    }
}
