//! Ends of stored responses that no machine tells, since none runs them: the events so far are folded, and the end is put behind them.

use serde_json::{Value, json};
use store::{Chunk, End, Item, Status};

use super::fold::Fold;
use turn::TurnFailure;

/// Why a response ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Its client cancelled it.
    Cancelled,
    /// Its process is gone.
    Lost,
    /// It couldn't be run.
    Failed(TurnFailure),
}

impl Ending {
    /// The end of the response whose `object` was stored when it began. `events` are all of its log, of one that has a log. Items that were not
    /// done are left out of its output.
    pub(crate) fn end(self, object: &str, events: Option<&[Vec<u8>]>) -> End {
        let mut response: Value = serde_json::from_str(object).unwrap_or_else(|_| json!({}));
        let mut fold = Fold::default();
        for event in events.unwrap_or_default() {
            // An event that doesn't fit adds nothing.
            let _ = serde_json::from_slice(event).map(|event: Value| fold.add(&event));
        }
        let output = fold.whole()["output"].take();
        let mut log = events.map(|events| Closing { next: events.len() as u64, events: Vec::new() });
        if let Some(log) = &mut log {
            response["status"] = json!("in_progress");
            response["output"] = output.clone();
            log.add("response.in_progress", json!({ "response": response }));
        }
        let status = self.close(&mut response, &output, log.as_mut());
        response["output"] = json!([]);
        End {
            status,
            result: response.to_string().into_bytes(),
            output: output.as_array().into_iter().flatten().map(stored_item).collect(),
            last: log.map(Closing::into_chunk),
        }
    }

    /// Writes the end into the response, and its events into the log.
    fn close(self, response: &mut Value, output: &Value, mut log: Option<&mut Closing>) -> Status {
        let (status, kind) = match &self {
            Self::Cancelled => (Status::Cancelled, "response.incomplete"),
            Self::Lost | Self::Failed(_) => (Status::Failed, "response.failed"),
        };
        let failure = match self {
            Self::Cancelled => None,
            Self::Lost => Some(("server_error", "Its server stopped before the response ended.".to_owned())),
            Self::Failed(failure) => Some((super::machine::error_code(failure.code), failure.message)),
        };
        response["status"] = json!(if failure.is_some() { "failed" } else { "cancelled" });
        if let Some((code, message)) = failure {
            response["error"] = json!({ "code": code, "message": message });
            if let Some(log) = &mut log {
                log.add("error", json!({ "code": code, "message": message, "param": null }));
            }
        }
        response["output"] = output.clone();
        if let Some(log) = log {
            log.add(kind, json!({ "response": response }));
        }
        status
    }
}

/// Events behind those of a log.
struct Closing {
    next: u64,
    events: Vec<Vec<u8>>,
}

impl Closing {
    fn add(&mut self, kind: &str, body: Value) {
        let mut event = json!({ "type": kind, "sequence_number": self.next + self.events.len() as u64 });
        if let (Value::Object(event), Value::Object(body)) = (&mut event, body) {
            event.extend(body);
        }
        self.events.push(event.to_string().into_bytes());
    }

    fn into_chunk(self) -> Chunk {
        Chunk { first: self.next, events: self.events }
    }
}

fn stored_item(item: &Value) -> Item {
    let id = item["id"].as_str().unwrap_or_default().to_owned();
    Item { id, body: item.to_string().into_bytes() }
}
