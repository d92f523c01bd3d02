//! What a parser author needs: write a type that implements [`Parser`], hand it to
//! [`export_parser!`], build for wasm32-unknown-unknown.
//!
//! A parser routes bytes, it doesn't write: the host holds the text, and [`Output`] says where it
//! goes and does all the counting. A parser is an ordinary library with ordinary tests (crate
//! `parser-kit` plays the host); the component's bindings exist on wasm32-unknown-unknown only. The
//! meaning of every type stands in `wit/parser-0.1/parser.wit`.
#![deny(missing_docs)]

#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
#[doc(hidden)]
pub mod component;
mod declare;
pub mod json;
pub mod literals;
mod opening;
mod output;
pub mod params;
mod parser;
mod prose;
pub mod sections;
mod stream;
mod tools;

pub use contract::{
    Descriptor, FinishReason, HoldUntil, InString, JsonRest, Note, Op, Parameter, ParameterValue, Payload,
    Reading, Request, Route, Run, SCHEMAS, Segment, Step, Tool, ToolCall, ToolKind, Trim, Types, Until,
};
#[doc(hidden)]
pub use declare::index_of;
pub use opening::LastOpening;
pub use output::Output;
pub use parser::Parser;
pub use prose::Prose;
pub use stream::Stream;
pub use tools::{Tools, begins_plausibly, is_plausible};

/// Exports a [`Parser`] as the component's `parser` interface. On any target but
/// wasm32-unknown-unknown it expands to nothing.
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
                // SAFETY: the canonical ABI: the host had the block allocated for this call, and
                // filled it with UTF-8.
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
