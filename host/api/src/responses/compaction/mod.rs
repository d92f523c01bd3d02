//! Compaction in requests and answers: its three doors (`/v1/responses/compact`, the input item
//! `compaction_trigger`, the field `context_management`) and the item `compaction` that comes out
//! of each. `crate::agent` does the work.
//!
//! Such an item carries the summary sealed: nobody else can read or change it, and no other server
//! can use it.

mod machine;
mod request;

use std::sync::Arc;

use super::fields;
use super::input_items::{Input, is_of};
use crate::agent::{Compaction, Occasion};
use crate::error::ApiError;
use crate::history::History;
use crate::json::JsonObject;
use crate::request::Defaults;
use crate::seal::Seal;
use crate::warnings::Warnings;

pub use machine::CompactedResponse;
pub use request::compact;

/// Purpose of the seal on summaries.
pub(crate) const SUMMARY: &str = "responses compaction";

/// The item type that asks for a compaction.
pub(super) const TRIGGER: &str = "compaction_trigger";

/// Adds a compaction item to the history: its summary replaces what came before. An item without
/// content comes from a compaction that failed, and replaces nothing.
pub(super) fn read(
    item: JsonObject<'_>,
    seal: &Seal,
    history: &mut History,
    warnings: &mut Warnings,
) -> Result<(), ApiError> {
    let sealed = item.require(fields::SEALED)?;
    if sealed.is_empty() {
        warnings.add("compaction item without content left out: no summary came of it");
        return Ok(());
    }
    let summary = seal.open(SUMMARY, sealed).map_err(|error| {
        let what = format_args!("it can't be used: {error}. Send the items that it stands for");
        item.at(fields::SEALED).invalid(what).with_code("invalid_encrypted_content")
    })?;
    history.compact(&summary);
    Ok(())
}

/// The compaction that a request asks for, by its last input item or by `context_management`.
///
/// # Errors
/// 400 where a trigger isn't the last item, or `context_management` is wrong.
pub(super) fn asked(
    body: &JsonObject<'_>,
    input: Input<'_>,
    defaults: &Defaults,
) -> Result<Option<Compaction>, ApiError> {
    let above = threshold(body, defaults)?.map(Occasion::Above);
    let occasion = if is_triggered(input)? { Some(Occasion::Asked) } else { above };
    Ok(occasion.map(|occasion| Compaction { occasion, prompt: Arc::clone(&defaults.compaction_prompt) }))
}

/// Whether the input ends in a trigger. One with a compaction behind it has had its effect.
fn is_triggered(input: Input<'_>) -> Result<bool, ApiError> {
    if input.of_kind(TRIGGER).next().is_none() {
        return Ok(false);
    }
    let mut items = input.items().peekable();
    while let Some((path, item)) = items.next() {
        if !is_of(item, TRIGGER) {
            continue;
        }
        match items.peek() {
            None => return Ok(true),
            Some((_, next)) if is_of(*next, "compaction") => {}
            Some(_) => {
                let what =
                    format_args!("a {TRIGGER} compacts all that comes before it: send it as the last item");
                return Err(path.invalid(what));
            }
        }
    }
    Ok(false)
}

/// The number of tokens above which `context_management` wants the conversation compacted.
fn threshold(body: &JsonObject<'_>, defaults: &Defaults) -> Result<Option<u32>, ApiError> {
    let list = body.list(fields::CONTEXT_MANAGEMENT)?;
    let Some(entry) = list.objects().next() else { return Ok(None) };
    if list.elements.is_longer_than(1) {
        return Err(list.path.invalid("expected at most one entry, of type compaction"));
    }
    let entry = entry?;
    if entry.require(fields::TYPE)? != "compaction" {
        return Err(entry.at(fields::TYPE).unsupported("expected compaction"));
    }
    let given = entry.get(fields::THRESHOLD)?;
    Ok(Some(given.unwrap_or_else(|| default_threshold(defaults.context))))
}

/// The threshold where a request names none: an eighth of the context is left for the answer.
fn default_threshold(context: usize) -> u32 {
    u32::try_from(context - context / 8).unwrap_or(u32::MAX)
}
