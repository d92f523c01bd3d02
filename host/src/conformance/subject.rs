//! The parser under test, and where it comes from.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use parser_sdk::testing::case::MarkerMode;

use crate::limits::ParserLimits;
use crate::parser::contract::{Descriptor, Fault, Request, StreamParser};
use crate::parser::{CompileCache, Plugin, PluginLoadError, PluginSource, Runtime};
use crate::turn::{FaultPolicy, MarkerTable, TurnSettings};

/// Makes the parser of one stream.
pub type Start = Box<dyn Fn(&Request) -> Result<Box<dyn StreamParser>, Fault> + Send + Sync>;

/// A parser under test.
pub struct Subject {
    descriptor: Descriptor,
    digest: String,
    limits: ParserLimits,
    by_text: Arc<MarkerTable>,
    by_id: Arc<MarkerTable>,
    start: Start,
    /// The same parser where it is counted what it uses.
    metered: Start,
}

impl Subject {
    /// A parser that says `descriptor` of itself. `metered` may be the same as `start` if that counts.
    ///
    /// # Errors
    /// Its markers can't be used, in one line.
    pub fn new(
        descriptor: Descriptor,
        limits: &ParserLimits,
        start: Start,
        metered: Start,
    ) -> Result<Self, String> {
        let wrong = |error| format!("parser {}: {error}", descriptor.name);
        let id = |literal: &str| descriptor.markers.iter().position(|marker| marker == literal);
        let id = |literal: &str| id(literal).and_then(|index| u32::try_from(index).ok());
        let by_id = MarkerTable::new(&descriptor.markers, id).map_err(wrong)?;
        let by_text = MarkerTable::by_text(&descriptor.markers).map_err(wrong)?;
        Ok(Self {
            limits: limits.clone(),
            digest: String::new(),
            by_text: Arc::new(by_text),
            by_id: Arc::new(by_id),
            start,
            metered,
            descriptor,
        })
    }

    /// What it says of itself.
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// SHA-256 of its component; empty where it is none.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// What it may use.
    pub fn limits(&self) -> &ParserLimits {
        &self.limits
    }

    pub(super) fn start(&self, request: &Request, metered: bool) -> Result<Box<dyn StreamParser>, Fault> {
        if metered { (self.metered)(request) } else { (self.start)(request) }
    }

    /// Settings of a turn, as a server makes them; a fault goes on as text, so that it is seen by itself.
    pub(super) fn settings(&self, request: &Request, mode: MarkerMode) -> TurnSettings {
        let markers = match mode {
            MarkerMode::Text => &self.by_text,
            MarkerMode::Id => &self.by_id,
        };
        let mut calls = 0;
        TurnSettings {
            stops: self.descriptor.stops.clone().into(),
            trim: self.descriptor.trim,
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            fault_policy: FaultPolicy::Continue,
            held_bytes: self.limits.held_bytes,
            call_ids: Box::new(move || {
                calls += 1;
                format!("call_{calls}")
            }),
            ..TurnSettings::new(self.descriptor.name.clone(), Arc::clone(markers))
        }
    }
}

/// Where the parser of a case comes from: its markers may depend on the case's options.
pub trait Parsers: Sync {
    /// The parser with these options.
    ///
    /// # Errors
    /// It can't be used, in one line.
    fn with(&self, options: &[(String, String)]) -> Result<Arc<Subject>, String>;
}

type Options = Vec<(String, String)>;

/// Loads a plugin into the sandbox, once for each set of options; that it counts only where that is asked for.
pub struct Sandboxed {
    source: PluginSource,
    runtime: Runtime,
    metered: Arc<Runtime>,
    limits: ParserLimits,
    loaded: Mutex<HashMap<Options, Arc<Subject>>>,
}

impl Sandboxed {
    /// The parser of `source`, under these limits.
    ///
    /// # Errors
    /// No parser can run on this machine.
    pub fn new(
        source: PluginSource,
        limits: &ParserLimits,
        cache: Option<CompileCache>,
    ) -> Result<Self, String> {
        let runtime =
            Runtime::pooled(limits, false).map_err(|error| error.to_string())?.with_cache(cache.clone());
        let metered = Runtime::pooled(limits, true).map_err(|error| error.to_string())?.with_cache(cache);
        let (metered, loaded) = (Arc::new(metered), Mutex::default());
        Ok(Self { source, runtime, metered, limits: limits.clone(), loaded })
    }

    /// The parser that counts, loaded at its first stream.
    fn metered(&self, options: &[(String, String)]) -> Start {
        let (runtime, source, options) = (Arc::clone(&self.metered), self.source.clone(), options.to_vec());
        let plugin = OnceLock::new();
        Box::new(move |request| {
            let plugin: &Result<Arc<Plugin>, PluginLoadError> =
                plugin.get_or_init(|| runtime.load(&source, &options));
            match plugin {
                Ok(plugin) => plugin.start(request),
                Err(error) => {
                    Err(Fault { parser: source.name().into_owned(), reason: error.problem.to_string() })
                }
            }
        })
    }
}

impl Parsers for Sandboxed {
    fn with(&self, options: &[(String, String)]) -> Result<Arc<Subject>, String> {
        let mut loaded = self.loaded.lock().expect("nothing panics while it loads");
        if let Some(subject) = loaded.get(options) {
            return Ok(Arc::clone(subject));
        }
        let plugin = self.runtime.load(&self.source, options).map_err(|error| error.to_string())?;
        let descriptor = plugin.descriptor().clone();
        let digest = plugin.digest().to_owned();
        let start: Start = Box::new(move |request| plugin.start(request));
        let subject = Subject::new(descriptor, &self.limits, start, self.metered(options))?;
        let subject = Arc::new(Subject { digest, ..subject });
        loaded.insert(options.to_vec(), Arc::clone(&subject));
        Ok(subject)
    }
}
