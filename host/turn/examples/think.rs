//! Splits a model's output into reasoning and content, with a parser in plain Rust. The parser says
//! where bytes go; the turn holds and counts them, and finds the markers however the text is cut.
//!
//! ```sh
//! printf '<think>Two and two.</think>Four.' | cargo run --release -p sluice-turn --example think
//! ```
#![expect(clippy::print_stdout, reason = "the output")]

use std::error::Error;

use contract::{Descriptor, Fault, FinishReason, Op, Request, Route, Run, Step, StreamParser};
use turn::{Binding, Flow, TokenText, Turn, TurnEvents, TurnSettings, counted_call_ids, fold};

/// Markers of the format, by their index.
const MARKERS: [&str; 2] = ["<think>", "</think>"];

/// Where text goes at this place of the stream.
struct Think(Route);

impl StreamParser for Think {
    fn text(&mut self, chunk: &str) -> Result<Step, Fault> {
        Ok(route(self.0, chunk))
    }

    fn marker(&mut self, index: u32) -> Result<Step, Fault> {
        self.0 = if index == 0 { Route::Reasoning } else { Route::Content };
        Ok(route(Route::Drop, MARKERS[index as usize]))
    }

    fn finish(&mut self, _: FinishReason) -> Result<Step, Fault> {
        Ok(Step::Hold)
    }
}

/// Routes all of `text`.
fn route(route: Route, text: &str) -> Step {
    let bytes = u32::try_from(text.len()).expect("the turn gives short texts");
    Step::Ops(vec![Op::Bytes(Run { route, bytes })])
}

fn main() -> Result<(), Box<dyn Error>> {
    let output = std::io::read_to_string(std::io::stdin())?;
    let descriptor = Descriptor { markers: MARKERS.map(str::to_owned).into(), ..Descriptor::default() };
    let settings = TurnSettings::of(&Request::default(), counted_call_ids());
    let mut turn = Turn::new(&Binding::by_text(&descriptor)?, Think(Route::Content), settings);
    let mut events = TurnEvents::default();
    // Cut into characters, as a slow model writes them.
    for (at, letter) in output.char_indices() {
        let piece = TokenText::new(None, &output[at..at + letter.len_utf8()]);
        if turn.step(&[piece], &mut events) == Flow::Stop {
            break;
        }
    }
    let end = turn.finish(FinishReason::Stop, None, &mut events);
    for item in fold(events.drain())? {
        println!("{:?} {:?} {:?}", item.head, item.status, item.text);
    }
    println!("{end:?}");
    Ok(())
}
