//! Prints what came of a comparison.

use std::io::Write;

use fit::{Difference, Fit, FitVerdict, ProbeReport};

use super::differences;
use crate::cli::parser::paint::{BAD, BOLD, DIM, GOOD, painted};

/// Most characters of a rendering that are printed.
const SHOWN: usize = 600;

/// What a template can't show of a parser.
const UNPROBED: &str = "not probed: what models write otherwise than the template (words in a call, a missing end, JSON elsewhere); \
                        host parser test shows that";

/// Prints a line for each probe, then what differs.
pub(super) fn report(fit: &Fit, out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(out, "{}, reasoning as {}", painted(BOLD, &fit.parser), fit.reasoning)?;
    for report in &fit.probes {
        line(report, out)?;
    }
    for (report, Difference { rendering, played, got, why, .. }) in differences(fit) {
        writeln!(out, "\n{} {}, played {played}", painted(BAD, "differs"), report.probe)?;
        writeln!(out, "  the template writes: {}", shown(rendering))?;
        read(got, why, out)?;
    }
    if let Some((report, rendering)) =
        fit.probes.iter().find_map(|report| Some((report, report.rendering.as_ref()?)))
    {
        writeln!(out, "\nunopened {}: the generation prompt writes another opening", report.probe)?;
        writeln!(out, "  the template writes: {}", shown(rendering))?;
    }
    material(fit, out)?;
    for (words, literals) in [
        ("tokens in turns that the parser doesn't know", &fit.unknown_tokens),
        ("markers that the template never writes", &fit.unwritten_markers),
    ] {
        if !literals.is_empty() {
            let literals: Vec<_> =
                literals.iter().map(|literal| literal.escape_debug().to_string()).collect();
            writeln!(out, "{words}: {}", literals.join(" "))?;
        }
    }
    result(fit, out)
}

fn line(report: &ProbeReport, out: &mut impl Write) -> anyhow::Result<()> {
    let style = match report.verdict {
        FitVerdict::Same => GOOD,
        FitVerdict::Differs => BAD,
        _ => DIM,
    };
    let verdict = painted(style, format_args!("{:10}", report.verdict.name()));
    let reasoning = report.with_reasoning.then_some("with reasoning");
    let read = report.is_read.map(|is_read| if is_read { "but read" } else { "and not read" });
    let notes = [report.argument.as_deref(), reasoning, read, report.raised.as_deref()];
    let notes = notes.into_iter().flatten().collect::<Vec<_>>().join(", ");
    writeln!(out, "  {:20} {verdict} {:8} {}", report.probe, report.context, painted(DIM, notes))?;
    Ok(())
}

/// Prints what the template loses of cases, and recorded outputs that aren't read.
fn material(fit: &Fit, out: &mut impl Write) -> anyhow::Result<()> {
    if !fit.cases.is_empty() {
        let is_shown = |report: &&fit::CaseReport| report.lost.is_empty() && report.raised.is_none();
        let count = fit.cases.iter().filter(is_shown).count();
        writeln!(out, "\ncases that the template shows whole: {count} of {}", fit.cases.len())?;
        for report in fit.cases.iter().filter(|report| !is_shown(report)) {
            let lost = || format!("lost: {}", report.lost.join(", "));
            let raised = report.raised.as_ref().map(|message| format!("the template raises: {message}"));
            writeln!(out, "  {}: {}", report.case, raised.unwrap_or_else(lost))?;
        }
    }
    if !fit.recorded.is_empty() {
        let count = fit.recorded.iter().filter(|output| output.why.is_empty()).count();
        writeln!(out, "\nrecorded outputs that are read: {count} of {}", fit.recorded.len())?;
        for output in fit.recorded.iter().filter(|output| !output.why.is_empty()) {
            writeln!(out, "  {} {}", painted(BAD, "differs"), output.name)?;
            read(&output.items, &output.why, out)?;
        }
    }
    Ok(())
}

fn read(items: &[serde_json::Value], why: &[String], out: &mut impl Write) -> anyhow::Result<()> {
    for item in items {
        let item: String = item.to_string().chars().take(SHOWN).collect();
        writeln!(out, "  the parser reads:    {item}")?;
    }
    for line in why {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

fn shown(rendering: &str) -> String {
    rendering.chars().take(SHOWN).collect::<String>().escape_debug().to_string()
}

fn result(fit: &Fit, out: &mut impl Write) -> anyhow::Result<()> {
    let [same, differ] = [FitVerdict::Same, FitVerdict::Differs].map(|verdict| fit.count(verdict));
    let unjudged = fit.probes.len() - same - differ;
    let read = fit.probes.iter().filter_map(|report| report.is_read);
    let (read, unread): (Vec<bool>, Vec<bool>) = read.partition(|is_read| *is_read);
    let why = match (fit.refuses_calls(), fit.shows_calls()) {
        _ if fit.breaks_calls() => ", the template's own calls lack a quote at the tool's name".to_owned(),
        (Some(raised), _) => format!(", the template raises for every call: {raised}"),
        (None, false) => ", the template shows no calls".to_owned(),
        (None, true) if !read.is_empty() && unread.is_empty() => {
            format!(", though the parser reads all {} unopened probes", read.len())
        }
        (None, true) => String::new(),
    };
    let result = match (fit.differs(), fit.proves()) {
        (true, _) => "doesn't fit".to_owned(),
        (false, true) => "fits".to_owned(),
        (false, false) => format!("nothing is proved{why}"),
    };
    writeln!(out, "{result}: {same} same, {differ} differ, {unjudged} not comparable")?;
    writeln!(out, "{}", painted(DIM, UNPROBED))?;
    Ok(())
}
