//! `host replay FILE --parser P`: what another parser makes of what the model wrote.

use std::path::Path;

use anyhow::Context;
use model::record::{Record, Reparsed, word_of};
use parser_kit::case::CaseItem;
use serde_json::json;
use turn::{FoldedItem, ItemHead, ItemStatus};

use super::loaded::{LoadedModels, Wanted};
use super::println_out;

/// Compares the items of each generation. Returns whether they are equal.
pub(super) fn compare(
    models: &mut LoadedModels<'_>,
    record: &Record,
    file: &Path,
    parser: &str,
) -> anyhow::Result<bool> {
    let place = || format!("record {}", file.display());
    let before = models.get(record, &Wanted { parser: None, generates: false }).with_context(place)?;
    let wanted = Wanted { parser: Some(parser.to_owned()), generates: false };
    let after = models.get(record, &wanted).with_context(place)?;
    let mut equal = true;
    for generation in record.prompts.keys() {
        let lines = |reparsed: Option<Reparsed>| reparsed.map(lines).context("it has no such generation");
        let (before, after) = (
            lines(before.model.reparse(record, *generation))?,
            lines(after.model.reparse(record, *generation))?,
        );
        equal &= before == after;
        let count = before.len() - 1;
        println_out(format_args!("{}: turn {generation}, {count} items", file.display()))?;
        show(&before, &after)?;
    }
    Ok(equal)
}

/// The items, a line each, and how the turn ended.
fn lines(Reparsed { items, end, .. }: Reparsed) -> Vec<String> {
    let items = items.map(|items| items.into_iter().map(|item| json!(case_item(item)).to_string()).collect());
    let mut lines: Vec<String> = items.unwrap_or_else(|error| vec![error.to_string()]);
    lines.push(json!({ "end": word_of(&end) }).to_string());
    lines
}

/// An item as cases have it.
pub(in crate::cli) fn case_item(FoldedItem { head, text, status }: FoldedItem) -> CaseItem {
    let complete = status == ItemStatus::Completed;
    let head = match head {
        ItemHead::Reasoning => parser_kit::Head::Reasoning,
        ItemHead::Message { phase } => parser_kit::Head::Message(phase),
        ItemHead::ToolCall { name, payload, .. } => {
            parser_kit::Head::ToolCall(contract::ToolCall::new(name, payload))
        }
    };
    parser_kit::Item { head, text, complete }.into()
}

/// Prints both lists as a diff: equal lines at their beginning and end once.
fn show(before: &[String], after: &[String]) -> std::io::Result<()> {
    let same = before.iter().zip(after).take_while(|(before, after)| before == after).count();
    let rest = (&before[same..], &after[same..]);
    let tail = rest.0.iter().rev().zip(rest.1.iter().rev()).take_while(|(one, other)| one == other).count();
    let (removed, added) = (&rest.0[..rest.0.len() - tail], &rest.1[..rest.1.len() - tail]);
    let kept = before[..same].iter().map(|line| (" ", line));
    let removed = removed.iter().map(|line| ("-", line));
    let added = added.iter().map(|line| ("+", line));
    let end = before[before.len() - tail..].iter().map(|line| (" ", line));
    for (mark, line) in kept.chain(removed).chain(added).chain(end) {
        println_out(format_args!("{mark} {line}"))?;
    }
    Ok(())
}
