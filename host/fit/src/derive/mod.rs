//! Infers a model's output format from what its chat template writes for probes, and writes a
//! parser for it.
//!
//! Invariant: the format has to predict probes that it wasn't inferred from; a probe that it misses
//! is a refusal, which names it. Called by `host parser derive`, and by a start where no parser fits.

mod align;
mod cases;
mod format;
mod generate;
mod infer;
mod joints;
mod locate;
mod objects;
mod openings;
mod pattern;
mod point;
mod refusal;
mod sections;
mod spelling;
mod table;
mod turns;

pub use cases::{Cases, cases};
pub use format::{Arguments, Confidence, Delimiters, DerivedCalls, DerivedFormat, FormatPart, Inferred};
pub use refusal::Underivable;

use model::TemplateFiles;
use serde_json::{Value, json};

use crate::conversation::TOOLS;
use crate::probes::{Probe, probes};
use crate::report::FitVerdict;

use align::first_tag;
use generate::{compare, is_rewritten};
use infer::Inference;
use joints::{Joints, Pair};
use locate::locate;
use openings::{message_header, opened, prompted};
use point::Point;
use turns::{ShownTurn, Turns};

/// Probes from which a format is inferred.
const LEARNT: [&str; 11] = [
    "text",
    "reasoning-text",
    "reasoning-call",
    "text-call",
    "one-argument",
    "two-arguments",
    "two-tools",
    "no-arguments",
    "no-arguments-first",
    "numbers",
    "nested",
];
/// Probes without which nothing can be inferred.
const NEEDED: [&str; 2] = ["text", "one-argument"];

/// Why nothing was derived.
#[derive(Debug)]
pub enum Underived {
    /// The template can't be used.
    Unusable(String),
    /// Its format can't be derived.
    Refused(Underivable),
}

impl From<Underivable> for Underived {
    fn from(refusal: Underivable) -> Self {
        Self::Refused(refusal)
    }
}

/// A format, and how a parser says it.
#[derive(Debug)]
pub struct Derivation {
    /// The format.
    pub format: DerivedFormat,
    /// The table's file, or what a table can't say.
    pub table: Result<Value, String>,
    /// The source of a crate of `host parser new`, with its placeholders, or what such a crate
    /// can't say.
    pub source: Result<String, String>,
}

/// Infers the output format of a model and writes a table for it. `reasoning` are the delimiters of
/// reasoning where the template shows none.
///
/// # Errors
/// The template can't be used, or its format can't be derived.
pub fn derive(files: &TemplateFiles, reasoning: Option<Delimiters>) -> Result<Derivation, Underived> {
    let format = infer(files, reasoning);
    files.check_time().map_err(Underived::Unusable)?;
    let format = format?;
    let source = files.chat.tool_template.as_ref().unwrap_or(&files.chat.template);
    let about = about(&format, &files.name, source);
    let markers = format.literals().into_iter().filter_map(|literal| longest_in(source, &literal)).take(2);
    let table = table::table(&format, &about, &markers.collect::<Vec<_>>());
    let source = sections::source(&format, &about);
    Ok(Derivation { format, table, source })
}

/// What the parser was derived from, and how sure its parts are.
fn about(format: &DerivedFormat, name: &str, source: &str) -> String {
    let digest = parsers::digest(source.as_bytes());
    let reasoning = format.reasoning.as_ref().map_or("none", |field| field.confidence.name());
    format!(
        "Derived from the chat template of {name} (SHA-256 {}): reasoning {reasoning}, text {}, calls {}.",
        &digest[..16.min(digest.len())],
        format.content.confidence.name(),
        format.calls.confidence.name(),
    )
}

/// The longest beginning of a literal that the template's source has: templates put some together.
fn longest_in(source: &str, literal: &str) -> Option<String> {
    let ends = literal.char_indices().map(|(at, char)| at + char.len_utf8()).filter(|end| *end > 3);
    ends.rev().map(|end| &literal[..end]).find(|part| source.contains(part)).map(str::to_owned)
}

