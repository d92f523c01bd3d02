//! Cases for a derived parser: what the template writes for probes, and turns that are cut off.

use model::TemplateFiles;
use parser_kit::case::{CaseItem, CaseStatus};
use parsers::conformance::{ParserSource, Recording, play_case};
use serde_json::{Value, json};

use crate::play::Played;
use crate::probes::{Probe, probes};

use super::turns::{ShownTurn, Turns};
use super::{extra_probes, is_judged};

/// Characters of a chunk.
const SIZE: usize = 24;
/// Words at which a turn is cut off, each in the middle of a part.
const CUTS: [(&str, &str); 3] =
    [("reasoning-text", "zqreason fir"), ("text", "zqtext fir"), ("one-argument", "zqv")];

/// Cases of a parser.
#[derive(Debug, Default)]
pub struct Cases {
    /// Cases by name, in each of which the parser gives the probe back.
    pub read: Vec<(String, Value)>,
    /// Names of cases in which it doesn't, though the template shows all of the probe.
    pub missed: Vec<String>,
}

/// Cases that show what the template writes, as the parser with these options reads it.
///
/// # Errors
/// The template or the parser can't be used.
pub fn cases(
    files: &TemplateFiles,
    source: &dyn ParserSource,
    options: &[(String, String)],
) -> Result<Cases, String> {
    let turns = Turns::new(files)?;
    let subject = source.load(options)?;
    let markers = &subject.descriptor().markers;
    let played = Played { source, options, markers };
    let mut cases = Cases::default();
    for probe in probes(markers).into_iter().chain(extra_probes()) {
        let Ok(turn) = turns.write(&probe) else { continue };
        for mode in if probe.only_by_id { &["id"][..] } else { &["id", "text"] } {
            let name = format!("{}_by_{mode}", probe.name.replace('-', "_"));
            match whole(&played, &probe, &turn, mode)? {
                Some(case) => cases.read.push((name, case)),
                // What a prompt opens is missing where the turn doesn't begin behind it.
                None if is_judged(&probe, &turn) && (turn.is_opened || probe.reasoning.is_none()) => {
                    cases.missed.push(name);
                }
                None => {}
            }
        }
        for (_, words) in CUTS.iter().filter(|(name, _)| *name == probe.name) {
            if let Some(case) = cut_off(&played, &probe, &turn, words)? {
                cases.read.push((format!("{}_cut_off", probe.name.replace('-', "_")), case));
            }
        }
    }
    Ok(cases)
}

/// The case of a whole turn, if the parser gives the probe back.
fn whole(played: &Played, probe: &Probe, turn: &ShownTurn, mode: &str) -> Result<Option<Value>, String> {
    let mut case = played.case(probe, &turn.cut, mode, SIZE);
    let items = items(played, probe, &case)?;
    if !Played::are_same(probe, &items) {
        return Ok(None);
    }
    case["expect"]["items"] = json!(items);
    Ok(Some(tidied(case)))
}

/// The case of a turn that is cut off behind these words, if the parser gives what stands before,
/// and its last item is incomplete.
fn cut_off(played: &Played, probe: &Probe, turn: &ShownTurn, words: &str) -> Result<Option<Value>, String> {
    let output = &turn.cut.output;
    let Some(at) = output.as_str().find(words) else { return Ok(None) };
    let mut turn = turn.clone();
    turn.cut.output = output.slice(0..at + words.len());
    let mut case = played.case(probe, &turn.cut, "id", SIZE);
    case["about"] = json!(format!("{}, cut off", probe.name));
    case["finish"] = json!("length");
    case["expect"]["end"] = json!("incomplete");
    let items = items(played, probe, &case)?;
    let is_part = match items.as_slice() {
        [CaseItem::Reasoning { text, status } | CaseItem::Message { text, status, .. }] => {
            text == words && *status == CaseStatus::Incomplete
        }
        [CaseItem::ToolCall { name, arguments, status, .. }] => {
            *name == probe.calls[0].0 && arguments.ends_with(words) && *status == CaseStatus::Incomplete
        }
        _ => false,
    };
    case["expect"]["items"] = json!(items);
    Ok(is_part.then(|| tidied(case)))
}

fn items(played: &Played, probe: &Probe, case: &Value) -> Result<Vec<CaseItem>, String> {
    let outcome = play_case(&Recording::parse(&probe.name, &case.to_string(), played.source)?);
    Ok(outcome.items.clone().unwrap_or_default())
}

/// The case without empty options.
fn tidied(mut case: Value) -> Value {
    if let Some(case) = case.as_object_mut().filter(|case| case["options"] == json!({})) {
        case.shift_remove("options");
    }
    case
}
