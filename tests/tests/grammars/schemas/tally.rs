//! Tally of the results of many trials.
#![expect(clippy::print_stdout, reason = "what the mask keeps out, and why, is worth knowing")]

use std::collections::BTreeMap;

use serde_json::Value;

/// Known cases in which llguidance allows a text that the validator refuses: a keyword in the
/// schema, a part of the validator's error, a property of the text, and the reason.
const DEPARTURES: [(&str, &str, TextProperty, &str); 10] = [
    ("\"minProperties\"", "has less than", TextProperty::Any, "a key may repeat"),
    ("\"multipleOf\"", "is not a multiple of", TextProperty::Text("e+"), "the validator reads a double"),
    ("\"multipleOf\"", "is not valid under any", TextProperty::Text("e+"), "the validator reads a double"),
    ("\"format\":\"date\"", "is not a", TextProperty::Text("-02-29"), LOOSE_TIME),
    ("\"format\":\"date-time\"", "is not a", TextProperty::Text("-02-29"), LOOSE_TIME),
    ("\"format\":\"time\"", "is not a", TextProperty::Text(":60"), LOOSE_TIME),
    ("\"format\":\"date-time\"", "is not a", TextProperty::Text(":60"), LOOSE_TIME),
    ("\"format\":\"time\"", "is not a", TextProperty::LateOffset, LOOSE_TIME),
    ("\"format\":\"date-time\"", "is not a", TextProperty::LateOffset, LOOSE_TIME),
    ("\"format\":\"email\"", "is not a", TextProperty::Bytes(65), "an address may have any length"),
];

/// Property of a text for which it is excused.
#[derive(Clone, Copy)]
enum TextProperty {
    Any,
    Text(&'static str),
    /// The text has a time offset of more than 23 hours.
    LateOffset,
    /// The text has at least this many bytes.
    Bytes(usize),
}

impl TextProperty {
    fn is_in(self, text: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Text(part) => text.contains(part),
            Self::Bytes(least) => text.len() >= least,
            Self::LateOffset => {
                let offset = text.rsplit_once(['+', '-']).map(|(_, offset)| offset);
                offset.and_then(|offset| offset.get(..2)?.parse::<u8>().ok()).is_some_and(|hours| hours > 23)
            }
        }
    }
}

/// Values that llguidance allows and the validator refuses: a keyword in the schema, a part of the
/// value, and the reason.
const LOOSE: [(&str, &str, &str); 3] = [
    ("\"format\":\"date\"", "-02-29", LOOSE_TIME),
    ("\"format\":\"time\"", ":60", LOOSE_TIME),
    ("\"format\":\"date-time\"", ":60", LOOSE_TIME),
];
/// Values that the validator allows and llguidance refuses: a keyword in the schema, a part of the
/// value, and the reason.
const TIGHT: [(&str, &str, &str); 3] = [
    ("\"format\":\"email\"", "\\\"@", "the name of an address may not be quoted"),
    ("\"format\":\"email\"", "[IPv6:::", "of literal addresses some may not come"),
    ("\"format\":\"ipv6\"", ".", "an IPv6 address may hold no IPv4 address"),
];
const LOOSE_TIME: &str =
    "the 29th of February may come in any year, a second 60 at any time, an offset may be of any hours";

/// Maximum number of characters of a fault that are printed.
const SHOWN: usize = 600;

/// Counts of results, and the faults.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) grammars: usize,
    /// Whether in the format a random walk into any value nests ever deeper, as nothing but letters
    /// ends it.
    nests: bool,
    walks: usize,
    /// Walks that reached no end: their text is random, and some patterns require certain
    /// characters.
    endless: usize,
    /// Valid values that the mask allows.
    pub(super) allowed: usize,
    /// Invalid values that the mask keeps out.
    pub(super) kept_out: usize,
    /// Values that the format can't write.
    pub(super) unwritable: usize,
    refused: BTreeMap<String, usize>,
    excused: BTreeMap<&'static str, usize>,
    /// Faults, which make the test fail.
    pub(super) faults: Vec<String>,
}

