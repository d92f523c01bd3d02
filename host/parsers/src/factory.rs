//! Trait of factories, which make the parsers of streams.

use super::error::LoadProblem;
use contract::{Descriptor, Fault, Request, SendParser};

/// Factory of a plugin's parsers: one implementation for components of each version of the
/// contract, and the native `none`.
pub(super) trait ParserFactory: Send + Sync {
    /// Asks the parser what it is, with these settings of the operator.
    fn describe(&self, options: &[(String, String)]) -> Result<Descriptor, LoadProblem>;
    /// Makes a parser and calls its `start`. `descriptor` is the plugin's, checked.
    fn start(&self, descriptor: &Descriptor, request: &Request) -> Result<SendParser, Fault>;
}
