//! Splits a model's output with a parser component: text from stdin, items to stdout.
//!
//! ```sh
//! printf '<think>Two and two.</think>Four.' | cargo run --release -p sluice-parsers --example split -- plugins/qwen3.wasm
//! ```
#![expect(clippy::print_stdout, reason = "the output")]

use std::error::Error;
use std::path::PathBuf;

use contract::{FinishReason, Request};
use parsers::{ParserLimits, PluginSource, Runtime};
use turn::fold;

fn main() -> Result<(), Box<dyn Error>> {
    let path = PathBuf::from(std::env::args().nth(1).ok_or("usage: split PARSER.wasm < OUTPUT")?);
    let output = std::io::read_to_string(std::io::stdin())?;
    // Once per parser.
    let runtime = Runtime::without_signals(&ParserLimits::default())?;
    let plugin = runtime.load(&PluginSource::File(path), &[])?;
    // Once per tokenizer: here there is none, and markers are found in the text.
    let bound = plugin.bind(|_| None)?;
    // Once per stream. The prompt is what the chat template wrote of the model's turn.
    let mut stream = bound.start(&Request::default(), "<|im_start|>assistant\n")?;
    let mut events = stream.push(&output, &[], None)?.to_vec();
    let (last, end) = stream.finish(FinishReason::Stop, None);
    events.extend_from_slice(last);
    for item in fold(events)? {
        println!("{:?} {:?} {:?}", item.head, item.status, item.text);
    }
    println!("{end:?}");
    Ok(())
}
