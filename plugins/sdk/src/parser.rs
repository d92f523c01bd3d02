//! The trait that a parser implements.

use crate::output::Output;
use contract::{Descriptor, FinishReason, Request};

/// Parser of one choice of one response. The host calls `start` once, then `text` and `marker` in
/// the order of the stream, and `finish` once at the end. `describe` is called without a stream.
///
/// ```
/// use parser_kit::{Item, play, request};
/// use parser_sdk::{Descriptor, FinishReason, Output, Parser, Request, Route};
///
/// /// Reasoning in `<think>…</think>`, and a message behind it.
/// struct Thinking(Route);
///
/// impl Parser for Thinking {
///     fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
///         let markers = ["<think>", "</think>"].map(String::from).into();
///         Ok(Descriptor { name: "thinking".into(), version: "0.1.0".into(), markers, ..Descriptor::default() })
///     }
///     fn start(_: &Request) -> Result<Self, String> {
///         Ok(Self(Route::Content))
///     }
///     fn text(&mut self, _: &str, out: &mut Output) {
///         out.until_marker(self.0);
///     }
///     fn marker(&mut self, index: usize, out: &mut Output) {
///         out.drop_all();
///         self.0 = if index == 0 { Route::Reasoning } else { Route::Content };
///     }
/// }
///
/// let items = play::<Thinking>(&request(&[]), "", ["<think>Hm.</think>Hi."], FinishReason::Stop);
/// assert_eq!(items, [Item::reasoning("Hm."), Item::message("Hi.")]);
/// ```
pub trait Parser: Sized {
    /// The parser's name and the markers that the host finds for it. `options` are the operator's
    /// settings, and the descriptor may depend on them alone: equal settings give equal
    /// descriptors. `start` gets the settings again, in [`Request::options`].
    ///
    /// # Errors
    /// One line saying which setting is wrong and what it should be.
    fn describe(options: &[(String, String)]) -> Result<Descriptor, String>;

    /// Makes the parser of one stream.
    ///
    /// # Errors
    /// One line saying what in the request this format can't do.
    fn start(request: &Request) -> Result<Self, String>;

    /// What a stream needs of the descriptor: [`Descriptor::markers`] and [`Descriptor::stops`];
    /// the rest may be missing. A parser that makes its descriptor from the options overrides this,
    /// so that a stream's start costs no grammar.
    ///
    /// # Errors
    /// Those of [`Self::describe`].
    fn stream_descriptor(&self, options: &[(String, String)]) -> Result<Descriptor, String> {
        Self::describe(options)
    }

    /// Receives the next text of the stream, never empty and without any marker in it. The host
    /// appends the chunk to the bytes that it holds; bytes that the parser routes nowhere stay
    /// held.
    fn text(&mut self, chunk: &str, out: &mut Output);

    /// Receives marker `index` of [`Descriptor::markers`]. The host holds the bytes of the marker's
    /// literal like text, so the parser routes or drops them.
    fn marker(&mut self, index: usize, out: &mut Output);

    /// The end of the stream. The host sends bytes that are still held afterwards as content. A
    /// call that is complete although its end marker never came is to be closed here
    /// ([`Output::close`]), and a call that has no name yet is to be given up
    /// ([`Output::broken_call`]).
    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        let _ = (reason, out);
    }
}
