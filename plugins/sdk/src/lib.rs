//! What a parser author needs: write a type that implements [`Parser`], hand it to [`export_parser!`], build for wasm32.
//!
//! A parser routes bytes, it doesn't write: the host holds the text, and [`Output`] says where it goes and does all the counting.
//! The crate has no dependencies natively, so a parser is an ordinary library with ordinary tests ([`testing`] plays the host);
//! the component's bindings exist on wasm32 only. The meaning of every type stands in `wit/parser-0.1/parser.wit`.
#![deny(missing_docs)]

#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub mod component;
pub mod json;
mod output;
mod stream;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
mod types;

pub use output::Output;
pub use stream::Stream;
pub use types::{
    Descriptor, FinishReason, Grammar, Op, Payload, Phase, Request, Route, Run, Step, Tool, ToolCall,
    ToolChoice, ToolKind, Trim,
};

/// The parser of one choice of one response. Calls come in the order of the methods' names here; `finish` is the last.
pub trait Parser: Sized {
    /// What the parser is and which markers the host is to find for it, given the operator's settings.
    /// It may depend on those alone; `start` sees them again among its options.
    ///
    /// # Errors
    /// One line saying which setting is wrong and what it should be.
    fn describe(options: &[(String, String)]) -> Result<Descriptor, String>;

    /// A parser for one stream.
    ///
    /// # Errors
    /// One line saying what in the request this format can't do.
    fn start(request: &Request) -> Result<Self, String>;

    /// Text without any marker in it, never empty; its bytes are now the youngest of those held.
    /// What isn't routed stays held.
    fn text(&mut self, chunk: &str, out: &mut Output);

    /// Marker `index` of the descriptor; its literal's bytes are held like text.
    fn marker(&mut self, index: usize, out: &mut Output);

    /// The end. Bytes still held afterwards go out as content; a call that is complete although its end marker
    /// never came must be closed here.
    fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        let _ = (reason, out);
    }

    /// A Lark grammar of the turns that satisfy the request's tool choice and schemas, in this model's format; none
    /// (the default) where the model is left free.
    ///
    /// # Errors
    /// One line saying what can't be expressed.
    fn constrain(request: &Request) -> Result<Option<String>, String> {
        let _ = request;
        Ok(None)
    }
}

/// Exports a [`Parser`] as the component's `parser` interface. Natively it expands to nothing.
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
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            struct Component;

            ::std::thread_local! {
                static STREAM: $crate::component::Slot<$parser> = const { $crate::component::Slot::new(None) };
            }

            impl $crate::component::Export for Component {
                type Parser = $parser;

                fn slot<R>(act: impl FnOnce(&$crate::component::Slot<$parser>) -> R) -> R {
                    STREAM.with(act)
                }
            }

            $crate::component::bindings::export!(Component with_types_in $crate::component::bindings);
        };
    };
}
