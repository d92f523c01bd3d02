//! The parser under test, and its source.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use parser_kit::case::MarkerMode;

use crate::ParserLimits;
use crate::{CompileCache, PluginSource, Runtime, Traps};
use contract::{Descriptor, Fault, Request, SendParser};
use turn::{Binding, TurnEnd, TurnEvent, TurnSettings, counted_call_ids};

/// Function that starts the parser of one stream.
pub type Start = Box<dyn Fn(&Request) -> Result<SendParser, Fault> + Send + Sync>;

/// Checks that a turn makes a valid stream for clients. The error says what is wrong in it.
pub type TurnCheck = fn(&[TurnEvent], &TurnEnd) -> Result<(), String>;

/// A parser under test.
pub struct Subject {
    descriptor: Descriptor,
    digest: String,
    limits: ParserLimits,
    by_text: Arc<Binding>,
    by_id: Arc<Binding>,
    start: Start,
    turn_check: TurnCheck,
}

impl Subject {
    /// A parser with this descriptor, whose turns have to pass the check. Growth and limits are
    /// measured if the parsers that `start` makes report what they use.
    ///
    /// # Errors
    /// The markers can't be used. The message has one line.
    pub fn new(
        descriptor: Descriptor,
        limits: &ParserLimits,
        start: Start,
        turn_check: TurnCheck,
    ) -> Result<Self, String> {
        let wrong = |error| format!("parser {}: {error}", descriptor.name);
        let id = |literal: &str| descriptor.markers.iter().position(|marker| marker == literal);
        let id = |literal: &str| id(literal).and_then(|index| u32::try_from(index).ok());
        let by_id = Binding::new(&descriptor, id).map_err(wrong)?;
        let by_text = Binding::by_text(&descriptor).map_err(wrong)?;
        let (limits, digest) = (limits.clone(), String::new());
        Ok(Self { descriptor, digest, limits, by_text, by_id, start, turn_check })
    }

    /// The parser's descriptor.
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// SHA-256 of the component; empty for a parser that isn't one.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Limits of the parser.
    pub fn limits(&self) -> &ParserLimits {
        &self.limits
    }

    /// What a turn's stream has to pass.
    pub(super) fn turn_check(&self) -> TurnCheck {
        self.turn_check
    }

    pub(super) fn start(&self, request: &Request) -> Result<SendParser, Fault> {
        (self.start)(request)
    }

    /// The parser bound to a source that has markers in this mode.
    pub(super) fn binding(&self, mode: MarkerMode) -> &Arc<Binding> {
        match mode {
            MarkerMode::Text => &self.by_text,
            MarkerMode::Id => &self.by_id,
        }
    }

    /// Settings of a turn as in a server, except that the turn continues as plain text after a
    /// fault of the parser.
    pub(super) fn settings(&self, request: &Request) -> TurnSettings {
        let mut settings = TurnSettings::of(request, counted_call_ids());
        settings.held_bytes = self.limits.held_bytes;
        settings
    }
}

/// Source of the parser for each case: a parser's markers may depend on the case's options.
pub trait ParserSource: Sync {
    /// Returns the parser with these options.
    ///
    /// # Errors
    /// The parser can't be used. The message has one line.
    fn load(&self, options: &[(String, String)]) -> Result<Arc<Subject>, String>;
}

type Options = Vec<(String, String)>;

/// Size in bytes of a component that holds an interpreter: compiling it takes longer than all
/// plays. So commands that play share one kind of code for it, the one compiled in the shortest
/// time.
const INTERPRETER: u64 = 4 << 20;

/// What is measured besides items, which decides how a component is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measures {
    /// Nothing: the server's code is used.
    Nothing,
    /// Instructions and memory, which the parsers report.
    Resources,
    /// Time, of the server's code.
    Time,
}

/// Parsers of one plugin in the sandbox, loaded once for each set of options.
pub struct Sandboxed {
    source: PluginSource,
    runtime: Runtime,
    limits: ParserLimits,
    turn_check: TurnCheck,
    loaded: Mutex<HashMap<Options, Arc<Subject>>>,
}

impl Sandboxed {
    /// The plugin of `source`, under these limits, for a command that measures this. Its turns have
    /// to pass the check.
    ///
    /// # Errors
    /// No parser can run on this machine.
    pub fn new(
        source: PluginSource,
        limits: &ParserLimits,
        cache: Option<CompileCache>,
        measures: Measures,
        turn_check: TurnCheck,
    ) -> Result<Self, String> {
        Self::with(source, limits, cache, Traps::Signals, measures, turn_check)
    }

    /// As [`Self::new`], for a process whose signals are somebody else's ([`Traps::Checks`]).
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn without_signals(
        source: PluginSource,
        limits: &ParserLimits,
        measures: Measures,
        turn_check: TurnCheck,
    ) -> Result<Self, String> {
        Self::with(source, limits, None, Traps::Checks, measures, turn_check)
    }

    fn with(
        source: PluginSource,
        limits: &ParserLimits,
        cache: Option<CompileCache>,
        traps: Traps,
        measures: Measures,
        turn_check: TurnCheck,
    ) -> Result<Self, String> {
        let quick = measures != Measures::Time && source.size() > INTERPRETER;
        let metered = quick || measures == Measures::Resources;
        let runtime = Runtime::pooled(limits, traps, metered, quick).map_err(|error| error.to_string())?;
        let runtime = runtime.with_cache(cache);
        Ok(Self { source, runtime, limits: limits.clone(), turn_check, loaded: Mutex::default() })
    }

    /// Loads a component of a draft of the contract, too, if `drafts` is set.
    #[must_use]
    pub fn with_drafts(self, drafts: bool) -> Self {
        Self { runtime: self.runtime.with_drafts(drafts), ..self }
    }
}

impl ParserSource for Sandboxed {
    fn load(&self, options: &[(String, String)]) -> Result<Arc<Subject>, String> {
        let mut loaded = self.loaded.lock().expect("nothing panics while it loads");
        if let Some(subject) = loaded.get(options) {
            return Ok(Arc::clone(subject));
        }
        let plugin = self.runtime.load(&self.source, options).map_err(|error| error.to_string())?;
        let descriptor = plugin.descriptor().clone();
        let digest = plugin.digest().to_owned();
        let start: Start = Box::new(move |request| plugin.start(request));
        let subject = Subject::new(descriptor, &self.limits, start, self.turn_check)?;
        let subject = Arc::new(Subject { digest, ..subject });
        loaded.insert(options.to_vec(), Arc::clone(&subject));
        Ok(subject)
    }
}
