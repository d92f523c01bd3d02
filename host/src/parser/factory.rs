//! Trait of factories, which make the parsers of streams.

use contract::{Fault, Request, SendParser};

/// Factory of a plugin's parsers: one implementation per version of the contract, and the native `none`.
pub(super) trait ParserFactory: Send + Sync {
    /// Makes a parser and calls its `start`.
    fn start(&self, request: &Request) -> Result<SendParser, Fault>;
    /// Returns a grammar of the turns that satisfy the request; `None` where the model is left free, or the format has no grammars.
    fn constrain(&self, request: &Request) -> Result<Option<String>, Fault>;
}
