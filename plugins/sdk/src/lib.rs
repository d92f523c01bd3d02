//! What a parser author needs: write a type that implements [`Parser`], hand it to [`export_parser!`], build for wasm32-unknown-unknown.
//!
//! A parser routes bytes, it doesn't write: the host holds the text, and [`Output`] says where it goes and does all the counting.
//! A parser is an ordinary library with ordinary tests ([`testing`] plays the host); the component's bindings exist on
//! wasm32-unknown-unknown only. The meaning of every type stands in `wit/parser-0.1/parser.wit`.
#![deny(missing_docs)]

#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
#[doc(hidden)]
pub mod component;
pub mod grammar;
pub mod json;
mod output;
pub mod params;
mod prose;
pub mod sections;
mod stream;
#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
pub mod testing;
mod tools;
mod types;

pub use output::Output;
pub use prose::Prose;
pub use stream::Stream;
pub use tools::{Tools, begins_plausibly, is_plausible};
pub use types::{
    Descriptor, FinishReason, Grammar, JsonRest, Op, Payload, Phase, Request, Route, Run, Step, Tool,
    ToolCall, ToolChoice, ToolKind, Trim, Until,
};

/// Parser of one choice of one response. The host calls `start` once, then `text` and `marker` in the order of the stream, and
/// `finish` once at the end. `describe` and `constrain` are called without a stream.
///
/// ```
/// use parser_sdk::testing::{Item, play, request};
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
    /// The parser's name and the markers that the host finds for it. `options` are the operator's settings, and the descriptor may
    /// depend on them alone: equal settings give equal descriptors. `start` gets the settings again, in [`Request::options`].
    ///
    /// # Errors
    /// One line saying which setting is wrong and what it should be.
    fn describe(options: &[(String, String)]) -> Result<Descriptor, String>;

    /// Makes the parser of one stream.
    ///
    /// # Errors
    /// One line saying what in the request this format can't do.
    fn start(request: &Request) -> Result<Self, String>;

    /// Receives the next text of the stream, never empty and without any marker in it. The host appends the chunk to the bytes that
    /// it holds; bytes that the parser routes nowhere stay held.
    fn text(&mut self, chunk: &str, out: &mut Output);

    /// Receives marker `index` of [`Descriptor::markers`]. The host holds the bytes of the marker's literal like text, so the parser
    /// routes or drops them.
    fn marker(&mut self, index: usize, out: &mut Output);

    /// The end of the stream. The host sends bytes that are still held afterwards as content. A call that is complete although its
    /// end marker never came is to be closed here ([`Output::close`]), and a call that has no name yet is to be given up
    /// ([`Output::broken_call`]).
    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        let _ = (reason, out);
    }

    /// A Lark grammar of the turns that satisfy the request's tool choice and schemas, in this model's format; `None` where the
    /// request leaves the model free. [`grammar`] makes its parts. The default has no grammar and refuses every request that
    /// demands one.
    ///
    /// # Errors
    /// One line saying what can't be expressed.
    fn constrain(request: &Request) -> Result<Option<String>, String> {
        if grammar::is_free(request) {
            return Ok(None);
        }
        Err(grammar::NO_GRAMMAR.into())
    }
}

/// Exports a [`Parser`] as the component's `parser` interface. On any target but wasm32-unknown-unknown it expands to nothing.
///
/// ```
/// # use parser_sdk::{Descriptor, Output, Parser, Request, Route};
/// struct Plain;
///
/// impl Parser for Plain {
///     fn describe(_: &[(String, String)]) -> Result<Descriptor, String> {
///         Ok(Descriptor { name: "plain".into(), version: "0.1.0".into(), ..Descriptor::default() })
///     }
///     fn start(_: &Request) -> Result<Self, String> {
///         Ok(Self)
///     }
///     fn text(&mut self, _: &str, out: &mut Output) {
///         out.until_marker(Route::Content);
///     }
///     fn marker(&mut self, _: usize, out: &mut Output) {
///         out.drop_all();
///     }
/// }
///
/// parser_sdk::export_parser!(Plain);
/// ```
#[macro_export]
macro_rules! export_parser {
    ($parser:ty) => {
        #[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
        const _: () = {
            use $crate::component::{Export, Instance, Lowered};

            struct Component;
            $crate::component::bindings::export! { Component with_types_in $crate::component::bindings }

            ::std::thread_local! {
                static INSTANCE: ::std::cell::RefCell<Instance<$parser>> =
                    const { ::std::cell::RefCell::new(Instance::EMPTY) };
            }

            impl Export for Component {
                type Parser = $parser;

                fn instance<R>(act: impl FnOnce(&mut Instance<$parser>) -> R) -> R {
                    INSTANCE.with_borrow_mut(act)
                }
            }

            #[unsafe(export_name = "sluice:parser/parser@0.1.0#text")]
            unsafe extern "C" fn text(chunk: *mut u8, bytes: usize) -> *const Lowered {
                // SAFETY: the canonical ABI: the host had the block allocated for this call, and filled it with UTF-8.
                Component::instance(|instance| unsafe { instance.text(chunk, bytes) })
            }

            #[unsafe(export_name = "sluice:parser/parser@0.1.0#marker")]
            extern "C" fn marker(index: u32) -> *const Lowered {
                Component::instance(|instance| instance.marker(index))
            }

            #[unsafe(export_name = "sluice:parser/parser@0.1.0#finish")]
            extern "C" fn finish(reason: u32) -> *const Lowered {
                Component::instance(|instance| instance.finish(reason))
            }
        };
    };
}
