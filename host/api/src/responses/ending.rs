//! Ends of stored responses that no machine tells, since none runs them: the events so far are
//! folded, what is open is broken off, and the end is put behind it. Invariant: a log and its
//! closing events add up to the response that is stored.

use std::collections::HashSet;

use serde_json::{Value, json};
use store::{Chunk, End, Status, StoredItem};

use super::events::SequenceNumbers;
use super::fold::Fold;
use super::hosted::OutputSink;
use super::items::{self, Item as OutputItem};
use super::open_item::{EventSink, OpenItem};
use crate::event_buffer::EventBuffer;
use crate::ids::Ids;
use turn::TurnFailure;

/// Why a response ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Its client cancelled it.
    Cancelled,
    /// Its process is gone.
    Lost,
    /// It couldn't be run.
    Failed(TurnFailure),
}

impl Ending {
    /// The end of the response whose `object` was stored when it began. `log` is all of its log, of
    /// one that has a log; of one that can't be read, its length, behind which the end has no output.
    pub fn end(self, object: &str, log: Option<FoldedLog>) -> End {
        let mut response: Value = serde_json::from_str(object).unwrap_or_else(|_| json!({}));
        let (status, failure) = self.outcome();
        let mut log = log.map(ClosingLog::behind);
        if let Some(log) = &mut log {
            response["status"] = json!("in_progress");
            response["output"] = log.fold.output();
            log.add("response.in_progress", json!({ "response": response }));
            log.break_off(failure.as_ref().map_or("The response was cancelled.", |failure| &failure.1));
        }
        let output = log.as_ref().map_or_else(|| json!([]), |log| log.fold.output());
        let mut kind = "response.incomplete";
        response["status"] = json!("cancelled");
        if let Some((code, message)) = failure {
            kind = "response.failed";
            response["status"] = json!("failed");
            response["error"] = json!({ "code": code, "message": message });
            if let Some(log) = &mut log {
                log.add("error", json!({ "code": code, "message": message, "param": null }));
            }
        }
        if let Some(log) = &mut log {
            response["output"] = output.clone();
            log.add(kind, json!({ "response": response }));
        }
        response["output"] = json!([]);
        End {
            status,
            result: response.to_string().into_bytes(),
            output: output.as_array().into_iter().flatten().map(stored_item).collect(),
            last: log.map(ClosingLog::into_chunk),
        }
    }

    /// The status, and code and message of a failure.
    fn outcome(self) -> (Status, Option<(&'static str, String)>) {
        match self {
            Self::Cancelled => (Status::Cancelled, None),
            Self::Lost => {
                let message = "Its server stopped before the response ended.".to_owned();
                (Status::Failed, Some(("server_error", message)))
            }
            Self::Failed(failure) => {
                (Status::Failed, Some((super::machine::error_code(failure.code), failure.message)))
            }
        }
    }
}

/// What the events of a log add up to. They are read in pieces, none of which is kept.
#[derive(Debug, Default)]
pub struct FoldedLog {
    fold: Fold,
    /// Output indices of the calls whose text has ended.
    written: HashSet<usize>,
    events: u64,
    bytes: u64,
}

impl FoldedLog {
    /// A log of so many events, of which nothing else is known.
    pub fn unread(events: u64) -> Self {
        Self { events, ..Self::default() }
    }

    /// Adds the next events. One that doesn't fit adds nothing.
    pub fn add(&mut self, events: &[Vec<u8>]) {
        self.events += events.len() as u64;
        for event in events {
            let bytes = event.len();
            let Ok(event) = serde_json::from_slice::<Value>(event) else { continue };
            self.bytes += growth(&event, bytes) as u64;
            let is_written = event["type"].as_str().is_some_and(|kind| {
                ["arguments.done", "code.done", ".searching"].iter().any(|end| kind.ends_with(end))
            });
            if let Some(index) = event["output_index"].as_u64().filter(|_| is_written) {
                self.written.extend(usize::try_from(index));
            }
            let _ = self.fold.add(&event);
        }
    }

    /// Number of its events.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// At least as many bytes as its items have.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// All items so far, those that are open as well.
    pub fn output(&self) -> Vec<StoredItem> {
        self.fold.items().iter().map(|so_far| stored_item(&so_far.item)).collect()
    }
}

/// Most bytes that an event of so many `bytes` adds to the items.
fn growth(event: &Value, bytes: usize) -> usize {
    match event["delta"].as_str() {
        Some(delta) if event["logprobs"].as_array().is_none_or(Vec::is_empty) => delta.len(),
        _ if event.get("response").is_some() => 0,
        _ => bytes,
    }
}

/// A log, and the events that are put behind it.
struct ClosingLog {
    fold: Fold,
    written: HashSet<usize>,
    next: u64,
    events: Vec<Vec<u8>>,
}

impl ClosingLog {
    fn behind(log: FoldedLog) -> Self {
        let FoldedLog { fold, written, events, .. } = log;
        Self { fold, written, next: events, events: Vec::new() }
    }

