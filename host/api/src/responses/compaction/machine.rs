//! Machine of `/v1/responses/compact`: it has no events, and its body is the compacted
//! conversation.

use schemars::JsonSchema;
use serde::Serialize;

use super::SUMMARY;
use crate::agent::CompactionEvent;
use crate::error::{ApiError, cancelled};
use crate::event_buffer::EventBuffer;
use crate::ids::{Clock, Ids};
use crate::machine::Machine;
use crate::raw::Json;
use crate::responses::items::Item;
use crate::responses::resource::ResponseUsage;
use crate::seal::Seal;
use turn::{TurnEnd, TurnEvent, TurnFailure, Usage};

/// Message of the failure where the summary wasn't whole when its tokens were used up.
const CUT_OFF: &str =
    "The summary was not whole when its tokens were used up; try again, or send a shorter conversation.";

/// A compacted conversation: the users' messages, then one compaction item.
#[derive(Debug, JsonSchema, Serialize)]
pub struct CompactedResponse {
    id: String,
    created_at: u64,
    #[schemars(extend("const" = "response.compaction"))]
    object: &'static str,
    output: Vec<CompactedItem>,
    usage: ResponseUsage,
}

#[derive(Debug, JsonSchema, Serialize)]
#[serde(untagged)]
enum CompactedItem {
    /// A message of a user.
    Message(Json),
    /// The compaction item.
    Compaction(Item),
}

/// The machine of one compaction.
#[derive(Debug)]
pub(super) struct CompactMachine {
    id: String,
    created_at: u64,
    messages: Vec<Json>,
    /// The compaction item, once the summary is there.
    item: Option<Item>,
    ended: Option<Result<ResponseUsage, TurnFailure>>,
    seal: Seal,
    ids: Ids,
}

impl CompactMachine {
    /// A machine that gets its id and time here. `messages` come before the compaction item.
    pub(super) fn new(messages: Vec<Json>, seal: Seal, mut ids: Ids, now: &Clock) -> Self {
        Self { id: ids.next("resp_"), created_at: now.now(), messages, item: None, ended: None, seal, ids }
    }
}

impl Machine for CompactMachine {
    fn begin(&mut self, _buffer: &mut EventBuffer) {}

    fn turn(&mut self, _event: &TurnEvent, _buffer: &mut EventBuffer) {
        debug_assert!(false, "a compaction has no items of a turn");
    }

    fn compaction(&mut self, event: &CompactionEvent, _buffer: &mut EventBuffer) {
        if let CompactionEvent::Ended { summary: Some(summary) } = event {
            let encrypted_content = self.seal.seal(SUMMARY, summary);
            self.item = Some(Item::Compaction { id: self.ids.next("cmp_"), encrypted_content });
        }
    }

    fn heartbeat(&mut self, _buffer: &mut EventBuffer) {}

    fn end(&mut self, end: &TurnEnd, usage: Usage, _buffer: &mut EventBuffer) {
        self.ended = Some(match end {
            TurnEnd::Completed => Ok(usage.into()),
            TurnEnd::Failed(failure) => Err(failure.clone()),
            TurnEnd::Cancelled => Err(cancelled()),
            TurnEnd::MaxOutputTokens => Err(TurnFailure { code: "model_error", message: CUT_OFF.to_owned() }),
        });
    }

    fn body(&self) -> (u16, String) {
        let response = match (&self.ended, &self.item) {
            (Some(Ok(usage)), Some(item)) => {
                let messages = self.messages.iter().cloned().map(CompactedItem::Message);
                CompactedResponse {
                    id: self.id.clone(),
                    created_at: self.created_at,
                    object: "response.compaction",
                    output: messages.chain([CompactedItem::Compaction(item.clone())]).collect(),
                    usage: *usage,
                }
            }
            (Some(Err(failure)), _) => return refused(&ApiError::turn(failure)),
            _ => return refused(&ApiError::internal("The server failed to compact this conversation.")),
        };
        (200, serde_json::to_string(&response).expect("protocol types serialise"))
    }
}

fn refused(error: &ApiError) -> (u16, String) {
    (error.status, error.body())
}
