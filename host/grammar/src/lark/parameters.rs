//! Grammar of parameters written one by one (Qwen3-Coder, GLM), by the tool's schema and as turns
//! read them ([`turn::values`]).
//!
//! Declared parameters come in the schema's order, each at most once. Strings are raw text, others
//! JSON that spells no marker. What is left out here narrows the call. What would widen it is an
//! error for strict tools; other tools may have any parameters then.

use serde_json::{Map, Value as Json, json};

use super::arguments::ArgumentsRule;
use super::demanded::Callable;
use super::schema::{self, Follow};
use super::text::Forbidden;
use super::writer::{self, Lark, literal};
use super::{safe, schema::ANNOTATIONS};
use contract::Types;
use turn::values::{Coerced, Schema, coerce};

/// Keywords that may stand beside the properties of a tool's arguments.
const AROUND: [&str; 7] =
    ["type", "properties", "required", "additionalProperties", "$defs", "definitions", "$schema"];

/// Keywords of a reference to a schema that settles all else. (`type` counts in the types of its
/// parameter.)
const BESIDE_REF: [&str; 5] = ["$ref", "type", "$defs", "definitions", "$schema"];

/// Most parameters of a tool whose schema is followed.
const PARAMETERS: usize = 1024;
/// Most bytes of a tool's parameters. Each of them carries the definitions of its schema.
const BYTES: usize = 1 << 20;

/// The value of a parameter, each a Lark expression.
#[derive(Debug)]
pub(crate) enum Value<'a> {
    /// Text that spells none of [`Spelling::markers`]: the rule [`Spelling::text`].
    Text(&'a str),
    /// Exactly the texts of this expression.
    Exactly(String),
    /// JSON; white space may stand around it.
    Json(String),
    /// The input of a custom tool by its own grammar: a rule that the format has defined
    /// ([`Lark::input`], [`Lark::input_before`]).
    Input(&'a str),
}

/// How a format writes its parameters.
pub(crate) struct Spelling<'a> {
    /// The rule of raw values, which spells none of `markers`.
    pub(crate) text: &'a str,
    /// Indices of the markers that end a raw value.
    pub(crate) markers: &'a [usize],
    /// Whether the format can write a key.
    pub(crate) fits: &'a dyn Fn(&str) -> bool,
    /// Writes the Lark expression of a parameter, given that of its key, and its value.
    pub(crate) write: &'a dyn Fn(&str, &Value<'_>) -> String,
}

impl std::fmt::Debug for Spelling<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Spelling").field("text", &self.text).finish_non_exhaustive()
    }
}

impl Spelling<'_> {
    /// Whether a parameter of this name can be written.
    fn spells(&self, name: &str) -> bool {
        let is_in = |char: char| !"<>=".contains(char) && !char.is_whitespace();
        (1..=64).contains(&name.len()) && name.chars().all(is_in) && (self.fits)(name)
    }
}

/// The parameters of a call, each a Lark expression.
#[derive(Debug)]
pub(crate) enum ParameterList {
    /// This one, any number of times: its key is any.
    Any(String),
    /// These in any order, each at most once.
    Free(Vec<String>),
    /// These in this order.
    Declared(Vec<DeclaredParameter>),
}

/// A parameter, as a Lark expression.
#[derive(Debug)]
pub(crate) struct DeclaredParameter {
    pub(crate) written: String,
    /// Whether it has to be there.
    pub(crate) is_required: bool,
}

impl DeclaredParameter {
    /// Lark expression of the parameter where it may be missing if it may.
    pub(crate) fn or_nothing(self) -> String {
        if self.is_required { self.written } else { format!("({})?", self.written) }
    }
}

impl ParameterList {
    /// Parameters in any order. Of many each may come more than once: there are as many rules as
    /// subsets otherwise.
    pub(crate) fn free(all: Vec<String>) -> Self {
        match all.len() {
            0 => Self::Declared(Vec::new()),
            1..=5 => Self::Free(all),
            _ => Self::Any(format!("({})", all.join(" | "))),
        }
    }
}

/// The parameters of a call. If the format says of each value whether it is a string (`is_typed`),
/// a listed string may look like JSON, and what is listed and no string is [`Value::Json`].
///
/// # Errors
/// The tool is strict, and its schema can't be followed; one line naming the tool and the
/// parameter.
pub(crate) fn parameter_list(
    lark: &Lark,
    callable: &Callable<'_>,
    spelling: &Spelling<'_>,
    is_typed: bool,
) -> Result<ParameterList, String> {
    let forbidden = || lark.forbidden(spelling.markers.iter().copied());
    let any = || Ok(ParameterList::Any(with_any_value("key", spelling, &forbidden()?, is_typed)?));
    let input = |value| {
        let written = (spelling.write)(&literal("input"), value);
        ParameterList::Declared(vec![DeclaredParameter { written, is_required: true }])
    };
    match &callable.arguments {
        ArgumentsRule::Any => any(),
        ArgumentsRule::Keys(keys)
            if keys.len() > PARAMETERS || !keys.iter().all(|key| spelling.spells(key)) =>
        {
            any()
        }
        ArgumentsRule::Keys(keys) => {
            let forbidden = forbidden()?;
            let one = |key: &String| with_any_value(&literal(key), spelling, &forbidden, is_typed);
            Ok(ParameterList::free(keys.iter().map(one).collect::<Result<_, _>>()?))
        }
        ArgumentsRule::Text(None) => Ok(input(&Value::Text(spelling.text))),
        ArgumentsRule::Text(Some(rule)) => Ok(input(&Value::Input(rule.rule()))),
        ArgumentsRule::Schema { schema, strict } => {
            match (Object { root: schema, forbidden: &forbidden()?, spelling, is_typed }).parameters() {
                Err(error) if *strict => Err(format!("tool {:?}: {error}", callable.tool.name)),
                Err(_) => any(),
                Ok(parameters) => Ok(ParameterList::Declared(parameters)),
            }
        }
    }
}