    /// Ends the items that are open, as their machine does when its answer is aborted.
    fn break_off(&mut self, reason: &str) {
        let items = self.fold.items();
        let read = items.iter().map(|one| serde_json::from_value(one.item.clone()));
        // A log with items that this version doesn't know keeps the items that are done.
        let Ok(mut output) = read.collect::<Result<Vec<OutputItem>, _>>() else { return };
        let (mut sequence, mut ids) = (SequenceNumbers::after(self.number()), Ids::random());
        let mut buffer = EventBuffer::new();
        for (index, _) in items.iter().enumerate().filter(|(_, one)| !one.is_done) {
            if let OutputItem::Hosted(_) = &output[index] {
                let (output, sequence, ids) = (&mut output, &mut sequence, &mut ids);
                let mut out = OutputSink { output, sequence, ids, buffer: &mut buffer };
                out.break_off(index, self.written.contains(&index), reason);
            } else if let Some(open) = OpenItem::announced(output[index].clone(), index) {
                let out = EventSink { sequence: &mut sequence, buffer: &mut buffer };
                open.end(items::Status::Incomplete, None, out);
            }
        }
        for (_, json) in buffer.iter() {
            let event = serde_json::from_slice(json).expect("an event is JSON");
            let _ = self.fold.add(&event);
            self.events.push(json.to_vec());
        }
    }

    /// Number of the next event.
    fn number(&self) -> u64 {
        self.next + self.events.len() as u64
    }

    fn add(&mut self, kind: &str, body: Value) {
        let mut event = json!({ "type": kind, "sequence_number": self.number() });
        if let (Value::Object(event), Value::Object(body)) = (&mut event, body) {
            event.extend(body);
        }
        self.events.push(event.to_string().into_bytes());
    }

    fn into_chunk(self) -> Chunk {
        Chunk { first: self.next, events: self.events }
    }
}

fn stored_item(item: &Value) -> StoredItem {
    let id = item["id"].as_str().unwrap_or_default().to_owned();
    StoredItem { id, body: item.to_string().into_bytes() }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Protocol;

    /// Kinds that their machine writes together with the event before them.
    const JOINED: [&str; 10] = [
        "part.added",
        "part.done",
        "output_item.done",
        "_code.done",
        "list_tools.in_progress",
        "_call.in_progress",
        "_command.added",
        "_command.delta",
        "_command.done",
        "response.failed",
    ];

    fn recorded() -> Vec<Vec<Value>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/testdata");
        let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let is_stream = |path: &std::path::PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with("responses-") && path.extension().is_some_and(|extension| extension == "sse")
        };
        let events = |path: std::path::PathBuf| {
            let stream = std::fs::read_to_string(path).unwrap();
            let data = stream.lines().filter_map(|line| line.strip_prefix("data: {"));
            data.map(|json| serde_json::from_str(&format!("{{{json}")).unwrap()).collect()
        };
        paths.filter(is_stream).map(events).collect()
    }

    #[test]
    fn log_cut_anywhere_is_closed_and_matches_the_store() {
        let mut broken_off = 0;
        for events in recorded() {
            let object = events[0]["response"].to_string();
            for cut in 1..events.len() {
                let kind = events[cut]["type"].as_str().unwrap();
                if JOINED.iter().any(|end| kind.ends_with(end)) {
                    continue;
                }
                for ending in [Ending::Cancelled, Ending::Lost] {
                    let log: Vec<Vec<u8>> =
                        events[..cut].iter().map(|event| event.to_string().into_bytes()).collect();
                    let mut folded = FoldedLog::default();
                    log.chunks(7).for_each(|events| folded.add(events));
                    let end = ending.end(&object, Some(folded));
                    let last = end.last.unwrap();
                    assert_eq!(last.first, cut as u64);
                    let mut check = Protocol::Responses.check();
                    let mut fold = Fold::default();
                    for event in log.iter().chain(&last.events) {
                        let value: Value = serde_json::from_slice(event).unwrap();
                        let kind = value["type"].as_str().unwrap();
                        let framed = format!("event: {kind}\ndata: {value}\n\n");
                        assert_eq!(check.feed(framed.as_bytes()), Ok(()), "{cut}: {value}");
                        fold.add(&value).unwrap();
                    }
                    assert_eq!(check.feed(b"data: [DONE]\n\n").and_then(|()| check.finish()), Ok(()));
                    let added =
                        events[..cut].iter().filter(|event| event["type"] == "response.output_item.added");
                    assert_eq!(end.output.len(), added.count(), "no item is left out");
                    let stored = crate::responses::stored::whole(&end.result, &end.output);
                    assert_eq!(fold.whole(), serde_json::from_slice::<Value>(&stored).unwrap());
                    broken_off += 1;
                }
            }
        }
        assert!(broken_off > 300, "{broken_off}");
    }
}
