//! Runs a chat template on a probe, in the form in which this template shows most.

use std::time::{Duration, Instant};

use jinja::{Error, Limits, Origin, Template, Text, Value};
use model::TemplateFiles;
use model::prompt::spell_call_id;
use serde_json::json;

use crate::probes::{Probe, TOOLS, parameters};

/// Time of one run.
const TIME: Duration = Duration::from_secs(5);
/// Bytes that one run may write.
const BYTES: usize = 4 << 20;

/// Error of a template that can't be parsed, in one line.
#[derive(Debug)]
pub struct TemplateError(pub String);

/// Where a probe's turn stands in the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    /// It is the last message.
    Last,
    /// The results of its calls follow.
    Results,
    /// It follows a call and its result.
    After,
}

impl Context {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Last => "last",
            Self::Results => "results",
            Self::After => "after",
        }
    }
}

/// How a template takes what a turn holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Carrier {
    /// Key of the reasoning.
    pub(crate) reasoning: &'static str,
    /// Whether arguments are JSON text, not objects.
    pub(crate) arguments_as_text: bool,
    /// Whether a turn without text has none as its content, not an empty text.
    pub(crate) content_none: bool,
}

/// Template arguments that are tried.
pub(crate) const ARGUMENTS: [Option<(&str, &str)>; 6] = [
    None,
    Some(("enable_thinking", "true")),
    Some(("enable_thinking", "false")),
    Some(("thinking", "true")),
    Some(("thinking", "false")),
    Some(("reasoning_effort", "\"high\"")),
];

/// A parsed chat template with its special tokens.
pub(crate) struct ProbeTemplate {
    template: Template,
    special: Vec<(String, Value)>,
    /// How ids of calls are spelt, where the parser's format says so.
    call_ids: Option<String>,
}

impl ProbeTemplate {
    pub(crate) fn parse(files: &TemplateFiles, call_ids: Option<String>) -> Result<Self, TemplateError> {
        let source = files.chat.tool_template.as_ref().unwrap_or(&files.chat.template);
        let template = Template::parse(source).map_err(|error| TemplateError(one_line(&error)))?;
        let special = files.chat.special_tokens.iter();
        let special = special.map(|(name, literal)| (name.clone(), text(Origin::Template, literal)));
        Ok(Self { template, special: special.collect(), call_ids })
    }

    /// What the template writes for the conversation before the probe, without and with the
    /// opening of a turn, then for the conversation with it. The error is the template's message.
    pub(crate) fn run(
        &self,
        probe: &Probe,
        context: Context,
        carrier: Carrier,
        argument: Option<(&str, &str)>,
    ) -> Result<[Text; 3], String> {
        let before = self.before(context, carrier);
        let index = usize::from(context == Context::After);
        let turn = before.clone().and_then(|mut messages| {
            messages.push(self.turn(probe, index, carrier)?);
            if context == Context::Results {
                for (at, (name, _)) in probe.calls.iter().enumerate() {
                    messages.push(result(&self.call_id(name, at), name)?);
                }
            }
            Ok(messages)
        });
        let messages = [before.clone(), before, turn];
        let nullable = probe.name == "null";
        let run = |messages, opens| self.output(messages, opens, argument, nullable);
        let [plain, opened, with_turn] = messages.map(|messages| messages.map_err(|error| one_line(&error)));
        Ok([run(plain?, false)?, run(opened?, true)?, run(with_turn?, false)?])
    }

    fn output(
        &self,
        messages: Vec<Value>,
        opens: bool,
        argument: Option<(&str, &str)>,
        nullable: bool,
    ) -> Result<Text, String> {
        let end = Instant::now() + TIME;
        let limits = Limits { text_bytes: BYTES, is_exhausted: &|| Instant::now() > end };
        let variables = || -> Result<Vec<(&str, Value)>, Error> {
            let declared = TOOLS.map(|name| declaration(name, nullable)).into_iter();
            let special = self.special.iter().map(|(name, value)| (name.as_str(), value.clone()));
            let mut variables: Vec<(&str, Value)> = special.collect();
            if let Some((name, value)) = argument {
                variables.push((name, Value::from_json(value, Origin::Template)?));
            }
            variables.extend([
                ("messages", Value::list(messages)?),
                ("tools", Value::list(declared.collect::<Result<_, _>>()?)?),
                ("documents", Value::None),
                ("add_generation_prompt", Value::Bool(opens)),
            ]);
            Ok(variables)
        };
        let output = variables().and_then(|variables| self.template.render(variables, &limits));
        Ok(output.map_err(|error| one_line(&error))?.text)
    }

    fn before(&self, context: Context, carrier: Carrier) -> Result<Vec<Value>, Error> {
        let user = Value::dict([
            ("role", text(Origin::Template, "user")),
            ("content", text(Origin::Request, "zquser")),
        ])?;
        let mut messages = vec![user];
        if context == Context::After {
            let earlier =
                Probe { calls: vec![(TOOLS[1], json!({ "zktwo": "zqearlier" }))], ..Probe::default() };
            messages.push(self.turn(&earlier, 0, carrier)?);
            messages.push(result(&self.call_id(TOOLS[1], 0), TOOLS[1])?);
        }
        Ok(messages)
    }

    /// The turn as a message; `index` counts the conversation's calls before it.
    fn turn(&self, probe: &Probe, index: usize, carrier: Carrier) -> Result<Value, Error> {
        let content = match probe.text {
            Some(written) => text(Origin::Request, written),
            None if carrier.content_none => Value::None,
            None => text(Origin::Request, ""),
        };
        let mut entries = vec![("role", text(Origin::Template, "assistant")), ("content", content)];
        entries.extend(probe.reasoning.map(|words| (carrier.reasoning, text(Origin::Request, words))));
        let call = |(at, (name, arguments)): (usize, &(&str, serde_json::Value))| {
            let json = arguments.to_string();
            let arguments = if carrier.arguments_as_text {
                text(Origin::Request, &json)
            } else {
                Value::from_json(&json, Origin::Request)?
            };
            let function = Value::dict([("name", text(Origin::Request, name)), ("arguments", arguments)])?;
            let id = text(Origin::Request, &self.call_id(name, index + at));
            Value::dict([("type", text(Origin::Template, "function")), ("id", id), ("function", function)])
        };
        if !probe.calls.is_empty() {
            let calls = probe.calls.iter().enumerate().map(call).collect::<Result<_, Error>>()?;
            entries.push(("tool_calls", Value::list(calls)?));
        }
        Value::dict(entries)
    }

    /// Id of the call `index`. Some templates take only ids of nine letters and digits.
    fn call_id(&self, name: &str, index: usize) -> String {
        let spelt = self.call_ids.as_ref().map(|pattern| spell_call_id(pattern, name, index));
        spelt.unwrap_or_else(|| format!("qcall{index:04}"))
    }
}

fn result(id: &str, name: &str) -> Result<Value, Error> {
    Value::dict([
        ("role", text(Origin::Template, "tool")),
        ("content", text(Origin::Request, "zqres")),
        ("tool_call_id", text(Origin::Request, id)),
        ("name", text(Origin::Request, name)),
    ])
}

fn declaration(name: &str, nullable: bool) -> Result<Value, Error> {
    let function = json!({ "name": name, "description": "a tool", "parameters": parameters(nullable) });
    Value::from_json(&json!({ "type": "function", "function": function }).to_string(), Origin::Request)
}

fn text(origin: Origin, string: &str) -> Value {
    Value::text(origin, string)
}

fn one_line(error: &Error) -> String {
    error.to_string().lines().collect::<Vec<_>>().join(" ")
}
