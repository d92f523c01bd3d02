//! A model but for its engine: files, tokenizer, template and parser, checked against each other.

use std::sync::Arc;

use engine::ModelFiles;

use super::config::Config;
use super::load_error::ModelLoadError;
use super::locate::{Located, locate};
use super::options::ModelOptions;
use super::parsers::{ModelFacts, ModelTokens, Parsers};
use super::shared::SharedParts;
use super::source::EngineChoice;
use crate::limits::ModelLimits;
use prompt::{ChatFiles, ChatFilesError, ChatFormat, GenerationDefaults, Tokenizer};

/// Tokens of context of a model whose configuration doesn't say.
const UNKNOWN_CONTEXT: usize = 32_768;

/// A model but for its engine.
pub(super) struct Prepared {
    pub(super) files: ModelFiles,
    /// The model's own name.
    pub(super) name: String,
    /// What clients call it; never empty.
    pub(super) names: Vec<String>,
    pub(super) label: Arc<str>,
    /// Most tokens of prompt and answer together, as the operator or the model's configuration says.
    pub(super) context: usize,
    pub(super) tokenizer: Arc<Tokenizer>,
    pub(super) chat: ChatFiles,
    pub(super) format: ChatFormat,
    pub(super) defaults: GenerationDefaults,
    pub(super) parsers: Parsers,
    /// Whether the chat template shows calls of earlier turns.
    shows_calls: bool,
}

impl Prepared {
    /// Reads all files but the weights, and chooses the parser.
    pub(super) fn read(
        options: &ModelOptions,
        shared: &SharedParts,
        limits: &ModelLimits,
    ) -> Result<Self, ModelLoadError> {
        let Located { files, name } = locate(options.model.as_deref())?;
        let config = Config::load(&files)?;
        let names =
            if options.served_names.is_empty() { vec![name.clone()] } else { options.served_names.clone() };
        let label: Arc<str> = names[0].as_str().into();
        let tokenizer = Arc::new(Tokenizer::load(&files)?);
        if let (EngineChoice::Local, Some(rows)) = (&options.engine, config.rows()) {
            tokenizer.check_rows(rows).map_err(|reason| ChatFilesError::of_tokenizer(&files, reason))?;
        }
        let chat = ChatFiles::load_to_serve(&files, options.chat_template.clone())?;
        let eos_token = chat.special_tokens.iter().find(|(name, _)| name == "eos_token");
        let defaults =
            GenerationDefaults::load(&files, &tokenizer, eos_token.map(|(_, literal)| literal.as_str()))?;
        let context = options.context.or(config.max_position_embeddings).unwrap_or(UNKNOWN_CONTEXT);
        let format = ChatFormat::load(&files, &chat, Arc::clone(&tokenizer), &limits.prompt, context)?;
        let facts = ModelFacts::read(&files, &config, &chat, &tokenizer, &format, &defaults.eos_token_ids)?;
        let shows_calls = !facts.turns.is_empty();
        let tokens = ModelTokens { tokenizer: Arc::clone(&tokenizer), eos: defaults.eos_token_ids.clone() };
        let parsers = Parsers::load(options, shared, Arc::clone(&label), facts, tokens)?;
        Ok(Self {
            files,
            name,
            names,
            label,
            context,
            tokenizer,
            chat,
            format,
            defaults,
            parsers,
            shows_calls,
        })
    }

    /// What the chat template doesn't show the model, if that is more than models do without.
    pub(super) fn unshown(&self) -> Option<&'static str> {
        if self.chat.is_of_base_model() {
            Some(
                "the model has no chat template: it continues texts (/v1/completions), and refuses chats; --chat-template gives one",
            )
        } else if !self.format.shows_tools() {
            Some(
                "the chat template doesn't show tools: those of requests have no effect; --chat-template gives another",
            )
        } else if !self.shows_calls {
            Some(
                "the chat template shows tools, but not the calls of earlier turns: the model doesn't see what it called; --chat-template gives another",
            )
        } else {
            None
        }
    }
}
