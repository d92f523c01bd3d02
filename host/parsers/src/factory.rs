//! Trait of factories, which make the parsers of streams.

use contract::{Fault, Request, SendParser};

/// Factory of a plugin's parsers: one implementation per version of the contract, and the native `none`.
pub(super) trait ParserFactory: Send + Sync {
    /// Makes a parser and calls its `start`.
    fn start(&self, request: &Request) -> Result<SendParser, Fault>;
}
