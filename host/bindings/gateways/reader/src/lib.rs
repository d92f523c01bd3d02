//! A parser as a gateway holds it: loaded, bound to the gateway's tokenizer, and told how the chat
//! template opens the model's turn. The adapters of `dynamo-parsers-v2` and `smg-symphony` start
//! their streams with it.
//!
//! Invariant: a reader doesn't change once it is shared; what one stream does is seen by no other.

mod opening;

use std::fmt;
use std::sync::{Arc, LazyLock, OnceLock};

use contract::{Fault, Request, Tool, ToolKind};
use parsers::shipped::parser_named;
use parsers::{BoundPlugin, OutputStream, ParserLimits, Plugin, ResolveError, Runtime, RuntimeError};
use turn::{CallIds, FaultPolicy, TurnSettings};

pub use opening::Opening;
use opening::Openings;

/// The runtime of this process's readers. A gateway's signals are its own.
static RUNTIME: LazyLock<Result<Runtime, RuntimeError>> =
    LazyLock::new(|| Runtime::without_signals(&ParserLimits::default()));

/// The tokenizer of a gateway's model.
pub trait Tokenizer: Send + Sync {
    /// Returns the id of a literal that is an *added* token, and `None` for others.
    fn token_id(&self, literal: &str) -> Option<u32>;

    /// Returns the text of token ids, special ones included; `None` if there are none of these ids.
    fn decode(&self, ids: &[u32]) -> Option<String>;
}

/// How the streams of a gateway come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As text: markers are found in it.
    Text,
    /// With the ids of tokens: markers that are tokens are found by their ids, and a marker that
    /// other tokens spell is text.
    Tokens,
}

/// Reason why a parser can't be read with.
#[derive(Debug, thiserror::Error)]
pub enum ReaderError {
    /// There is none.
    #[error(transparent)]
    NotFound(#[from] ResolveError),
    /// It can't be loaded or bound.
    #[error("parser {parser}: {reason}")]
    Unusable {
        /// The parser that was asked for.
        parser: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// A parser, and all that its streams have in common.
pub struct Reader {
    plugin: Arc<Plugin>,
    options: Vec<(String, String)>,
    by_text: BoundPlugin,
    by_token: Option<ByToken>,
    /// What the chat template writes where the model's turn begins.
    turn_opening: Option<String>,
    openings: OnceLock<Openings>,
}

/// A parser bound to a tokenizer.
struct ByToken {
    bound: BoundPlugin,
    tokenizer: Arc<dyn Tokenizer>,
    /// Markers that are tokens.
    markers: Vec<(u32, String)>,
}

impl Reader {
    /// Loads a parser: `parser` is the name of a shipped parser or table, or the path of a `.wasm`
    /// file or a table (`.json`). It is compiled here, which takes a fifth of a second.
    ///
    /// # Errors
    /// There is no such parser, or it can't be used.
    pub fn load(parser: &str) -> Result<Self, ReaderError> {
        Self::load_with(parser, Vec::new())
    }

    /// Loads a parser with settings of its own.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_with(parser: &str, options: Vec<(String, String)>) -> Result<Self, ReaderError> {
        let source = parser_named(parser)?;
        let refused = |reason: &dyn fmt::Display| unusable(parser, reason);
        let runtime = RUNTIME.as_ref().map_err(|error| refused(error))?;
        let plugin = runtime.load(&source, &options).map_err(|error| refused(&error))?;
        Self::of(plugin, options)
    }

    /// A parser that was loaded with limits, a cache or `options` of the caller's.
    ///
    /// # Errors
    /// Its markers can't be used.
    pub fn of(plugin: Arc<Plugin>, options: Vec<(String, String)>) -> Result<Self, ReaderError> {
        let by_text = bind(&plugin, |_| None)?;
        let openings = OnceLock::new();
        Ok(Self { plugin, options, by_text, by_token: None, turn_opening: None, openings })
    }

    /// Reads token ids, too: markers that are tokens of this tokenizer are found by their ids.
    ///
    /// # Errors
    /// The markers can't be used with these ids.
    pub fn with_tokenizer(self, tokenizer: Arc<dyn Tokenizer>) -> Result<Self, ReaderError> {
        let bound = bind(&self.plugin, |literal| tokenizer.token_id(literal))?;
        let markers = self.plugin.descriptor().markers.iter();
        let markers = markers.filter_map(|literal| Some((tokenizer.token_id(literal)?, literal.clone())));
        let markers = markers.collect();
        Ok(Self { by_token: Some(ByToken { bound, tokenizer, markers }), ..self })
    }

    /// Says what the chat template writes where the model's turn begins, such as
    /// `<|im_start|>assistant`: of a prompt, all from the last place that has it belongs to the
    /// turn. Without it that is what stands behind the last marker that ends a turn.
    #[must_use]
    pub fn opened_by(self, literal: &str) -> Self {
        Self { turn_opening: Some(literal.to_owned()), ..self }
    }

    /// The parser.
    pub fn plugin(&self) -> &Arc<Plugin> {
        &self.plugin
    }

    /// The tokenizer, if the parser is bound to one.
    pub fn tokenizer(&self) -> Option<&dyn Tokenizer> {
        self.by_token.as_ref().map(|by_token| &*by_token.tokenizer)
    }

    /// The literal of a token that is a marker of the parser.
    pub fn marker(&self, id: u32) -> Option<&str> {
        let markers = &self.by_token.as_ref()?.markers;
        markers.iter().find(|(marker, _)| *marker == id).map(|(_, literal)| &**literal)
    }

    /// What a parser is told of a request: its tools, each with its name and the JSON schema of its
    /// arguments.
    pub fn request<'a>(&self, tools: impl IntoIterator<Item = (&'a str, String)>) -> Request {
        let tool = |(name, schema): (&str, String)| -> Tool {
            turn::values::tool(name, ToolKind::Function, &schema)
        };
        Request {
            tools: tools.into_iter().map(tool).collect(),
            options: self.options.clone(),
            ..Request::default()
        }
    }

