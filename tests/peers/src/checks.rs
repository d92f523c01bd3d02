//! Checks of a parser: whether it reads a text alike however it is cut, and for how many deltas it
//! puts out nothing.

use readers::{Delta, Record};
use serde_json::Value;

use crate::formats::{Format, Shape, WORD};
use crate::samples::Sample;
use crate::stream::{Count, Cut, Start, difference};

/// Results of the checks of a parser in one format.
pub(crate) struct Checks {
    /// Whether the result is independent of the cuts; `None` if the parser reads tokens only.
    pub(crate) invariant: Option<bool>,
    /// Longest run of deltas without output in prose, and in a string argument.
    pub(crate) silence: [usize; 2],
    /// Notes on faults.
    pub(crate) notes: Vec<String>,
}

pub(crate) fn check(format: &Format, start: &Start, sample: &Sample) -> Checks {
    let mut notes = Vec::new();
    let invariant = start(Cut::Text).is_some().then(|| {
        let whole = parse(start, sample.text, usize::MAX);
        notes.extend(misread(&whole, sample).map(|what| format!("the sample in one piece: {what}")));
        let differs = [1, 3, 7].into_iter().find_map(|chars| {
            let what = difference(&parse(start, sample.text, chars), &whole)?;
            Some(format!("by {chars} characters / in one piece: {what}"))
        });
        let alike = differs.is_none();
        notes.extend(differs);
        alike
    });
    notes.extend(missed(format, start));
    Checks { invariant, silence: silence(format, start), notes }
}

/// Parses the text in chunks of `chars` characters.
fn parse(start: &Start, text: &str, chars: usize) -> Record {
    let (mut stream, mut record, mut rest) =
        (start(Cut::Text).expect("asked before"), Record::default(), text);
    while !rest.is_empty() {
        let end = rest.char_indices().nth(chars).map_or(rest.len(), |(at, _)| at);
        let (text, after) = rest.split_at(end);
        stream.feed(&Delta { text, marker: None, tokens: Vec::new() }, &mut record);
        rest = after;
    }
    stream.finish(&mut record);
    record
}

/// Returns the first difference between what was read and what was written, except white space at
/// the ends of texts.
fn misread(read: &Record, sample: &Sample) -> Option<String> {
    let json = |text: &str| serde_json::from_str::<Value>(text).ok();
    for (what, read, written) in
        [("content", &read.content, sample.content), ("reasoning", &read.reasoning, sample.reasoning)]
    {
        if read.trim() != written {
            return Some(format!("{what} is {read:?}"));
        }
    }
    if read.calls.len() != sample.arguments.len() {
        return Some(format!("{} calls of {}", read.calls.len(), sample.arguments.len()));
    }
    let wrong =
        read.calls.iter().zip(sample.arguments).find(|(call, written)| json(&call.1) != json(written));
    wrong.map(|(call, _)| format!("arguments are {:?}", call.1))
}

/// Returns a note if the parser doesn't read all calls of the streams whose cost is measured.
fn missed(format: &Format, start: &Start) -> Option<String> {
    let deltas = format.deltas(Shape::ManyCalls, 512);
    let (mut stream, mut record) = (start(Cut::Tokens).expect("its own tokens"), Record::default());
    for delta in crate::tokens(format, &deltas) {
        stream.feed(&delta, &mut record);
    }
    stream.finish(&mut record);
    let whole = |call: &&(String, String)| {
        serde_json::from_str::<Value>(&call.1).is_ok_and(|value| value["x"].is_string())
    };
    let (read, written) = (record.calls.iter().filter(whole).count(), format.calls(&deltas));
    (read != written).then(|| format!("of {written} small calls it reads {read}"))
}

fn silence(format: &Format, start: &Start) -> [usize; 2] {
    let deltas = crate::tokens(format, &format.deltas(Shape::OneCall, 1024));
    let (mut stream, mut longest, mut run) = (start(Cut::Tokens).expect("its own tokens"), [0, 0], 0);
    let half = deltas.len() / 2;
    for (at, delta) in deltas.iter().enumerate() {
        let mut sink = Count::default();
        stream.feed(delta, &mut sink);
        run = if sink.0 > 0 || delta.text != WORD { 0 } else { run + 1 };
        let part = usize::from(at >= half);
        longest[part] = longest[part].max(run);
    }
    longest
}