/// Infers the output format of a model.
fn infer(files: &TemplateFiles, reasoning: Option<Delimiters>) -> Result<DerivedFormat, Underived> {
    let turns = Turns::new(files).map_err(Underived::Unusable)?;
    let probes: Vec<Probe> = probes(&[]).into_iter().chain(extra_probes()).collect();
    let mut shown: Vec<(&Probe, ShownTurn)> = Vec::new();
    for probe in &probes {
        match turns.write(probe) {
            Ok(turn) => shown.push((probe, turn)),
            Err((verdict, raised)) => {
                if let Some(refusal) = not_shown(probe, verdict, raised) {
                    return Err(refusal.into());
                }
            }
        }
    }
    let openings = turns.openings();
    let anchor = message_header(&openings, &shown);
    let mut joints = Joints::default();
    for (probe, turn) in shown.iter().filter(|(probe, _)| LEARNT.contains(&probe.name.as_str())) {
        let whole = behind(&anchor, turn);
        joints.note(&probe.name, &whole, &locate(probe, &whole)?);
    }
    joints.settle()?;
    let openings: Vec<String> =
        openings.iter().map(|text| text.strip_prefix(&anchor).unwrap_or(text).to_owned()).collect();
    let reasoning = match reasoning {
        Some(value) => Some(Inferred { value, confidence: Confidence::Assumed }),
        None => prompted(&openings, &turns).or(turns.given().map(seen)),
    };
    let mut ends: Vec<String> = files.ends.iter().map(ToString::to_string).collect();
    if let Some(end) = turns.wrapper().and_then(first_tag).map(|tag| tag.trim().to_owned()) {
        ends.retain(|known| *known != end);
        ends.insert(0, end);
    }
    let inference = Inference { joints: &joints, anchor: anchor.clone(), openings, reasoning, ends };
    let mut format = inference.format()?;
    if let (None, Some(tag)) = (&format.reasoning, opened(&format.openings)) {
        let reason = format!(
            "markup never rendered: the generation prompt opens {tag}, and no turn shows its end; say it by --reasoning OPEN,CLOSE"
        );
        return Err(Underivable::new("reasoning-text", reason).into());
    }
    let mut used = Vec::new();
    for (probe, turn) in shown.iter().filter(|(probe, turn)| is_judged(probe, turn)) {
        let pairs = compare(&joints, probe, &behind(&anchor, turn))?;
        if !LEARNT.contains(&probe.name.as_str()) {
            used.extend(pairs);
        }
    }
    judge(&mut format, &used);
    Ok(format)
}

/// Whether a parser has to give the probe back. Null is often spelt like a string, which `fit`
/// judges.
fn is_judged(probe: &Probe, turn: &ShownTurn) -> bool {
    probe.name != "null" && !is_rewritten(probe, turn)
}

fn seen<T>(value: T) -> Inferred<T> {
    Inferred { value, confidence: Confidence::Seen }
}

/// The turn behind the header of the message.
fn behind(anchor: &str, turn: &ShownTurn) -> String {
    let whole = turn.whole();
    whole.strip_prefix(anchor).map_or(whole.clone(), str::to_owned)
}

/// Probes that `host parser fit` hasn't: a derived format has to predict them.
fn extra_probes() -> Vec<Probe> {
    let call = |tool: usize, value: &str| (TOOLS[tool], json!({ "zktwo": value }));
    let probe = |name: &str, reasoning, text, calls| Probe {
        name: name.to_owned(),
        reasoning,
        text,
        calls,
        ..Probe::default()
    };
    let (reasoning, text) = (Some("zqwhy"), Some("zqwhat"));
    let three = vec![call(2, "zqv1"), call(1, "zqv2"), call(0, "zqv3")];
    vec![
        probe("three-calls", None, None, three),
        probe("short-text", None, text, vec![]),
        probe("short-reasoning", reasoning, text, vec![]),
        probe("short-reasoning-call", reasoning, None, vec![call(1, "zqv1")]),
        probe("short-text-call", None, text, vec![call(1, "zqv1")]),
    ]
}

/// The refusal if this probe has to be shown.
fn not_shown(probe: &Probe, verdict: FitVerdict, raised: Option<String>) -> Option<Underivable> {
    let raised = raised.map_or_else(String::new, |words| format!(": {words}"));
    if NEEDED.contains(&probe.name.as_str()) {
        let what = if probe.calls.is_empty() { "text is" } else { "calls are" };
        return Some(Underivable::new(
            &probe.name,
            format!("{what} never shown ({}){raised}", verdict.name()),
        ));
    }
    // A template that raises says that a turn has one call.
    let vanishes = probe.calls.len() > 1 && verdict == FitVerdict::Unshown;
    vanishes.then(|| {
        Underivable::new(
            &probe.name,
            "several calls vanish: the template doesn't show all of them in their order",
        )
    })
}

/// Calls proved what predicted probes.
fn judge(format: &mut DerivedFormat, used: &[Pair]) {
    let is_used = |point: Point| used.iter().any(|pair| pair.from == point || pair.to == point);
    if let Some(reasoning) = format.reasoning.as_mut().filter(|_| is_used(Point::Reasoning)) {
        reasoning.confidence = Confidence::Proved;
    }
    if is_used(Point::Text) {
        format.content.confidence = Confidence::Proved;
    }
    if is_used(Point::Name) {
        format.calls.confidence = Confidence::Proved;
    }
}
