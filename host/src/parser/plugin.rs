//! A loaded plugin, of whatever contract version: what it says of itself, and the making of one parser per stream.

use std::fmt;
use std::sync::Arc;

use super::contract::{Descriptor, Fault, Request, StreamParser};
use super::none::NoParser;
use super::program::Program;

/// A checked and compiled parser plugin, shared by all streams that use it.
pub struct Plugin {
    descriptor: Descriptor,
    digest: String,
    size: usize,
    program: Box<dyn Program>,
}

impl Plugin {
    pub(super) fn new(
        descriptor: Descriptor,
        digest: String,
        size: usize,
        program: Box<dyn Program>,
    ) -> Self {
        Self { descriptor, digest, size, program }
    }

    /// The parser that has no markers and calls everything content.
    pub fn none() -> Arc<Self> {
        let descriptor = Descriptor {
            name: "none".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Descriptor::default()
        };
        Arc::new(Self::new(descriptor, String::new(), 0, Box::new(NoParser)))
    }

    /// What it is, and which markers it wants.
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// SHA-256 of the component in lower-case hex; empty for `none`.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Bytes of the component; 0 for `none`.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Makes the parser of one stream and tells it of the request. It is of this plugin for as long as it lives,
    /// whatever is loaded meanwhile.
    ///
    /// # Errors
    /// The parser can't be made, or refuses the request.
    pub fn start(&self, request: &Request) -> Result<Box<dyn StreamParser>, Fault> {
        self.program.start(request)
    }

    /// A grammar of the turns that satisfy what the request demands, in the format's own words; none where the model is left free, or
    /// the format has no grammars. Its markers are still to be defined ([`crate::grammar::define_markers`]). Takes up to
    /// [`crate::limits::ParserLimits::grammar_time`] of CPU: not for the async threads.
    ///
    /// # Errors
    /// What is demanded can't be expressed, or took more than that.
    pub fn constrain(&self, request: &Request) -> Result<Option<String>, Fault> {
        self.program.constrain(request)
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