impl Tally {
    /// An empty tally of a format in which a walk into any value nests ever deeper, or doesn't.
    pub(super) fn of(nests: bool) -> Self {
        Self { nests, ..Self::default() }
    }

    /// Counts a refused schema. A refusal without a reason is a fault.
    pub(super) fn refuse(&mut self, about: &str, reason: &str) {
        let line = reason.lines().next().unwrap_or_default();
        let said = line.rsplit_once("failed to compile JSON schema: ").map_or(line, |(_, said)| said);
        if said.trim().is_empty() || reason.contains("panic") {
            self.faults.push(format!("{about} is refused without a reason: {reason:?}"));
        }
        *self.refused.entry(said.chars().take(100).collect()).or_default() += 1;
    }

    pub(super) fn walked(&mut self, about: &str, seed: u64, judged: Result<(), String>) {
        self.walks += 1;
        let Err(error) = judged else { return };
        match walk_departure(about, &error) {
            Some(departure) => *self.excused.entry(departure).or_default() += 1,
            // A pattern may require characters that random text hardly ever has.
            None if error.starts_with("no end in sight") && (self.nests || about.contains("\"pattern")) => {
                self.endless += 1;
            }
            None => self.faults.push(format!("{about}, seed {seed}: {error}")),
        }
    }

    /// Counts an invalid value that the mask allows.
    pub(super) fn allowed_invalid(&mut self, about: &str, value: &Value) {
        match departure(&LOOSE, about, &value.to_string()) {
            Some(excuse) => *self.excused.entry(excuse).or_default() += 1,
            None => self.faults.push(format!("{about} lets through {value}")),
        }
    }

    /// Counts a valid value that the mask keeps out.
    pub(super) fn refused_valid(&mut self, about: &str, value: &Value, excuse: Option<&'static str>) {
        match excuse.or_else(|| departure(&TIGHT, about, &value.to_string())) {
            Some(excuse) => *self.excused.entry(excuse).or_default() += 1,
            None => self.faults.push(format!("{about} keeps out {value}")),
        }
    }

    /// Prints the counts, and panics if there are faults.
    pub(super) fn report(&self, name: &str) {
        let sum = |counts: &BTreeMap<String, usize>| counts.values().sum::<usize>();
        println!(
            "{name}: {} grammars and {} refusals; {} walks, {} without an end; {} values allowed, {} kept out, {} have no text",
            self.grammars,
            sum(&self.refused),
            self.walks,
            self.endless,
            self.allowed,
            self.kept_out,
            self.unwritable,
        );
        self.excused.iter().for_each(|(excuse, count)| println!("  excused, {count}: {excuse}"));
        if std::env::var_os("SLUICE_SCHEMAS").is_some() {
            self.refused.iter().for_each(|(reason, count)| println!("  refused, {count}: {reason}"));
        }
        let shown: Vec<String> =
            self.faults.iter().map(|fault| fault.chars().take(SHOWN).collect()).collect();
        assert!(shown.is_empty(), "{name}: {} faults\n{}", shown.len(), shown.join("\n"));
    }
}

/// Reason for which a walk is excused, found by the validator's error, which begins with the value.
fn walk_departure(about: &str, error: &str) -> Option<&'static str> {
    let found = DEPARTURES.iter().find(|(keyword, said, property, _)| {
        let value = error.split_once(said).map(|(value, _)| value.rsplit(": ").next().unwrap_or_default());
        about.contains(keyword)
            && value.is_some_and(|value| property.is_in(value.trim_end().trim_matches('"')))
    });
    found.map(|(.., departure)| *departure)
}

fn departure(all: &[(&str, &str, &'static str)], about: &str, said: &str) -> Option<&'static str> {
    let found = all.iter().find(|(keyword, word, _)| about.contains(keyword) && said.contains(word));
    found.map(|(.., departure)| *departure)
}
