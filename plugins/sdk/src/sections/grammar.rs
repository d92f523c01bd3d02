//! The grammar of a constrained turn: reasoning, then a message or a section of calls.
//!
//! Strings of arguments may hold any text, a marker's too, and headers may not: so markers have to be tokens.

use super::{Format, Mark, Sections};
use crate::Request;
use crate::grammar::{Lark, Markers, NO_GRAMMAR, Turn, literal};

/// The grammar of the request's turns; `None` where the model is left free. Called by `constrain`.
pub(super) fn of<F: Format>(request: &Request) -> Result<Option<String>, String> {
    let Some(turn) = Turn::of(request)? else { return Ok(None) };
    let mut lark = Lark::new(&Sections::<F>::markers(), Markers::Tokens)?;
    let part = |mark| marker::<F>(&lark, mark);
    let separator = part(Mark::Separator).unwrap_or_default();
    let calls = turn.any_tool(|tool| F::call(tool, &separator))?;
    let [end, open, close] =
        [Mark::CallEnd, Mark::Section, Mark::SectionEnd].map(|mark| part(mark).unwrap_or_default());
    let begin = part(Mark::Call).ok_or(NO_GRAMMAR)?;
    let think = match (part(Mark::Think), part(Mark::ThinkEnd)) {
        (Some(think), Some(end)) if F::ENDS_THOUGHT => format!("({think} text)? {end}"),
        (Some(think), Some(end)) => format!("{think} text {end}"),
        _ => literal(""),
    };
    let gap_before = |marker: &str| if marker.is_empty() { String::new() } else { format!("gap? {marker}") };
    let gap_after = if open.is_empty() { String::new() } else { format!("{open} gap?") };
    let section = format!("{gap_after} {} {}", turn.calls("call"), gap_before(&close));
    let call = format!("{begin} ({calls}) {}", gap_before(&end));
    lark.rule("call", &call);
    let opening: Vec<String> = F::OPENING.iter().map(|part| marker_or_text::<F>(&lark, part)).collect();
    let opening = if opening.is_empty() { literal("") } else { opening.join(" ") };
    turn.grammar(lark, &opening, &think, &section).map(Some)
}

/// The first marker of this meaning, as models are taught to write it, if the format has one.
fn marker<F: Format>(lark: &Lark, meaning: Mark) -> Option<String> {
    let index = F::MARKS.iter().position(|(_, mark)| *mark == meaning)?;
    Some(lark.marker(index))
}

fn marker_or_text<F: Format>(lark: &Lark, part: &str) -> String {
    let index = F::MARKS.iter().position(|(marker, _)| *marker == part);
    index.map_or_else(|| literal(part), |index| lark.marker(index))
}