    /// Settings of a stream: those of a server, but that a parser that fails ends the turn, whose
    /// rest the gateway gets back. A call's id is the one that the model wrote, or empty.
    pub fn settings(&self, request: &Request) -> TurnSettings {
        let own_ids = CallIds::new(|call| call.own_id.unwrap_or_default().to_owned());
        let mut settings = TurnSettings::of(request, own_ids);
        settings.reads_on = true;
        settings.fault_policy = FaultPolicy::Fail;
        settings
    }

    /// Starts a stream. `opening` is the part of the prompt that belongs to the model's turn.
    /// Without a tokenizer, [`Form::Tokens`] is [`Form::Text`].
    ///
    /// # Errors
    /// The parser can't be made, or refuses the request.
    pub fn start(
        &self,
        form: Form,
        request: &Request,
        opening: &str,
        settings: TurnSettings,
    ) -> Result<OutputStream, Fault> {
        let bound = match (form, &self.by_token) {
            (Form::Tokens, Some(by_token)) => &by_token.bound,
            _ => &self.by_text,
        };
        bound.start_with(request, opening, settings)
    }

    /// The end of a prompt that belongs to the model's turn.
    pub fn turn_in<'p>(&self, prompt: &'p str) -> &'p str {
        if let Some(opening) = &self.turn_opening
            && let Some(at) = prompt.rfind(opening)
        {
            return &prompt[at..];
        }
        let descriptor = self.plugin.descriptor();
        let stops = descriptor.stops.iter().filter_map(|index| descriptor.markers.get(*index as usize));
        let ends = stops.filter_map(|stop| Some(prompt.rfind(&**stop)? + stop.len()));
        &prompt[ends.max().unwrap_or(0)..]
    }

    /// Text of a prompt that leaves the turn so; `None` if the parser's markers alone don't say it.
    pub fn opening(&self, opening: Opening) -> Option<&str> {
        self.openings.get_or_init(|| Openings::of(self)).get(opening)
    }
}

fn bind(plugin: &Arc<Plugin>, token_id: impl Fn(&str) -> Option<u32>) -> Result<BoundPlugin, ReaderError> {
    plugin.bind(token_id).map_err(|error| unusable(&plugin.descriptor().name, &error))
}

fn unusable(parser: &str, reason: &dyn fmt::Display) -> ReaderError {
    ReaderError::Unusable { parser: parser.to_owned(), reason: reason.to_string() }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("parser", &self.plugin.descriptor().name).finish_non_exhaustive()
    }
}
