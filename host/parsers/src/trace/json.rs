//! Calls of a parser as JSON, for traces (docs/inspector.md). Names are those of `wit/`.

use serde_json::{Value, json};

use super::{CallInput, ParserCall};
use contract::{
    FinishReason, HoldUntil, InString, JsonRest, Note, Op, ParameterValue, Payload, Reading, Route, Run,
    Segment, Step, ToolCall, Until,
};

impl ParserCall {
    /// The call: what was asked, and the answer.
    pub fn to_json(&self) -> Value {
        let (key, input) = match &self.input {
            CallInput::Text(text) => ("text", json!(text)),
            CallInput::Marker(index) => ("marker", json!(index)),
            CallInput::Finish(reason) => ("finish", json!(finish(*reason))),
        };
        let answer = match &self.answer {
            Ok(Step::Pass) => json!("pass"),
            Ok(Step::Hold) => json!("hold"),
            Ok(Step::HoldUntil(hold)) => json!({ "hold-until": hold_until(*hold) }),
            Ok(Step::Fault(words)) => json!({ "fault": words }),
            Ok(Step::Ops(ops)) => ops.iter().map(op).collect(),
            Err(fault) => json!({ "fault": fault.in_full() }),
        };
        json!({ key: input, "answer": answer })
    }
}

fn finish(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::Cancelled => "cancelled",
    }
}

fn op(op: &Op) -> Value {
    match op {
        Op::Bytes(Run { route, bytes }) => json!({ "op": "bytes", "route": name(*route), "bytes": bytes }),
        Op::UntilMarker(route) => json!({ "op": "until-marker", "route": name(*route) }),
        Op::UntilByte(Until { route, bytes }) => {
            json!({ "op": "until-byte", "route": name(*route), "ends": bytes })
        }
        Op::UntilJson(JsonRest { route, depth, in_string }) => {
            let in_string = *in_string != InString::No;
            json!({ "op": "until-json", "route": name(*route), "depth": depth, "in-string": in_string })
        }
        Op::Message(phase) => json!({ "op": "message", "phase": phase }),
        Op::ToolCall(ToolCall { name, payload, id }) => {
            let mut call = json!({ "op": "tool-call", "name": name, "payload": payload_name(*payload) });
            if let Some(id) = id {
                call["id"] = json!(id);
            }
            call
        }
        Op::Close => json!({ "op": "close" }),
        Op::BrokenCall => json!({ "op": "broken-call" }),
        Op::DerivedArguments(text) => json!({ "op": "derived-arguments", "text": text }),
        Op::Parameter(ParameterValue { path, reading }) => {
            let path: Vec<Value> = path.iter().map(segment).collect();
            json!({ "op": "parameter", "path": path, "reading": reading_name(*reading) })
        }
        Op::ParameterEnd => json!({ "op": "parameter-end" }),
        Op::HoldUntil(hold) => {
            let mut json = hold_until(*hold);
            json["op"] = json!("hold-until");
            json
        }
        Op::Note(Note { name, data }) => json!({ "op": "note", "name": name, "data": data }),
    }
}

fn hold_until(HoldUntil { ends, at_most }: HoldUntil) -> Value {
    let ends: String = ends.iter().filter(|byte| **byte != 0).map(|byte| char::from(*byte)).collect();
    json!({ "ends": ends, "at-most": at_most })
}

fn segment(segment: &Segment) -> Value {
    match segment {
        Segment::Key(key) | Segment::Element { name: key, .. } => json!(key),
        Segment::Item(index) => json!(index),
    }
}

/// Name of a payload.
pub fn payload_name(payload: Payload) -> &'static str {
    match payload {
        Payload::Json => "json",
        Payload::Text => "text",
    }
}

fn reading_name(reading: Reading) -> &'static str {
    match reading {
        Reading::Declared => "declared",
        Reading::Text => "text",
        Reading::Json => "json",
    }
}

fn name(route: Route) -> &'static str {
    match route {
        Route::Content => "content",
        Route::Reasoning => "reasoning",
        Route::Arguments => "arguments",
        Route::ArgumentsEscaped => "arguments-escaped",
        Route::ArgumentsUnescaped => "arguments-unescaped",
        Route::Value => "value",
        Route::Drop => "drop",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::Fault;

    #[test]
    fn calls_have_the_names_of_the_contract() {
        let call = |input, answer| ParserCall { input, answer }.to_json();
        let ops = vec![
            Op::Bytes(Run { route: Route::Drop, bytes: 3 }),
            Op::ToolCall(ToolCall::new("f", Payload::Json)),
            Op::UntilJson(JsonRest { route: Route::Arguments, depth: 1, in_string: InString::Yes }),
            Op::Close,
        ];
        assert_eq!(
            call(CallInput::Text("{".to_owned()), Ok(Step::Ops(ops))),
            json!({ "text": "{", "answer": [
                { "op": "bytes", "route": "drop", "bytes": 3 },
                { "op": "tool-call", "name": "f", "payload": "json" },
                { "op": "until-json", "route": "arguments", "depth": 1, "in-string": true },
                { "op": "close" },
            ] })
        );
        assert_eq!(call(CallInput::Marker(2), Ok(Step::Hold)), json!({ "marker": 2, "answer": "hold" }));
        assert_eq!(
            call(CallInput::Finish(FinishReason::Length), Err(Fault::new("p", "it trapped"))),
            json!({ "finish": "length", "answer": { "fault": "it trapped" } })
        );
    }
}
