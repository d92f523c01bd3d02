//! Chat format of a model: makes the token ids of a conversation, and the opening of the turn that
//! the model generates.
//!
//! Invariants: control tokens in the ids were written by the template (`segments`); the ids of a
//! chat that spells no control token are those that the tokenizer gives for its text as a whole,
//! and a warning is logged at load if that fails on plain probes. Loaded with the model; `render`
//! runs on a blocking thread, once per request, or more often while the model room shortens the
//! conversation.

use std::sync::Arc;

use engine::ModelFiles;
use jinja::{Origin, Rendering, Text, Value};

use super::authors::{AuthorRun, of_tokens};
use super::budget::{PromptTooLong, TokenBudget};
use super::content_forms::ContentForms;
use super::conversation::Conversation;
use super::files::{ChatFiles, ChatFilesError};
use super::segments::{ControlTokens, Segment, push_text, split_common};
use super::shorten::approximate_bytes;
use super::template::{ProbeTime, Template, TemplateError, TemplateLimits};
use super::template_changes::TemplateChanges;
use super::tokenizer::{TokenizeError, Tokenizer};
use super::variables::{CallArguments, TemplateForms, TemplateVariables};
use crate::limits::PromptLimits;

mod calling;
mod continued;
mod efforts;
mod probe;
mod probe_content;
mod probe_growth;

pub use self::calling::CallingTurn;
use self::continued::{cut_at_mark, split_last};
pub use self::efforts::{EFFORTS, EffortPrompts, effort_arguments};

/// How the turn to generate begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnOpening {
    /// The model answers the last message.
    NewTurn,
    /// The last message is the model's own, and the model continues its text.
    ContinueLast,
}

/// Prompt for the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Token ids of the prompt.
    pub ids: Vec<u32>,
    /// Opening of the turn as the template wrote it, text to continue included: for each segment,
    /// the id if it is an added token, and the text. It is replayed to the parser before any
    /// output.
    pub generation_prompt: Vec<(Option<u32>, String)>,
    /// Authors of the tokens, in order, if they were asked for.
    pub authors: Vec<AuthorRun>,
}

/// Error of rendering a prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The template raised an exception about this conversation, with this message.
    #[error("{0}")]
    Raised(String),
    /// The template can't take this conversation, for this reason.
    #[error("this model's chat template can't take this conversation: {0}")]
    Conversation(String),
    /// The prompt has more tokens than the context, and was not tokenised to its end.
    #[error(transparent)]
    TooLong(#[from] PromptTooLong),
    /// The tokenizer can't encode the text.
    #[error(transparent)]
    Tokenize(#[from] TokenizeError),
}

impl From<TemplateError> for RenderError {
    fn from(error: TemplateError) -> Self {
        match error {
            TemplateError::Raised(message) => Self::Raised(message),
            TemplateError::Conversation(reason) => Self::Conversation(reason),
        }
    }
}

/// Chat format of a model: its chat template and its tokenizer.
#[derive(Debug)]
pub struct ChatFormat {
    tokenizer: Arc<Tokenizer>,
    control_tokens: ControlTokens,
    template: Template,
    tool_template: Option<Template>,
    /// Special tokens by the names under which templates read them.
    special_tokens: Vec<(String, Value)>,
    /// How the template takes what conversations hold.
    forms: TemplateForms,
    /// Whether the template shows tools to the model.
    shows_tools: bool,
    /// Changes that conversations need for the template.
    changes: TemplateChanges,
    builtin_tools: bool,
    efforts: EffortPrompts,
    /// Time of the probes at load.
    probe_time: ProbeTime,
    budget: TokenBudget,
}

/// Prompt of a conversation: what comes before the turn to generate, and the turn's opening.
struct Rendered<'a> {
    before: Vec<Segment<'a>>,
    turn: Vec<Segment<'a>>,
    /// Both, as the template wrote them.
    output: Text,
}

impl ChatFormat {
    /// Compiles the template `chat`, which was read from `files`, for a model with a context of
    /// `context` tokens.
    pub fn load(
        files: &ModelFiles,
        chat: &ChatFiles,
        tokenizer: Arc<Tokenizer>,
        limits: &PromptLimits,
        context: usize,
    ) -> Result<Self, ChatFilesError> {
        Self::new(chat, tokenizer, limits, context)
            .map_err(|reason| ChatFilesError::of_template(files, reason))
    }

    /// Compiles the template `chat` for a model with a context of `context` tokens. The error is a
    /// reason.
    pub fn new(
        chat: &ChatFiles,
        tokenizer: Arc<Tokenizer>,
        limits: &PromptLimits,
        context: usize,
    ) -> Result<Self, String> {
        let parse = |source: &String| Template::parse(source, TemplateLimits::new(limits));
        let template = parse(&chat.template)?;
        let tool_template = chat.tool_template.as_ref().map(parse).transpose()?;
        let special_token = |(name, literal): &(String, String)| {
            (name.clone(), Value::text(Origin::Template, literal.as_str()))
        };
        let special_tokens = chat.special_tokens.iter().map(special_token).collect();
        let sources = [Some(&chat.template), chat.tool_template.as_ref()];
        let mentions = |word| sources.iter().flatten().any(|source| source.contains(word));
        let mut format = Self {
            control_tokens: ControlTokens::new(tokenizer.controls())?,
            tokenizer,
            template,
            tool_template,
            special_tokens,
            forms: TemplateForms {
                developer: if mentions("developer") { "developer" } else { "system" },
                call_arguments: CallArguments::default(),
                contents: ContentForms::default(),
                empty_is_none: false,
            },
            shows_tools: true,
            changes: TemplateChanges::default(),
            builtin_tools: mentions("builtin_tools"),
            efforts: EffortPrompts::default(),
            probe_time: ProbeTime::new(limits),
            budget: limits.budget(context),
        };
        let probed = format.probe();
        format.probe_time.check()?;
        probed.map(|()| format)
    }