/// A parameter of this key, given as a Lark expression, with any value.
fn with_any_value(
    key: &str,
    spelling: &Spelling<'_>,
    forbidden: &Forbidden,
    is_typed: bool,
) -> Result<String, String> {
    let text = (spelling.write)(key, &Value::Text(spelling.text));
    if !is_typed {
        return Ok(text);
    }
    let others = json!({"type": ["object", "array", "number", "boolean", "null"]});
    let others = writer::json(&schema::prepared(safe::without(others, forbidden)?, Follow::Strictly));
    Ok(format!("({text} | {})", (spelling.write)(key, &Value::Json(others))))
}

/// The arguments of a call by their schema.
struct Object<'a> {
    root: &'a Json,
    forbidden: &'a Forbidden,
    spelling: &'a Spelling<'a>,
    /// Whether the format says of each value whether it is a string.
    is_typed: bool,
}

impl Object<'_> {
    fn parameters(&self) -> Result<Vec<DeclaredParameter>, String> {
        let object = self.resolved(self.root)?;
        if let Some(keyword) =
            object.keys().find(|key| !AROUND.contains(&key.as_str()) && !is_annotation(key))
        {
            return Err(format!("`{keyword}` beside the parameters can't be followed in this format"));
        }
        if !safe::may_be(&object, "object") {
            return Err("its schema allows no object".into());
        }
        let none = Map::new();
        let properties = object.get("properties").and_then(Json::as_object).unwrap_or(&none);
        let required: Vec<&str> = object
            .get("required")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .filter_map(Json::as_str)
            .collect();
        if let Some(name) = required.iter().find(|name| !properties.contains_key(**name)) {
            return Err(format!("parameter {name:?} is required and not described"));
        }
        if properties.len() > PARAMETERS {
            return Err(format!("it has more than {PARAMETERS} parameters"));
        }
        let types = Schema::parse(&self.root.to_string());
        let (mut parameters, mut bytes) = (Vec::new(), 0);
        for (name, schema) in properties {
            let written = match types.stated(name) {
                Some(Types::NONE) => Err("no value can satisfy its schema".into()),
                types => self.parameter(name, schema, types.unwrap_or(Types::STRING)),
            };
            let written = written.map_err(|error| format!("parameter {name:?}: {error}"))?;
            bytes += written.len();
            if bytes > BYTES {
                return Err("what its parameters may be takes too much to write".into());
            }
            parameters.push(DeclaredParameter { written, is_required: required.contains(&name.as_str()) });
        }
        Ok(parameters)
    }

    fn parameter(&self, name: &str, schema: &Json, types: Types) -> Result<String, String> {
        if !self.spelling.spells(name) {
            return Err("the name can't be written in this format".into());
        }
        let values = self.values(schema, types)?;
        let written: Vec<String> =
            values.iter().map(|value| (self.spelling.write)(&literal(name), value)).collect();
        Ok(if written.len() == 1 { written.concat() } else { format!("({})", written.join(" | ")) })
    }

    /// The spellings of a value: one, or that of its strings and that of its other values.
    fn values(&self, schema: &Json, types: Types) -> Result<Vec<Value<'_>>, String> {
        let members = self.resolved(schema)?;
        let values = match (members.get("enum"), members.get("const")) {
            (Some(Json::Array(values)), None) => Some(values.clone()),
            (None, Some(value)) => Some(vec![value.clone()]),
            _ => None,
        };
        let others = members
            .keys()
            .any(|key| !["enum", "const", "type"].contains(&key.as_str()) && !is_annotation(key));
        match values {
            Some(values) if !others => self.one_of(&values, types),
            _ if !types.allows(Types::STRING) => Ok(vec![self.json(schema, &members, types)?]),
            _ if says_types_alone(&members) => {
                let mut values = vec![Value::Text(self.spelling.text)];
                let types = if states_a_type(&members) { types } else { Types::ANY };
                values.extend(if self.is_typed { self.others(types)? } else { None });
                Ok(values)
            }
            _ => Err("a string with conditions can't be followed in this format".into()),
        }
    }

    /// What a value of these types may be beside a string.
    fn others(&self, types: Types) -> Result<Option<Value<'_>>, String> {
        let all = [
            (Types::NULL, "null"),
            (Types::BOOLEAN, "boolean"),
            (Types::INTEGER, "integer"),
            (Types::NUMBER, "number"),
            (Types::ARRAY, "array"),
            (Types::OBJECT, "object"),
        ];
        let names: Vec<&str> =
            all.into_iter().filter(|(one, _)| types.allows(*one)).map(|(_, name)| name).collect();
        if names.is_empty() {
            return Ok(None);
        }
        let safe = safe::without(json!({"type": names}), self.forbidden)?;
        Ok(Some(Value::Json(writer::json(&schema::prepared(safe, Follow::Strictly)))))
    }

    /// One of these values, each of which must be read back as it was.
    fn one_of(&self, values: &[Json], types: Types) -> Result<Vec<Value<'_>>, String> {
        let (mut strings, mut others) = (Vec::new(), Vec::new());
        for value in values {
            let (text, reads) = match value {
                Json::String(text) => (text.clone(), self.is_typed || coerce(text, types) == Coerced::Text),
                other => (other.to_string(), coerce(&other.to_string(), types) == Coerced::Verbatim),
            };
            let is_string = value.is_string();
            if !reads
                || (is_string && !types.allows(Types::STRING))
                || !self.forbidden.allows(&text)
                || text.starts_with('\n')
                || text.ends_with('\n')
            {
                return Err(format!("the value {value} can't be written in this format"));
            }
            let texts = if is_string || !self.is_typed { &mut strings } else { &mut others };
            texts.push(literal(&text));
        }
        let one = |texts: Vec<String>| format!("({})", texts.join(" | "));
        Ok(match (strings.is_empty(), others.is_empty()) {
            (_, true) => vec![Value::Exactly(one(strings))],
            (true, false) => vec![Value::Json(one(others))],
            (false, false) => vec![Value::Exactly(one(strings)), Value::Json(one(others))],
        })
    }

    /// A value that is no string.
    fn json(&self, schema: &Json, members: &Map<String, Json>, types: Types) -> Result<Value<'_>, String> {
        let is_bare = members.keys().all(|key| key == "type" || is_annotation(key));
        if is_bare && types == Types::INTEGER {
            return Ok(Value::Json("INTEGER".into()));
        }
        if is_bare && types == Types::NUMBER {
            return Ok(Value::Json("NUMBER".into()));
        }
        if refers_beyond_definitions(schema) {
            return Err("a reference to anything but a definition can't be followed in this format".into());
        }
        let mut alone = schema::members(schema.clone());
        for key in ["$defs", "definitions", "$schema"] {
            if let Some(value) = self.root.get(key) {
                alone.entry(key).or_insert_with(|| value.clone());
            }
        }
        let safe = safe::without(Json::Object(alone), self.forbidden)?;
        Ok(Value::Json(writer::json(&schema::prepared(safe, Follow::Strictly))))
    }

    /// The schema itself, or the schema that it refers to if it says nothing else about values.
    fn resolved(&self, schema: &Json) -> Result<Map<String, Json>, String> {
        let mut members = schema::members(schema.clone());
        for _ in 0..64 {
            let Some(target) = members.get("$ref").and_then(Json::as_str) else { return Ok(members) };
            let found = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            let alone = members.keys().all(|key| BESIDE_REF.contains(&key.as_str()) || is_annotation(key));
            match found {
                Some(found) if alone => members = schema::members(found.clone()),
                _ => return Err(format!("the reference {target:?} can't be followed")),
            }
        }
        Err("references lead nowhere".into())
    }
}

