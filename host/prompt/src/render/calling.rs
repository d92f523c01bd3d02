//! The turn in which a model calls a tool, as its chat template writes it: what the model itself is
//! to write, so the evidence by which its parser is chosen. Source text would prove less, since it
//! may hold markers in comments and in branches that never run.
//!
//! Invariant: the turn's text comes from the template's own output, cut where a token ends the
//! turn. Called by the model room at load.

use super::{ChatFormat, Rendered};
use crate::conversation::{ChatMessage, Conversation, HistoryCall, Role};
use crate::segments::common_prefix;
use crate::variables;

/// A turn of the model with a call of [`CallingTurn::TOOL`] and nothing but reasoning besides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallingTurn {
    /// Beginning of the turn, which the generation prompt writes.
    pub opening: String,
    /// Rest of the turn, up to the token that ends it.
    pub written: String,
}

impl CallingTurn {
    /// Name of the tool that is called.
    pub const TOOL: &str = "q_z";
    /// JSON schema of the tool's arguments.
    pub const PARAMETERS: &str = r#"{"type": "object", "properties": {"q": {"type": "string"}}}"#;
    /// Arguments of the call.
    pub const ARGUMENTS: &str = r#"{"q":"z w"}"#;
    /// Id of the call. Some templates take only ids of nine letters and digits.
    pub const CALL_ID: &str = "qzcall000";
}

impl ChatFormat {
    /// Turns with a call as the template writes them, without and with reasoning; none if it
    /// refuses calls or drops them. `ends` are the ids that end a turn.
    ///
    /// # Errors
    /// The probes of this start took their time; the error is a reason.
    pub fn calling_turns(&self, ends: &[u32]) -> Result<Vec<CallingTurn>, String> {
        let turn = |reasoning| self.calling_turn(reasoning, ends);
        let mut turns: Vec<_> = [None, Some("q z q")].into_iter().filter_map(turn).collect();
        turns.dedup();
        self.probe_time.check().map(|()| turns)
    }

    fn calling_turn(&self, reasoning: Option<&str>, ends: &[u32]) -> Option<CallingTurn> {
        let user = ChatMessage::text(Role::User, "q z");
        let call = HistoryCall {
            id: CallingTurn::CALL_ID.to_owned(),
            name: CallingTurn::TOOL.to_owned(),
            arguments: CallingTurn::ARGUMENTS.to_owned(),
        };
        let reasoning = reasoning.map(str::to_owned);
        let calling =
            ChatMessage { reasoning, tool_calls: vec![call], ..ChatMessage::text(Role::Assistant, "") };
        let result = ChatMessage {
            tool_call_id: Some(CallingTurn::CALL_ID.to_owned()),
            name: Some(CallingTurn::TOOL.to_owned()),
            ..ChatMessage::text(Role::Tool, "q z")
        };
        let written = |messages| {
            let tools = vec![variables::tool(CallingTurn::TOOL)];
            self.written(&Conversation { messages, tools })
        };
        let (before, opening) = written(vec![user.clone()])?;
        let before = text_of(&before);
        let opening = before.clone() + &text_of(&opening);
        // Some templates refuse a call without its result.
        [vec![user.clone(), calling.clone()], vec![user, calling, result]].into_iter().find_map(|messages| {
            let (pieces, _) = written(messages)?;
            let text = text_of(&pieces);
            let start = common_prefix(&before, &text);
            let behind_opening = start + shared_opening(&opening[start..], &text[start..]);
            let mut at = 0;
            let end = pieces.iter().find_map(|(id, piece)| {
                at += piece.len();
                (at > behind_opening && id.is_some_and(|id| ends.contains(&id))).then(|| at - piece.len())
            });
            let written = text.get(behind_opening..end.unwrap_or(text.len()))?;
            let opening = text[start..behind_opening].to_owned();
            let shows = [CallingTurn::TOOL, "z w"].iter().all(|word| written.contains(word));
            shows.then(|| CallingTurn { opening, written: written.to_owned() })
        })
    }

    /// A conversation as the template writes it, and the opening of the turn to generate, both in
    /// pieces; `None` if it refuses them.
    fn written(&self, conversation: &Conversation) -> Option<(Vec<Piece>, Vec<Piece>)> {
        let Rendered { before, turn, .. } = self.run_probed(conversation, &[])?;
        let pieces = |segments: Vec<_>| segments.iter().map(super::replayed).collect();
        Some((pieces(before), pieces(turn)))
    }
}

/// Text, with its id if it is a control token.
type Piece = (Option<u32>, String);

fn text_of(pieces: &[Piece]) -> String {
    pieces.iter().map(|(_, text)| text.as_str()).collect()
}

/// Length of what a turn has in common with the opening of turns, without a part of a marker.
/// Openings may go on with what a turn without reasoning doesn't have, such as `<think>`.
fn shared_opening(opening: &str, turn: &str) -> usize {
    let length = common_prefix(opening, turn);
    if length == opening.len() {
        return length;
    }
    let shared = &turn[..length];
    match shared.rfind(['<', '[']) {
        Some(at) if !shared[at..].contains(['>', ']']) => at,
        _ => length,
    }
}
