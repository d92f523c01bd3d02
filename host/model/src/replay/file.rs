//! Reader of a replay file's JSON. It is strict: every error names the place
//! (`rules[1].when.last_role`) and what belongs there.

use std::time::Duration;

use engine::{PlayedEnd, PlayedOutput};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::condition::Condition;
use super::{Rule, Vocabulary};
use prompt::Role;

/// How output is played. Where neither rule nor file says: one token per step, at once, ended by
/// the model.
struct Pacing {
    tokens_per_step: usize,
    pace_ms: u64,
    end: PlayedEnd,
}

/// Reads the text of a file. Errors are one line: place and reason.
pub(super) fn parse(text: &str, vocabulary: &Vocabulary<'_>) -> Result<Vec<Rule>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?;
    let mut fields = ScriptObject::of(String::new(), value)?;
    let defaults = pacing(&mut fields, &Pacing { tokens_per_step: 1, pace_ms: 0, end: PlayedEnd::Stop })?;
    let rules: Vec<Value> = fields.take("rules")?.ok_or("rules: is missing (a list of rules)")?;
    fields.end()?;
    if rules.is_empty() {
        return Err("rules: is empty, so that nothing could ever be played".to_string());
    }
    let numbered = rules.into_iter().enumerate();
    numbered.map(|(index, value)| rule(format!("rules[{index}]"), value, &defaults, vocabulary)).collect()
}

fn rule(at: String, value: Value, defaults: &Pacing, vocabulary: &Vocabulary<'_>) -> Result<Rule, String> {
    let mut fields = ScriptObject::of(at, value)?;
    let when = match fields.take::<Value>("when")? {
        Some(value) => condition(ScriptObject::of(fields.place("when"), value)?)?,
        None => Condition::default(),
    };
    let tokens = match (fields.take::<String>("text")?, fields.take("tokens")?) {
        (Some(text), None) => {
            (vocabulary.encode)(&text).map_err(|error| format!("{}: {error}", fields.place("text")))?
        }
        (None, Some(tokens)) => checked(tokens, &fields.place("tokens"), vocabulary.size)?,
        _ => return Err(format!("{}: needs either `text` or `tokens`, and not both", fields.place)),
    };
    let Pacing { tokens_per_step, pace_ms, end } = pacing(&mut fields, defaults)?;
    fields.end()?;
    let pace = (pace_ms > 0).then(|| Duration::from_millis(pace_ms));
    Ok(Rule { when, output: PlayedOutput { tokens, tokens_per_step, pace, end } })
}

/// Checks that the model has all ids in `tokens`.
fn checked(tokens: Vec<u32>, place: &str, size: usize) -> Result<Vec<u32>, String> {
    match tokens.iter().enumerate().find(|(_, id)| **id as usize >= size) {
        Some((at, id)) => Err(format!("{place}[{at}]: the model has no token {id}, only ids below {size}")),
        None => Ok(tokens),
    }
}

fn condition(mut fields: ScriptObject) -> Result<Condition, String> {
    let condition = Condition {
        last_role: fields.take_one_of("last_role", &ROLES)?,
        contains: fields.take("contains")?,
        last_user_contains: fields.take("last_user_contains")?,
        tool_declared: fields.take("tool_declared")?,
        tool_results: fields.take("tool_results")?,
    };
    fields.end()?;
    Ok(condition)
}

fn pacing(fields: &mut ScriptObject, defaults: &Pacing) -> Result<Pacing, String> {
    Ok(Pacing {
        tokens_per_step: fields.take("tokens_per_step")?.unwrap_or(defaults.tokens_per_step),
        pace_ms: fields.take("pace_ms")?.unwrap_or(defaults.pace_ms),
        end: fields.take_one_of("finish", &ENDS)?.unwrap_or(defaults.end),
    })
}

const ROLES: [(&str, Role); 5] = [
    ("system", Role::System),
    ("developer", Role::Developer),
    ("user", Role::User),
    ("assistant", Role::Assistant),
    ("tool", Role::Tool),
];

const ENDS: [(&str, PlayedEnd); 4] = [
    ("stop", PlayedEnd::Stop),
    ("length", PlayedEnd::Length),
    ("error", PlayedEnd::Error),
    ("hang", PlayedEnd::Hang),
];

/// JSON object whose fields are taken one by one; a field that is left at the end is unknown.
struct ScriptObject {
    place: String,
    values: Map<String, Value>,
    known: Vec<&'static str>,
}

impl ScriptObject {
    fn of(place: String, value: Value) -> Result<Self, String> {
        match value {
            Value::Object(values) => Ok(Self { place, values, known: Vec::new() }),
            _ if place.is_empty() => Err("is not a JSON object".to_string()),
            _ => Err(format!("{place}: is not a JSON object")),
        }
    }

    fn place(&self, field: &str) -> String {
        if self.place.is_empty() { field.to_string() } else { format!("{}.{field}", self.place) }
    }

    fn take<T: DeserializeOwned>(&mut self, field: &'static str) -> Result<Option<T>, String> {
        self.known.push(field);
        let value = self.values.remove(field).map(serde_json::from_value).transpose();
        value.map_err(|error| format!("{}: {error}", self.place(field)))
    }

    fn take_one_of<T: Copy>(
        &mut self,
        field: &'static str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, String> {
        let Some(text) = self.take::<String>(field)? else { return Ok(None) };
        if let Some((_, choice)) = choices.iter().find(|(name, _)| *name == text) {
            return Ok(Some(*choice));
        }
        let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
        Err(format!("{}: {text:?} is none of {}", self.place(field), names.join(", ")))
    }

    fn end(self) -> Result<(), String> {
        match self.values.keys().next() {
            Some(field) => {
                Err(format!("{}: unknown field (known: {})", self.place(field), self.known.join(", ")))
            }
            None => Ok(()),
        }
    }
}
