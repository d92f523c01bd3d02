//! Trial of a parser on the turns with a call that a model's chat template writes. The parser of
//! that model reads them; no other evidence is as good, since it needs no format's name and no
//! marker's meaning.
//!
//! Called by the loader, for candidates whose markers make them likely.

use std::sync::Arc;

use super::binding::ParserBinding;
use crate::job::Job;
use contract::{FinishReason, ToolKind};
use grammar::{Demand, ToolDefinition};
use parsers::Plugin;
use prompt::{CallingTurn, spell_call_id};
use turn::{
    FaultPolicy, FoldedItem, ItemHead, ItemStatus, TokenText, TurnEnd, TurnEvents, counted_call_ids, fold,
};

/// Most bytes that a parser may hold in a trial.
const HELD_BYTES: usize = 1 << 20;

/// Returns how many of the turns the parser reads: the call is whole, and all text before it is
/// reasoning. Markers are matched in the text.
pub(super) fn turns_read(
    plugin: &Arc<Plugin>,
    options: &[(String, String)],
    turns: &[CallingTurn],
) -> Option<usize> {
    let parser = ParserBinding::bind(Arc::clone(plugin), options.to_vec(), &[], |_| None).ok()?;
    let pattern = parser.descriptor().history_call_ids.as_deref();
    let spelt = pattern.map(|pattern| spell_call_id(pattern, CallingTurn::TOOL, 0));
    let call_id = spelt.as_deref().unwrap_or(CallingTurn::CALL_ID);
    let demand = Demand { tools: vec![tool()], parallel_tool_calls: true, ..Demand::default() };
    let request = parser.request(&Job { demand, ..Job::default() });
    let reads = |turn: &&CallingTurn| {
        let opening = vec![(None, turn.opening.clone())];
        let start = parser.start(&request, opening, FaultPolicy::Fail, HELD_BYTES, counted_call_ids());
        let mut events = TurnEvents::default();
        let (mut running, _) = start.open(&mut events);
        let written = turn.written.replace(CallingTurn::CALL_ID, call_id);
        let _ = running.step(&[TokenText::new(None, &written)], &mut events);
        let end = running.finish(FinishReason::Stop, None, &mut events);
        end == TurnEnd::Completed && fold(events.drain()).is_ok_and(|items| is_call(&items))
    };
    Some(turns.iter().filter(reads).count())
}

/// Whether the items begin with the call, reasoning aside. What follows may be the end of the turn,
/// which a parser needn't know.
fn is_call(items: &[FoldedItem]) -> bool {
    let first = items.iter().find(|item| item.head != ItemHead::Reasoning);
    let Some(FoldedItem { head: ItemHead::ToolCall { name, .. }, text, status: ItemStatus::Completed }) =
        first
    else {
        return false;
    };
    let json = |text| serde_json::from_str::<serde_json::Value>(text).ok();
    name == CallingTurn::TOOL && json(text) == json(CallingTurn::ARGUMENTS)
}

fn tool() -> ToolDefinition {
    ToolDefinition {
        name: CallingTurn::TOOL.to_owned(),
        kind: ToolKind::Function,
        schema: CallingTurn::PARAMETERS.to_owned(),
        strict: false,
        grammar: None,
    }
}