/// Whether a schema, which is about to stand alone, refers to what won't stand beside it.
fn refers_beyond_definitions(schema: &Json) -> bool {
    let is_definition = |target: &str| ["#/$defs/", "#/definitions/"].iter().any(|at| target.starts_with(at));
    match schema {
        Json::Object(members) => members.iter().any(|(key, value)| match value {
            Json::String(target) if key == "$ref" => !is_definition(target),
            inner => refers_beyond_definitions(inner),
        }),
        Json::Array(items) => items.iter().any(refers_beyond_definitions),
        _ => false,
    }
}

fn is_annotation(key: &str) -> bool {
    ANNOTATIONS.contains(&key)
}

/// Whether a schema that says nothing about values but their types says that.
fn states_a_type(members: &Map<String, Json>) -> bool {
    let states = |part: &Json| part.as_object().is_some_and(states_a_type);
    members.contains_key("type")
        || members.get("anyOf").and_then(Json::as_array).is_some_and(|parts| parts.iter().all(states))
}

/// Whether a schema says nothing about values but their types.
fn is_plain(schema: &Json) -> bool {
    match schema {
        Json::Object(members) => says_types_alone(members),
        schema => *schema == json!(true),
    }
}

/// [`is_plain`] for the keywords of a schema.
fn says_types_alone(members: &Map<String, Json>) -> bool {
    members.iter().all(|(key, value)| match key.as_str() {
        "type" => true,
        "anyOf" => value.as_array().is_some_and(|parts| !parts.is_empty() && parts.iter().all(is_plain)),
        key => is_annotation(key),
    })
}
