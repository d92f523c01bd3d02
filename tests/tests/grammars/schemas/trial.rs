//! Trial of one schema in one format: the schema must allow what the grammar allows, and the
//! grammar must allow what the schema allows.

use grammar::{Demand, ToolChoice};
use parser_kit::{Head, Item};
use serde_json::{Map, Value, json};

use super::FormatCase;
use super::cases::{Case, is_readable, is_valid};
use super::tally::Tally;
use super::writing::{Parts, Style, names, ordered, spelt};
use crate::oracle::Markers;
use crate::requests;
use parsers::conformance::walk::Walker;

const STYLES: [Style; 3] = [Style::Spaced, Style::Dense, Style::Plain];

/// Part of a turn to which the schema applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Answer,
    Arguments,
}

/// Result of offering a value to the mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Allowed,
    KeptOut,
    /// The format can't write the value: the parser reads its text as something else.
    Unwritable,
}

/// Demand with a schema in one format, and its grammar.
pub(super) struct Trial<'a> {
    schema: &'a Value,
    format_case: &'a FormatCase,
    role: Role,
    markers: Markers,
    request: Demand,
    /// Whether the schema is used for the property `v` of an object, since its type isn't object.
    is_wrapped: bool,
    fresh: Walker,
}

impl<'a> Trial<'a> {
    /// Makes a trial; `None` where the schema can't be tried in this way; the error is the reason
    /// why the schema is refused.
    pub(super) fn new(
        schema: &'a Value,
        format_case: &'a FormatCase,
        role: Role,
        markers: Markers,
    ) -> Option<Result<Self, String>> {
        let is_wrapped = role == Role::Arguments && schema["type"] != "object";
        let whole = if is_wrapped { wrapped(schema)? } else { schema.clone() };
        let request = match role {
            Role::Answer => Demand { response_schema: Some(whole.to_string()), ..Demand::default() },
            Role::Arguments => {
                requests::of(vec![requests::strict("f", &whole.to_string())], ToolChoice::Required)
            }
        };
        if markers == Markers::Text && format_case.format.only_tokens(&request) {
            return None;
        }
        let grammar = format_case.format.grammar(&request, markers);
        let grammar = grammar.map(|grammar| grammar.expect("a demand has a grammar"));
        let fresh = grammar.and_then(|grammar| format_case.format.walker(&grammar, markers));
        Some(fresh.map(|fresh| Self { schema, format_case, role, markers, request, is_wrapped, fresh }))
    }

    /// Keeps the grammar but makes the request demand another schema, so that a wrong grammar is
    /// judged.
    pub(super) fn demanding(self, schema: &'a Value) -> Self {
        let other = Self::new(schema, self.format_case, self.role, self.markers)
            .expect("a demand")
            .expect("a grammar");
        Self { fresh: self.fresh, ..other }
    }

    /// Walks once and judges the result.
    pub(super) fn walk(&self, seed: u64) -> Result<(), String> {
        self.format_case.format.judge_walk(
            &self.request,
            &self.fresh,
            self.format_case.writer.0.prompt,
            seed,
            self.markers,
        )
    }

    /// Whether the mask allows the value in any of the usual spellings.
    pub(super) fn verdict(&self, value: &Value) -> Verdict {
        let opened =
            self.fresh.opened(self.format_case.writer.0.prompt).expect("the prompt is part of the grammar");
        let orders = orders(&ordered(self.schema, value));
        let spellings = orders.iter().flat_map(|value| STYLES.map(|style| self.parts(value, style)));
        let mut verdict = Verdict::Unwritable;
        for parts in spellings.flatten() {
            match opened.accepts(&parts) {
                None => verdict = Verdict::KeptOut,
                Some(pieces) => {
                    let read = self.format_case.format.read(
                        &self.request,
                        self.format_case.writer.0.prompt,
                        &pieces,
                        self.markers,
                    );
                    return if self.is_exactly(&read, value) {
                        Verdict::Allowed
                    } else {
                        Verdict::Unwritable
                    };
                }
            }
        }
        verdict
    }

