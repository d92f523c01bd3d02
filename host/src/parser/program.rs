//! What parsers of streams are made of.

use super::contract::{Fault, Request, StreamParser};

/// Something that parsers are made of: one implementation per version of the contract, and the native "none".
pub(super) trait Program: Send + Sync {
    /// A parser that has had its `start`.
    fn start(&self, request: &Request) -> Result<Box<dyn StreamParser>, Fault>;
    /// A grammar of the turns that satisfy the request; none where the model is left free, or the format has no grammars.
    fn constrain(&self, request: &Request) -> Result<Option<String>, Fault>;
}
