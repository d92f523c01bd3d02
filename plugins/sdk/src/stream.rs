//! One parser with its output: the sequence of calls that a stream makes, each answered by a [`Step`].
//!
//! Called by the component's export on wasm32 and by [`crate::testing`] natively, so both see the same steps.

use crate::Parser;
use crate::output::Output;
use crate::types::{FinishReason, Request, Step};

/// A parser at work on one stream.
#[derive(Debug)]
pub struct Stream<P> {
    parser: P,
    out: Output,
    /// Byte lengths of the markers' literals.
    markers: Vec<usize>,
}

impl<P: Parser> Stream<P> {
    /// Starts a parser.
    ///
    /// # Errors
    /// What [`Parser::describe`] or [`Parser::start`] say.
    pub fn start(request: &Request) -> Result<Self, String> {
        let markers = P::describe(&request.options)?.markers.iter().map(String::len).collect();
        Ok(Self { parser: P::start(request)?, out: Output::default(), markers })
    }

    /// Text without any marker in it.
    pub fn text(&mut self, chunk: &str) -> Step {
        self.out.receive(chunk.len());
        self.parser.text(chunk, &mut self.out);
        self.out.step()
    }

    /// Marker `index` of the descriptor.
    pub fn marker(&mut self, index: u32) -> Step {
        let index = index as usize;
        let Some(&length) = self.markers.get(index) else {
            return Step::Fault(format!("marker {index} of {}", self.markers.len()));
        };
        self.out.receive_marker(length);
        self.parser.marker(index, &mut self.out);
        self.out.step()
    }

    /// The last step.
    pub fn finish(&mut self, reason: FinishReason) -> Step {
        self.parser.finish(reason, &mut self.out);
        self.out.step()
    }
}
