//! Reader of `context_management` and of `compaction`: what of a long conversation is left out or
//! summarised before it is answered.

use std::sync::Arc;

use super::fields;
use crate::agent::{ClearedResults, Clearing, Compaction, Occasion, ToolInputs, Trigger};
use crate::error::ApiError;
use crate::json::{Field, JsonObject, List, Required, Value};
use crate::request::Defaults;
use crate::warnings::Warnings;

/// Tokens and results by which the protocol decides where a request doesn't.
const TRIGGER_TOKENS: u32 = 100_000;
const COMPACTION_TOKENS: u32 = 150_000;
const KEPT_RESULTS: u32 = 3;
const KEPT_THOUGHTS: u32 = 1;

/// Most edits of a request, each of which may count the prompt's tokens once more.
const MOST_EDITS: usize = 8;

/// What a count has.
const NUMBER: Required<u32> = Field::new("value", "").required();

/// What a request wants left out and summarised.
#[derive(Debug, Default)]
pub(super) struct ContextEdits {
    pub(super) clearing: Vec<Clearing>,
    pub(super) compaction: Option<Compaction>,
}

/// Reads what `body` wants.
///
/// # Errors
/// 400 for edits that are unknown or say too little.
pub(super) fn read(
    body: &JsonObject<'_>,
    defaults: &Defaults,
    warnings: &mut Warnings,
) -> Result<ContextEdits, ApiError> {
    let mut edits = ContextEdits::default();
    if let Some(asked) = body.get(fields::COMPACTION)? {
        if body.value(fields::CONTEXT_MANAGEMENT).is_some() {
            return Err(body
                .at(fields::COMPACTION)
                .invalid("it can't be combined with `context_management`"));
        }
        if asked.require(fields::TYPE)? != "summarize" {
            return Err(asked.at(fields::TYPE).invalid("expected \"summarize\""));
        }
        edits.compaction = Some(compaction(&asked, Occasion::Asked, defaults)?);
        return Ok(edits);
    }
    let Some(management) = body.get(fields::CONTEXT_MANAGEMENT)? else { return Ok(edits) };
    let list = management.list(fields::EDITS)?;
    list.check_len(MOST_EDITS, "edits")?;
    for edit in list.objects() {
        let edit = edit?;
        let kind = edit.require(fields::TYPE)?;
        if !warnings.kind(&edit, &fields::EDIT_KINDS, kind)? {
            continue;
        }
        match kind {
            "clear_tool_uses_20250919" => edits.clearing.push(Clearing::Results(results(&edit)?)),
            "clear_thinking_20251015" => edits.clearing.extend(thoughts(&edit)?),
            _ => {
                let most = tokens(edit.get(fields::TRIGGER)?, COMPACTION_TOKENS)?.min(room(defaults));
                let pauses = edit.get(fields::PAUSES)?.unwrap_or(false);
                let occasion = if pauses { Occasion::InPlaceAbove(most) } else { Occasion::Above(most) };
                edits.compaction = Some(compaction(&edit, occasion, defaults)?);
            }
        }
    }
    Ok(edits)
}

/// Tokens of a prompt that leave an eighth of the context for the answer.
fn room(defaults: &Defaults) -> u32 {
    u32::try_from(defaults.context - defaults.context / 8).unwrap_or(u32::MAX)
}

fn compaction(
    edit: &JsonObject<'_>,
    occasion: Occasion,
    defaults: &Defaults,
) -> Result<Compaction, ApiError> {
    let own = edit.get(fields::INSTRUCTIONS)?.filter(|text| !text.trim().is_empty());
    let prompt = own.map_or_else(|| Arc::clone(&defaults.compaction_prompt), Arc::from);
    Ok(Compaction { occasion, prompt })
}

/// A number of tokens: the only trigger of most edits.
fn tokens(trigger: Option<JsonObject<'_>>, default: u32) -> Result<u32, ApiError> {
    let Some(trigger) = trigger else { return Ok(default) };
    match trigger.require(fields::TYPE)? {
        "input_tokens" => trigger.require(NUMBER),
        _ => Err(trigger.at(fields::TYPE).invalid("expected \"input_tokens\"")),
    }
}

fn results(edit: &JsonObject<'_>) -> Result<ClearedResults, ApiError> {
    let trigger = match edit.get(fields::TRIGGER)? {
        None => Trigger::Tokens(TRIGGER_TOKENS as usize),
        Some(trigger) => match trigger.require(fields::TYPE)? {
            "input_tokens" => Trigger::Tokens(trigger.require(NUMBER)? as usize),
            "tool_uses" => Trigger::Results(trigger.require(NUMBER)? as usize),
            _ => return Err(trigger.at(fields::TYPE).invalid("expected \"input_tokens\" or \"tool_uses\"")),
        },
    };
    let keep = match edit.value(fields::KEEP) {
        None => KEPT_RESULTS,
        Some(keep) => JsonObject::new(keep, edit.at(fields::KEEP))?.require(NUMBER)?,
    };
    Ok(ClearedResults {
        trigger,
        keep: keep as usize,
        at_least: tokens(edit.get(fields::AT_LEAST)?, 0)? as usize,
        excluded: edit.list(fields::EXCLUDED)?.texts()?,
        arguments: match edit.value(fields::CLEARED_INPUTS) {
            None | Some(Value::Bool(false)) => ToolInputs::Kept,
            Some(Value::Bool(true)) => ToolInputs::Cleared,
            Some(Value::List(list)) => {
                ToolInputs::ClearedOf(List::new(list, edit.at(fields::CLEARED_INPUTS)).texts()?)
            }
            Some(other) => {
                return Err(edit.at(fields::CLEARED_INPUTS).expected("a boolean or a list of names", other));
            }
        },
    })
}

/// None where all thoughts stay.
fn thoughts(edit: &JsonObject<'_>) -> Result<Option<Clearing>, ApiError> {
    let keep = match edit.value(fields::KEEP) {
        None => KEPT_THOUGHTS,
        Some(Value::String(all)) if all.get() == "all" => return Ok(None),
        Some(keep) => {
            let keep = JsonObject::new(keep, edit.at(fields::KEEP))?;
            match keep.require(fields::TYPE)? {
                "all" => return Ok(None),
                "thinking_turns" => keep.require(NUMBER)?,
                _ => return Err(keep.at(fields::TYPE).invalid("expected \"thinking_turns\" or \"all\"")),
            }
        }
    };
    Ok(Some(Clearing::Thoughts { keep: keep as usize }))
}