    /// Whether the items are this value and nothing else.
    fn is_exactly(&self, items: &[Item], value: &Value) -> bool {
        let [item] = items else { return false };
        let value = if self.is_wrapped { json!({"v": value}) } else { value.clone() };
        let is_role = matches!(item.head, Head::ToolCall(_)) == (self.role == Role::Arguments);
        let parsed = serde_json::from_str::<Value>(&item.text);
        is_role && parsed.as_ref().is_ok_and(|parsed| equal(parsed, &value))
    }

    /// Value as this format writes it; `None` where it can't be arguments.
    fn parts(&self, value: &Value, style: Style) -> Option<Parts> {
        match self.role {
            Role::Answer => Some(self.format_case.writer.answer(value, style)),
            Role::Arguments if self.is_wrapped => {
                let arguments = Map::from_iter([("v".to_owned(), value.clone())]);
                Some(self.format_case.writer.call(&arguments, style))
            }
            Role::Arguments => {
                value.as_object().map(|arguments| self.format_case.writer.call(arguments, style))
            }
        }
    }

    /// Reason for which the mask may keep out a valid value: the exceptions of docs/grammars.md for
    /// markers that are text and for parameters.
    pub(super) fn excuse(&self, value: &Value) -> Option<&'static str> {
        let writer = &self.format_case.writer;
        let has_parameters = self.role == Role::Arguments && writer.has_parameters();
        let has_notation = self.role == Role::Arguments && writer.has_notation();
        let begins = match self.role {
            Role::Arguments if !writer.has_raw_strings() => Vec::new(),
            _ => self.format_case.format.text_markers(self.markers),
        };
        let names = names(self.schema);
        let is_undeclared = |key: &str| !names.contains(&key);
        let schema = self.schema.to_string();
        // Only parameters that the schema declares can be written.
        let is_no_parameter = || {
            has_parameters
                && !self.is_wrapped
                && value.as_object().is_some_and(|members| members.keys().any(|key| is_undeclared(key)))
        };
        // Objects that declare properties may have no others where the schema doesn't mention
        // others, where others could spell markers, and in notations.
        let mentions_others = schema.contains("Properties\"") && !has_notation;
        let closes = || schema.contains("\"properties\"") && (!begins.is_empty() || !mentions_others);
        // Keys inside a value that is wrapped aren't keys of the arguments.
        let is_unwritable = |key: &str| !writer.writes_key(key, self.is_wrapped);
        let spells = |text: &str| begins.iter().any(|literal| text.contains(&literal[..1]));
        match () {
            () if has_text(value, &spells) => Some("it spells the beginning of a marker"),
            () if is_no_parameter() => Some("it has a parameter that isn't declared"),
            () if closes() && has_key(value, &is_undeclared) => Some("it has a property that isn't declared"),
            () if has_notation && has_key(value, &is_unwritable) => {
                Some("it has a key that can't be written")
            }
            () if has_parameters
                && value.is_string()
                && ["type", "enum", "const"].iter().all(|keyword| self.schema.get(keyword).is_none()) =>
            {
                Some("the schema of the parameter names no type")
            }
            () if has_parameters && is_respelt(self.schema, value) => {
                Some("a number that a parameter's schema lists is written as there")
            }
            () if no_alternative_declares(self.schema, value) => {
                Some("none of the alternatives declares all of its properties")
            }
            () => None,
        }
    }
}

/// Whether the schema lists this number in another spelling.
fn is_respelt(schema: &Value, value: &Value) -> bool {
    let listed = schema["enum"].as_array().into_iter().flatten().chain(schema.get("const"));
    let is_same = |one: &Value| one.is_number() && one.as_f64() == value.as_f64() && one != value;
    value.is_number() && listed.into_iter().any(is_same)
}

/// Whether each alternative declares properties, doesn't mention others, and lacks a property of
/// the value.
fn no_alternative_declares(schema: &Value, value: &Value) -> bool {
    let (Some(alternatives), Some(members)) = (schema["anyOf"].as_array(), value.as_object()) else {
        return false;
    };
    let lacks = |one: &Value| {
        let declared = one["properties"].as_object().filter(|_| one.get("additionalProperties").is_none());
        declared.is_some_and(|declared| members.keys().any(|key| !declared.contains_key(key)))
    };
    alternatives.iter().all(lacks)
}

