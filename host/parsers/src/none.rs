//! Parser of `--parser none`: no markers, all text is content. It has no state, no limits, and
//! can't fail.

use super::error::LoadProblem;
use super::factory::ParserFactory;
use contract::{Descriptor, Fault, FinishReason, Op, Request, Route, Run, SendParser, Step, StreamParser};

/// Factory of the plugin `none`, and the parser of every stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct NoParser;

impl NoParser {
    /// Description of the plugin `none`.
    pub(super) fn descriptor() -> Descriptor {
        Descriptor {
            name: "none".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Descriptor::default()
        }
    }
}

impl ParserFactory for NoParser {
    fn describe(&self, _: &[(String, String)]) -> Result<Descriptor, LoadProblem> {
        Ok(Self::descriptor())
    }

    fn start(&self, _: &Descriptor, _: &Request) -> Result<SendParser, Fault> {
        Ok(Box::new(Self))
    }
}

impl StreamParser for NoParser {
    /// Called once: `until-marker` covers the rest of the stream.
    fn text(&mut self, chunk: &str) -> Result<Step, Fault> {
        match u32::try_from(chunk.len()) {
            Ok(bytes) => Ok(Step::Ops(vec![
                Op::Bytes(Run { route: Route::Content, bytes }),
                Op::UntilMarker(Route::Content),
            ])),
            Err(_) => Ok(Step::Hold),
        }
    }

    /// Never called: it has no markers.
    fn marker(&mut self, _: u32) -> Result<Step, Fault> {
        Ok(Step::Hold)
    }

    /// Held bytes, if there are any, go out as content.
    fn finish(&mut self, _: FinishReason) -> Result<Step, Fault> {
        Ok(Step::Hold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::Plugin;

    #[test]
    fn everything_is_content_and_the_host_asks_once() {
        let plugin = Plugin::none();
        assert_eq!(plugin.descriptor().name, "none");
        assert!(plugin.descriptor().markers.is_empty());
        let mut parser = plugin.start(&Request::default()).unwrap();
        let step = parser.text("hé").unwrap();
        assert_eq!(
            step,
            Step::Ops(vec![
                Op::Bytes(Run { route: Route::Content, bytes: 3 }),
                Op::UntilMarker(Route::Content)
            ])
        );
        assert_eq!(parser.finish(FinishReason::Stop), Ok(Step::Hold));
    }
}
