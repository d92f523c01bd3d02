//! The component's side, on wasm32-unknown-unknown only: bindings from the WIT file, and the
//! translation between them and [`contract`].
//!
//! Invariant: one stream per instance, kept in a static of the parser's own crate (`export_parser!`
//! declares it). A call before `start` is a fault, not a trap.
//!
//! The three exports that a stream calls (`text`, `marker`, `finish`) are written by hand: an
//! answer stays in the instance until the next call, so the host need not call back to free it.

use std::slice;

use crate::output::StepRef;
use crate::parser::Parser;
use crate::stream::Stream;
pub use answer::Lowered;
use bindings::exports::sluice::parser::parser as wit;
use contract as plain;

mod answer;
#[allow(
    unsafe_code,
    clippy::cast_ptr_alignment,
    reason = "an allocator deals in raw memory; its blocks are aligned"
)]
mod blocks;
#[allow(unsafe_code, reason = "likewise")]
mod memory;

/// Generated from `wit/parser-0.1`. `generate!` resolves that path from the folder of this crate,
/// whichever crate depends on it.
#[allow(missing_docs, unsafe_code, unreachable_pub, clippy::pedantic, reason = "generated")]
pub mod bindings {
    wit_bindgen::generate!({
        path: "wit/parser-0.1",
        world: "plugin",
        skip: ["text", "marker", "finish"],
        pub_export_macro: true,
    });
}

/// State that lives as long as the instance: its stream, and the answer that the host reads.
pub struct Instance<P> {
    stream: Option<Stream<P>>,
    answer: Lowered,
}

impl<P: Parser> Instance<P> {
    /// An instance before `start`.
    pub const EMPTY: Self = Self { stream: None, answer: Lowered::HOLD };

    /// Export `text`.
    ///
    /// # Safety
    /// `chunk` is a block of `bytes` bytes that nobody else owns, filled with UTF-8.
    #[allow(unsafe_code, reason = "the chunk comes as the canonical ABI lowers it")]
    pub unsafe fn text(&mut self, chunk: *mut u8, bytes: usize) -> *const Lowered {
        // SAFETY: the caller passes a block of `bytes` bytes of UTF-8; a host checks every string
        // that it passes to a component.
        let text = unsafe { str::from_utf8_unchecked(slice::from_raw_parts(chunk, bytes)) };
        let answer = self.answer(|stream| stream.read(text));
        // SAFETY: nobody else owns the block, the host had it from this allocator, and `text` isn't
        // used any more.
        unsafe { memory::free(chunk, bytes) };
        answer
    }

    /// Export `marker`.
    pub fn marker(&mut self, index: u32) -> *const Lowered {
        self.answer(|stream| stream.meet(index))
    }

    /// Export `finish`.
    pub fn finish(&mut self, reason: u32) -> *const Lowered {
        let reason = match reason {
            0 => plain::FinishReason::Stop,
            1 => plain::FinishReason::Length,
            _ => plain::FinishReason::Cancelled,
        };
        self.answer(|stream| stream.end(reason))
    }

    fn answer(&mut self, call: impl FnOnce(&mut Stream<P>) -> StepRef<'_>) -> *const Lowered {
        self.answer.set(match &mut self.stream {
            Some(stream) => call(stream),
            None => StepRef::Fault("called before start"),
        })
    }
}

/// Implemented by `export_parser!`: the parser type and access to its one instance.
pub trait Export {
    /// The parser type.
    type Parser: Parser + 'static;

    /// Calls `act` with the component's one instance.
    fn instance<R>(act: impl FnOnce(&mut Instance<Self::Parser>) -> R) -> R;
}

impl<E: Export> wit::Guest for E {
    fn describe(options: Vec<(String, String)>) -> Result<wit::Descriptor, String> {
        E::Parser::describe(&options).map(descriptor)
    }

    fn start(request: wit::Request) -> Result<(), String> {
        let stream = Stream::start(&plain_request(request))?;
        E::instance(|instance| instance.stream = Some(stream));
        Ok(())
    }
}

fn descriptor(plain: plain::Descriptor) -> wit::Descriptor {
    let mut trim = wit::Trim::empty();
    trim.set(wit::Trim::REASONING, plain.trim.reasoning);
    trim.set(wit::Trim::CONTENT, plain.trim.content);
    wit::Descriptor {
        name: plain.name,
        version: plain.version,
        models: plain.models,
        markers: plain.markers,
        stops: plain.stops,
        trim,
        history_call_ids: plain.history_call_ids,
        grammar: plain.grammar,
        reasoning_end: plain.reasoning_end,
        needs: plain.needs,
        properties: plain.properties,
    }
}

fn plain_request(request: wit::Request) -> plain::Request {
    plain::Request {
        tools: request.tools.into_iter().map(plain_tool).collect(),
        token_markers: request.token_markers,
        options: request.options,
    }
}

fn plain_tool(tool: wit::Tool) -> plain::Tool {
    let parameter = |parameter: wit::Parameter| plain::Parameter {
        name: parameter.name,
        types: plain::Types::from_bits(parameter.types.bits()),
    };
    plain::Tool {
        name: tool.name,
        kind: match tool.kind {
            wit::ToolKind::Function => plain::ToolKind::Function,
            wit::ToolKind::Custom => plain::ToolKind::Custom,
        },
        parameters: tool.parameters.into_iter().map(parameter).collect(),
        others: plain::Types::from_bits(tool.others.bits()),
        schema: tool.schema,
    }
}
