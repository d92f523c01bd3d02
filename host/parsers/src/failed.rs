//! Stand-in for a parser that couldn't be started. Callers put it into the turn, which treats it
//! like any parser that failed.

use contract::{Fault, FinishReason, Step, StreamParser};

/// Parser that returns its fault at each call.
pub struct FailedParser(pub Fault);

impl StreamParser for FailedParser {
    fn text(&mut self, _: &str) -> Result<Step, Fault> {
        Err(self.0.clone())
    }

    fn marker(&mut self, _: u32) -> Result<Step, Fault> {
        Err(self.0.clone())
    }

    fn finish(&mut self, _: FinishReason) -> Result<Step, Fault> {
        Err(self.0.clone())
    }
}