/// Whether two values are equal, regardless of the order of keys.
fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_there =
                |(key, value): (&String, &Value)| other.get(key).is_some_and(|other| equal(value, other));
            one.len() == other.len() && one.iter().all(is_there)
        }
        _ => spelt(one, Style::Dense) == spelt(other, Style::Dense),
    }
}

/// Small object with its keys in every order, the given order first, since the parts of a schema
/// don't determine an order.
fn orders(value: &Value) -> Vec<Value> {
    let Some(members) = value.as_object().filter(|members| members.len() < 4) else {
        return vec![value.clone()];
    };
    let Some(last) = members.len().checked_sub(1) else { return vec![value.clone()] };
    let mut all = Vec::new();
    for first in 0..=last {
        let (key, value) = members.iter().nth(first).expect("a member");
        let rest: Map<_, _> = members
            .iter()
            .filter(|(other, _)| *other != key)
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        for rest in orders(&Value::Object(rest)) {
            let rest = rest.as_object().cloned().unwrap_or_default();
            all.push(Value::Object([(key.clone(), value.clone())].into_iter().chain(rest).collect()));
        }
    }
    all
}

fn has_key(value: &Value, test: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(key, value)| test(key) || has_key(value, test)),
        Value::Array(values) => values.iter().any(|value| has_key(value, test)),
        _ => false,
    }
}

/// Whether a string or a key of the value satisfies `is_meant`.
fn has_text(value: &Value, is_meant: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_meant(text),
        Value::Array(values) => values.iter().any(|value| has_text(value, is_meant)),
        Value::Object(members) => {
            members.iter().any(|(key, value)| is_meant(key) || has_text(value, is_meant))
        }
        _ => false,
    }
}

/// Tries one schema in one format, in both roles, with markers that are tokens and with markers
/// that are text.
pub(super) fn try_case(case: &Case, format_case: &FormatCase, walks: u64, tally: &mut Tally) {
    for role in [Role::Answer, Role::Arguments] {
        for markers in [Markers::Tokens, Markers::Text] {
            let about = format!("{} {role:?} {markers:?} {}", case.name, case.schema);
            match Trial::new(&case.schema, format_case, role, markers) {
                None => {}
                Some(Err(reason)) => tally.refuse(&about, &reason),
                Some(Ok(trial)) => {
                    tally.grammars += 1;
                    if is_readable(&case.schema) {
                        (0..walks).for_each(|seed| tally.walked(&about, seed, trial.walk(seed)));
                    }
                    try_values(case, &trial, &about, tally);
                }
            }
        }
    }
}

pub(super) fn try_values(case: &Case, trial: &Trial<'_>, about: &str, tally: &mut Tally) {
    for (values, is_valid_here) in [(&case.valid, true), (&case.invalid, false)] {
        // Values about which validator and data disagree, as on formats, don't count.
        for value in values.iter().filter(|value| is_valid(&case.schema, value).is_ok() == is_valid_here) {
            match (trial.verdict(value), is_valid_here) {
                (Verdict::Unwritable, _) => tally.unwritable += 1,
                (Verdict::Allowed, true) => tally.allowed += 1,
                (Verdict::KeptOut, false) => tally.kept_out += 1,
                (Verdict::KeptOut, true) => tally.refused_valid(about, value, trial.excuse(value)),
                (Verdict::Allowed, false) => tally.allowed_invalid(about, value),
            }
        }
    }
}

/// Schema of an object whose property `v` has the given schema; `None` where the schema's
/// references would then be wrong.
fn wrapped(schema: &Value) -> Option<Value> {
    let mut inner = schema.clone();
    let mut whole = json!({"type": "object", "required": ["v"], "additionalProperties": false});
    if let Some(members) = inner.as_object_mut() {
        for key in ["$schema", "$defs", "definitions"] {
            members.remove(key).into_iter().for_each(|value| whole[key] = value);
        }
    }
    let text = schema.to_string();
    let count = |word: &str| text.matches(word).count();
    let stays = count("\"$ref\":\"#/$defs/") + count("\"$ref\":\"#/definitions/");
    let named = ["\"$id\"", "\"$anchor\"", "\"$dynamicRef\"", "\"$dynamicAnchor\""].map(count);
    whole["properties"] = json!({"v": inner});
    (named == [0; 4] && count("\"$ref\"") == stays).then_some(whole)
}
