//! Markers, settings and short constructors of ops that the oracles' turns share.

use std::sync::Arc;

use contract::{Descriptor, Op, Payload, Request, Route, Run, ToolCall, ToolKind, Trim};

use crate::values::tool;
use crate::{Binding, TurnEnd, TurnFailure, TurnSettings, counted_call_ids};

/// Marker literals of the turns; the last ends the turn.
pub const LITERALS: [&str; 6] = ["<r>", "</r>", "<c>", "</c>", "</c>!", "<end>"];

pub(crate) fn literals(of: &[&str]) -> Vec<String> {
    of.iter().map(ToString::to_string).collect()
}

/// Token ids of the markers: 100, 101, … in their order.
pub(crate) fn ids(literal: &str) -> Option<u32> {
    LITERALS.iter().zip(100..).find(|(known, _)| **known == literal).map(|(_, id)| id)
}

/// Binding of a parser that has these markers and drops white space or not; markers are tokens
/// where `by_id` is true.
pub(crate) fn binding(by_id: bool, trim: bool) -> Arc<Binding> {
    let descriptor = Descriptor {
        name: "test".into(),
        markers: literals(&LITERALS),
        stops: vec![5],
        trim: Trim { reasoning: trim, content: trim },
        ..Descriptor::default()
    };
    Binding::new(&descriptor, |literal| by_id.then(|| ids(literal))?).expect("usable literals")
}

pub(crate) fn settings() -> TurnSettings {
    TurnSettings {
        tools: Arc::new([tool("weather", ToolKind::Function, "")]),
        held_bytes: 4096,
        ..TurnSettings::of(&Request::default(), counted_call_ids())
    }
}

pub(crate) fn bytes(route: Route, bytes: u32) -> Op {
    Op::Bytes(Run { route, bytes })
}

pub(crate) fn call(name: &str) -> Op {
    Op::ToolCall(ToolCall::new(name, Payload::Json))
}

pub(crate) fn failure_code(end: &TurnEnd) -> &str {
    if let TurnEnd::Failed(TurnFailure { code, .. }) = end { code } else { "" }
}
