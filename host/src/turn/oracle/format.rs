//! Markers, settings and short constructors of ops that the oracles' turns share.

use std::sync::Arc;

use crate::parser::contract::{Op, Payload, Route, Run, ToolCall, Trim};
use crate::turn::{MarkerTable, TurnEnd, TurnFailure, TurnSettings};

/// Marker literals of the turns; the last ends the turn.
pub const LITERALS: [&str; 6] = ["<r>", "</r>", "<c>", "</c>", "</c>!", "<end>"];

pub(in crate::turn) fn literals(of: &[&str]) -> Vec<String> {
    of.iter().map(ToString::to_string).collect()
}

/// Token ids of the markers: 100, 101, … in their order.
pub(in crate::turn) fn ids(literal: &str) -> Option<u32> {
    LITERALS.iter().zip(100..).find(|(known, _)| **known == literal).map(|(_, id)| id)
}

pub(in crate::turn) fn settings() -> TurnSettings {
    let table = MarkerTable::by_text(&literals(&LITERALS)).expect("usable literals");
    let mut count = 0;
    TurnSettings {
        stops: Arc::new([5]),
        tools: Arc::new(["weather".into()]),
        held_bytes: 4096,
        call_ids: Box::new(move || {
            count += 1;
            format!("call_{count}")
        }),
        ..TurnSettings::new("test", Arc::new(table))
    }
}

pub(in crate::turn) fn trimming() -> TurnSettings {
    TurnSettings { trim: Trim { reasoning: true, content: true }, ..settings() }
}

pub(in crate::turn) fn bytes(route: Route, bytes: u32) -> Op {
    Op::Bytes(Run { route, bytes })
}

pub(in crate::turn) fn call(name: &str) -> Op {
    Op::ToolCall(ToolCall { name: name.into(), payload: Payload::Json })
}

pub(in crate::turn) fn failure_code(end: &TurnEnd) -> &str {
    if let TurnEnd::Failed(TurnFailure { code, .. }) = end { code } else { "" }
}