    /// Whether the template itself describes the tools `browser` and `python` if its argument
    /// `builtin_tools` names them.
    pub fn describes_builtin_tools(&self) -> bool {
        self.builtin_tools
    }

    /// Sets the model's context in tokens, which bounds prompts and conversations.
    #[must_use]
    pub fn with_context(mut self, limits: &PromptLimits, context: usize) -> Self {
        self.budget = limits.budget(context);
        self
    }

    /// Whether the template shows tools to the model.
    pub fn shows_tools(&self) -> bool {
        self.shows_tools
    }

    /// Whether the template gets these arguments of an earlier call as `{"input": …}`, since they
    /// are no JSON object and it takes nothing else.
    pub fn wraps(&self, arguments: &str) -> bool {
        self.forms.call_arguments.wraps(arguments)
    }

    /// Renders and encodes the prompt of a conversation. `arguments` are template variables beside
    /// messages and tools (such as `enable_thinking`); the caller decides which of them a request
    /// may set.
    pub fn render(
        &self,
        conversation: &Conversation,
        arguments: &[(String, serde_json::Value)],
        opening: TurnOpening,
    ) -> Result<Prompt, RenderError> {
        self.prompt(conversation, arguments, opening, None)
    }

    /// Renders as [`Self::render`] does, and tells the authors of the prompt's tokens.
    pub fn render_with_authors(
        &self,
        conversation: &Conversation,
        arguments: &[(String, serde_json::Value)],
        opening: TurnOpening,
    ) -> Result<Prompt, RenderError> {
        self.prompt(conversation, arguments, opening, Some(Vec::new()))
    }

    /// Renders; `starts` takes the places of the tokens, if their authors are asked for.
    fn prompt(
        &self,
        conversation: &Conversation,
        arguments: &[(String, serde_json::Value)],
        opening: TurnOpening,
        mut starts: Option<Vec<usize>>,
    ) -> Result<Prompt, RenderError> {
        // Checked before the template runs, which would get a copy of the text and write another.
        self.tokenizer.check_conversation(approximate_bytes(conversation), self.budget)?;
        let Rendered { before: mut segments, turn, output } =
            self.run(conversation, arguments, opening, None)?;
        let generation_prompt = turn.iter().map(replayed).collect();
        join(&mut segments, turn);
        let ids = self.tokenizer.encode_prompt(&segments, self.budget, starts.as_mut())?;
        let authors = starts.map(|starts| of_tokens(&output, &starts)).unwrap_or_default();
        Ok(Prompt { ids, generation_prompt, authors })
    }

    fn run(
        &self,
        conversation: &Conversation,
        arguments: &[(String, serde_json::Value)],
        opening: TurnOpening,
        probes: Option<&ProbeTime>,
    ) -> Result<Rendered<'_>, RenderError> {
        let conversation = &*self.changes.apply(conversation);
        let is_continued = opening == TurnOpening::ContinueLast;
        let variables = TemplateVariables::new(conversation, arguments, self.forms, is_continued)
            .map_err(|error| RenderError::Conversation(error.to_string()))?;
        let all = variables.messages.clone();
        let run = |messages: &[Value], new_turn| {
            Ok::<_, RenderError>(self.output(conversation, &variables, messages, new_turn, probes)?.text)
        };
        let (output, before) = match opening {
            TurnOpening::NewTurn => (run(&all, true)?, run(&all, false)),
            TurnOpening::ContinueLast => {
                let (earlier, marked) = split_last(conversation, all)?;
                let output = run(&[earlier.clone(), vec![marked]].concat(), false)?;
                (cut_at_mark(&output)?, run(&earlier, false))
            }
        };
        let segments = self.control_tokens.segments(&output);
        let (before, turn) = match before {
            Ok(before) => split_common(segments, &self.control_tokens.segments(&before)),
            // The template refuses the conversation without the turn, so the turn's beginning is
            // unknown and nothing is replayed.
            Err(_) => (segments, Vec::new()),
        };
        Ok(Rendered { before, turn, output })
    }

    /// What the template writes for these messages.
    fn output(
        &self,
        conversation: &Conversation,
        variables: &TemplateVariables,
        messages: &[Value],
        new_turn: bool,
        probes: Option<&ProbeTime>,
    ) -> Result<Rendering, RenderError> {
        let template = match &self.tool_template {
            Some(template) if !conversation.tools.is_empty() => template,
            _ => &self.template,
        };
        let declarations = conversation.tools.iter().map(|tool| tool.declaration.len()).sum::<usize>();
        let bytes = approximate_bytes(conversation) + declarations;
        let variables = variables
            .for_run(messages, new_turn, &self.special_tokens)
            .map_err(|error| RenderError::Conversation(error.to_string()))?;
        Ok(template.render(variables, bytes, probes)?)
    }
}

fn replayed(segment: &Segment<'_>) -> (Option<u32>, String) {
    let id = match segment {
        Segment::Control(token) => Some(token.id),
        Segment::Text(_) => None,
    };
    (id, segment.text().to_owned())
}

/// Appends `more` and joins two texts that become neighbours.
fn join<'a>(segments: &mut Vec<Segment<'a>>, more: Vec<Segment<'a>>) {
    for segment in more {
        match segment {
            Segment::Text(text) => push_text(&text, segments),
            Segment::Control(_) => segments.push(segment),
        }
    }
}
