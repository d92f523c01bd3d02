//! One parser with its output: the calls that a stream makes of it, each answered by a [`Step`].
//!
//! Called by the component's exports on wasm32 and by the test kit natively, so both get the same
//! steps.

use crate::output::{Output, StepRef};
use crate::parser::Parser;
use contract::{FinishReason, Request, Step};

/// A parser at work on one stream.
#[derive(Debug)]
pub struct Stream<P> {
    parser: P,
    out: Output,
    /// Byte length of each marker's literal, and whether the marker ends an open string.
    markers: Vec<(usize, bool)>,
}

impl<P: Parser> Stream<P> {
    /// Starts the parser of one stream.
    ///
    /// # Errors
    /// What [`Parser::start`] or [`Parser::stream_descriptor`] say.
    pub fn start(request: &Request) -> Result<Self, String> {
        let parser = P::start(request)?;
        let descriptor = parser.stream_descriptor(&request.options)?;
        let ends = |index| descriptor.stops.contains(&index) || request.token_markers.contains(&index);
        let markers = (0..).zip(&descriptor.markers).map(|(index, literal)| (literal.len(), ends(index)));
        let markers = markers.collect();
        Ok(Self { parser, out: Output::default(), markers })
    }

    /// Gives the parser text that has no marker in it.
    pub fn text(&mut self, chunk: &str) -> Step {
        self.read(chunk).into()
    }

    /// Gives the parser marker `index` of its descriptor; a fault if there is none.
    pub fn marker(&mut self, index: u32) -> Step {
        self.meet(index).into()
    }

    /// Ends the stream: the parser's last step.
    pub fn finish(&mut self, reason: FinishReason) -> Step {
        self.end(reason).into()
    }

    /// [`Self::text`], with a step that borrows from the output.
    pub(crate) fn read(&mut self, chunk: &str) -> StepRef<'_> {
        self.out.receive(chunk.len());
        self.parser.text(chunk, &mut self.out);
        self.out.answer()
    }

    /// [`Self::marker`], with a step that borrows from the output.
    pub(crate) fn meet(&mut self, index: u32) -> StepRef<'_> {
        let Some(&(length, ends_strings)) = self.markers.get(index as usize) else {
            self.out.receive(0);
            self.out.fault(format!("marker {index} of {}", self.markers.len()));
            return self.out.answer();
        };
        self.out.receive_marker(length, ends_strings);
        self.parser.marker(index as usize, &mut self.out);
        self.out.answer()
    }

    /// [`Self::finish`], with a step that borrows from the output.
    pub(crate) fn end(&mut self, reason: FinishReason) -> StepRef<'_> {
        self.out.receive(0);
        self.parser.finish(reason, &mut self.out);
        self.out.answer()
    }
}

impl From<StepRef<'_>> for Step {
    fn from(answer: StepRef<'_>) -> Self {
        match answer {
            StepRef::Pass => Self::Pass,
            StepRef::Hold => Self::Hold,
            StepRef::HoldUntil(hold) => Self::HoldUntil(hold),
            StepRef::Ops(ops) => Self::Ops(ops.to_vec()),
            StepRef::Fault(reason) => Self::Fault(reason.to_owned()),
        }
    }
}
