//! Splits a model's output with a parser component: text from stdin, items to stdout.
//!
//! ```sh
//! printf '<think>Two and two.</think>Four.' | cargo run --release -p parsers --example split -- plugins/qwen3.wasm
//! ```
#![expect(clippy::print_stdout, reason = "the output")]

use std::error::Error;
use std::path::PathBuf;

use contract::{FinishReason, Request};
use parsers::{ParserLimits, PluginSource, Runtime};
use turn::{Binding, TokenText, Turn, TurnEvents, TurnSettings, counted_call_ids, fold};

fn main() -> Result<(), Box<dyn Error>> {
    let path = PathBuf::from(std::env::args().nth(1).ok_or("usage: split PARSER.wasm < OUTPUT")?);
    let output = std::io::read_to_string(std::io::stdin())?;
    // Once per parser.
    let runtime = Runtime::new(&ParserLimits::default())?;
    let plugin = runtime.load(&PluginSource::File(path), &[])?;
    let binding = Binding::by_text(plugin.descriptor())?;
    // Once per stream.
    let request = Request::default();
    let parser = plugin.start(&request).map_err(|fault| format!("{fault:?}"))?;
    let mut turn = Turn::new(&binding, parser, TurnSettings::of(&request, counted_call_ids()));
    let mut events = TurnEvents::default();
    // The whole text is one piece, so nothing is left to keep back where the turn stops.
    let _ = turn.step(&[TokenText::new(None, &output)], &mut events);
    let end = turn.finish(FinishReason::Stop, None, &mut events);
    for item in fold(events.drain())? {
        println!("{:?} {:?} {:?}", item.head, item.status, item.text);
    }
    println!("{end:?}");
    Ok(())
}
