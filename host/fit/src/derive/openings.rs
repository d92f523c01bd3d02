//! What generation prompts write: the header of the model's message, and behind it perhaps an opening
//! of reasoning.

use super::align::{closing, common_start, first_tag, last_tag};
use super::format::{Delimiters, Inferred};
use super::seen;
use super::turns::{ShownTurn, Turns};
use crate::probes::Probe;

/// A tag that a generation prompt leaves open.
pub(super) fn opened(openings: &[String]) -> Option<&str> {
    openings.iter().filter_map(|opening| last_tag(opening)).map(str::trim).find(|tag| closing(tag).is_some())
}

/// Delimiters of reasoning that only generation prompts show: as an empty block, or as an opening
/// whose end the template looks for in texts.
pub(super) fn prompted(openings: &[String], turns: &Turns) -> Option<Inferred<Delimiters>> {
    let tags = openings.iter().filter_map(|opening| first_tag(opening)).map(str::trim);
    for open in tags {
        let Some(close) = closing(open) else { continue };
        let is_pair = |opening: &String| {
            opening.trim().strip_prefix(open).is_some_and(|rest| rest.trim_start().starts_with(&close))
        };
        if openings.iter().any(is_pair) || turns.strips_before(&close) {
            let value = Delimiters { open: open.to_owned(), close };
            return Some(seen(value));
        }
    }
    None
}

/// The header of the model's message, without a tag behind it that opens reasoning.
pub(super) fn message_header(openings: &[String], shown: &[(&Probe, ShownTurn)]) -> String {
    without_reasoning(shared(openings, shown), openings, shown)
}

/// What all turns begin with.
fn shared(openings: &[String], shown: &[(&Probe, ShownTurn)]) -> String {
    let leads = shown.iter().map(|(_, turn)| turn.cut.opening.as_str());
    let mut all = openings.iter().map(String::as_str).chain(leads);
    let first = all.next().unwrap_or_default();
    // Behind results of tools some templates write no header.
    let shared = |anchor: &str, text| Some(common_start(anchor, text).len()).filter(|bytes| *bytes > 0);
    all.fold(first, |anchor, text| &anchor[..shared(anchor, text).unwrap_or(anchor.len())]).to_owned()
}

/// The beginning without a tag at its end that opens reasoning: one that is closed in another opening,
/// or between reasoning and text.
fn without_reasoning(anchor: String, openings: &[String], shown: &[(&Probe, ShownTurn)]) -> String {
    let Some(tag) = last_tag(&anchor) else { return anchor };
    let Some(close) = closing(tag.trim()) else { return anchor };
    let between = shown.iter().find(|(probe, _)| probe.name == "reasoning-text").and_then(|(probe, turn)| {
        let whole = turn.whole();
        let reasoning = probe.reasoning?;
        let from = whole.find(reasoning)? + reasoning.len();
        let to = whole.find(probe.text?).filter(|to| *to >= from)?;
        Some(whole[from..to].to_owned())
    });
    let closes =
        |opening: &String| opening[anchor.len().min(opening.len())..].trim_start().starts_with(&close);
    if between.is_some_and(|text| text.contains(&close)) || openings.iter().any(closes) {
        return anchor[..anchor.len() - tag.len()].to_owned();
    }
    anchor
}
