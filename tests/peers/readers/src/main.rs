//! Has other projects' parsers read turns: a turn as JSON in a line on standard input, what is read of it in a line on standard output.
//!
//! A line is a project's name, its parsers' names, the request, the turn's chunks, and whether they come one by one. The answer is what the
//! parsers made of it, `{"panic": …}`, or `null` if the project has none of these names.
#![allow(clippy::print_stdout, reason = "its result is what it prints")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use readers::{Delta, Names, PROJECTS, Record, Request, harmony};
use serde::Deserialize;
use serde_json::{Value, json};

/// Turn to read.
#[derive(Deserialize)]
struct Turn {
    project: String,
    #[serde(flatten)]
    names: Names,
    #[serde(flatten)]
    request: Request,
    pieces: Vec<String>,
    streamed: bool,
}

/// Returns what the project's parsers read of the turn.
fn read(turn: &Turn) -> Option<Record> {
    let (_, start) = PROJECTS.iter().find(|(name, _)| *name == turn.project).expect("a known project");
    let mut stream = start(&turn.names, &turn.request)?;
    let mut record = Record::default();
    let delta = |text| Delta { text, marker: None, tokens: harmony::tokens(&turn.names, text) };
    let deltas: Vec<Delta<'_>> = turn.pieces.iter().map(|piece| delta(piece)).collect();
    if turn.streamed {
        for delta in &deltas {
            stream.feed(delta, &mut record);
        }
        stream.finish(&mut record);
    } else {
        stream.whole(&deltas, &mut record);
    }
    Some(record)
}

/// Returns the line that answers a turn's.
fn answer(turn: &Turn) -> Value {
    match catch_unwind(AssertUnwindSafe(|| read(turn))) {
        Ok(record) => json!(record),
        Err(panic) => {
            json!({"panic": panic.downcast_ref::<String>().map_or("its parser panicked", String::as_str)})
        }
    }
}

fn main() {
    harmony::find_vocabulary();
    for line in std::io::stdin().lines() {
        let turn: Turn = serde_json::from_str(&line.expect("a line")).expect("a turn");
        println!("{}", answer(&turn));
    }
}
