//! The grammar of a constrained turn: reasoning, then a message or a section of calls.
//!
//! Strings of arguments may hold any text, a marker's too, and headers may not: so markers have to be tokens.

use super::{Format, Mark, Sections};
use crate::Request;
use crate::grammar::{Lark, Markers, Turn, literal};

/// Called by `constrain`.
pub(super) fn of<F: Format>(request: &Request) -> Result<Option<String>, String> {
    let Some(turn) = Turn::of(request)? else { return Ok(None) };
    let mut lark = Lark::new(&Sections::<F>::markers(), Markers::Tokens)?;
    let calls = turn.any_tool(|tool| F::call(tool, &marker::<F>(&lark, Mark::Separator)))?;
    let [begin, end, open, close, think, think_end] =
        [Mark::Call, Mark::CallEnd, Mark::Section, Mark::SectionEnd, Mark::Think, Mark::ThinkEnd]
            .map(|mark| marker::<F>(&lark, mark));
    lark.rule("call", &format!("{begin} ({calls}) gap? {end}"));
    let section = format!("{open} gap? {} gap? {close}", turn.calls("call"));
    let thought = if F::ENDS_THOUGHT { format!("({think} text)?") } else { format!("{think} text") };
    let opening: Vec<String> = F::OPENING.iter().map(|part| marker_or_text::<F>(&lark, part)).collect();
    turn.grammar(lark, &opening.join(" "), &format!("{thought} {think_end}"), &section).map(Some)
}

/// The first marker of this meaning, as models are taught to write it.
fn marker<F: Format>(lark: &Lark, meaning: Mark) -> String {
    let index = F::MARKS.iter().position(|(_, mark)| *mark == meaning);
    lark.marker(index.expect("a format has each part of calls and reasoning"))
}

fn marker_or_text<F: Format>(lark: &Lark, part: &str) -> String {
    let index = F::MARKS.iter().position(|(marker, _)| *marker == part);
    index.map_or_else(|| literal(part), |index| lark.marker(index))
}
