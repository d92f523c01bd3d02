//! Loaded plugin of any contract version: its descriptor, and the factory that makes one parser per stream.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::factory::ParserFactory;
use super::none::NoParser;
use super::table::TableSource;
use contract::{Descriptor, Fault, Request, SendParser};

/// A checked and compiled parser plugin, shared by all streams that use it.
pub struct Plugin {
    descriptor: Descriptor,
    digest: String,
    size: usize,
    factory: Box<dyn ParserFactory>,
    /// The table that each stream's parser gets.
    table: Option<TableSource>,
}

impl Plugin {
    pub(super) fn new(
        descriptor: Descriptor,
        digest: String,
        size: usize,
        factory: Box<dyn ParserFactory>,
        table: Option<&TableSource>,
    ) -> Self {
        Self { descriptor, digest, size, factory, table: table.cloned() }
    }

    /// The plugin without markers, for which all text is content.
    pub fn none() -> Arc<Self> {
        let descriptor = Descriptor {
            name: "none".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Descriptor::default()
        };
        Arc::new(Self::new(descriptor, String::new(), 0, Box::new(NoParser), None))
    }

    /// Description of the parser, with its markers.
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// SHA-256 of the component in lower-case hex; empty for `none`.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Size of the component in bytes; 0 for `none`.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Makes the parser of one stream and passes it the request. The parser stays one of this plugin for as long as it lives,
    /// whatever is loaded meanwhile.
    ///
    /// # Errors
    /// The parser can't be made, or refuses the request.
    pub fn start(&self, request: &Request) -> Result<SendParser, Fault> {
        self.factory.start(&self.with_table(request))
    }

    /// Returns a grammar of the turns that satisfy the request, in the model's own format; `None` where the model is left free,
    /// or the format has no grammars. Its markers are still to be defined ([`grammar::define_markers`]). Takes up to
    /// [`crate::limits::ParserLimits::grammar_time`] of CPU time: not for the async threads.
    ///
    /// # Errors
    /// The grammar can't express what the request demands, or takes more than that time.
    pub fn constrain(&self, request: &Request) -> Result<Option<String>, Fault> {
        self.factory.constrain(&self.with_table(request))
    }

    /// The request with the table among its options, if the plugin is one.
    fn with_table<'a>(&self, request: &'a Request) -> Cow<'a, Request> {
        let options = self.table.as_ref().and_then(|table| table.options(&request.options).ok());
        match options {
            Some(options) => Cow::Owned(Request { options, ..request.clone() }),
            None => Cow::Borrowed(request),
        }
    }
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plugin")
            .field("name", &self.descriptor.name)
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}
