//! What a model's files say of its output: the chat template, and which literals are tokens. Read
//! without weights, for commands that compare parsers with a template.

use std::sync::Arc;
use std::time::Duration;

use crate::load_error::ModelLoadError;
use crate::locate::{Located, locate};
use prompt::{ChatFiles, GenerationDefaults, Tokenizer, response_template};
use system::CpuBudget;

/// CPU time of all renderings of a command: those of known templates take a second or two.
const RENDERING_TIME: Duration = Duration::from_mins(1);

/// A model's chat template and tokens.
#[derive(Debug, Clone)]
pub struct TemplateFiles {
    /// The model's own name.
    pub name: String,
    /// Template and special tokens.
    pub chat: ChatFiles,
    /// Literals of the added tokens.
    pub tokens: Vec<Arc<str>>,
    /// Literals of the tokens that end a turn.
    pub ends: Vec<Arc<str>>,
    /// The model's own response template as JSON.
    pub table: Option<String>,
    /// Time of all renderings together.
    pub rendering: CpuBudget,
}

impl TemplateFiles {
    /// Reads the files of `model`, which is what `--model` takes. `chat_template` replaces the
    /// model's own.
    ///
    /// # Errors
    /// There is no such model, or one of the files can't be used.
    pub fn read(model: &str, chat_template: Option<String>) -> Result<Self, ModelLoadError> {
        let Located { files, name } = locate(Some(model))?;
        let tokenizer = Tokenizer::load(&files)?;
        let chat = ChatFiles::load(&files, chat_template)?;
        let eos = chat.special_tokens.iter().find(|(name, _)| name == "eos_token");
        let eos = eos.map(|(_, literal)| literal.as_str());
        let defaults = GenerationDefaults::load(&files, &tokenizer, eos)?;
        Ok(Self { table: response_template(&files)?, ..Self::new(name, chat, &tokenizer, &defaults) })
    }

    /// The facts of a model that was loaded, without its own response template.
    pub(super) fn new(
        name: String,
        chat: ChatFiles,
        tokenizer: &Tokenizer,
        defaults: &GenerationDefaults,
    ) -> Self {
        let ends = defaults.eos_token_ids.iter().filter_map(|&id| tokenizer.added_token(id));
        Self {
            name,
            ends: ends.map(|token| Arc::from(token.literal.as_str())).collect(),
            tokens: tokenizer.added_literals().map(Arc::from).collect(),
            table: None,
            chat,
            rendering: CpuBudget::new(RENDERING_TIME),
        }
    }

    /// Checks that the template's renderings kept their bound of time.
    ///
    /// # Errors
    /// They didn't: what came of them says nothing. The message has one line.
    pub fn check_time(&self) -> Result<(), String> {
        if !self.rendering.is_spent() {
            return Ok(());
        }
        Err(format!(
            "{}: the chat template takes more than {} ms of CPU time for all probes together: give a simpler one (--chat-template)",
            self.name,
            self.rendering.most().as_millis()
        ))
    }
}
