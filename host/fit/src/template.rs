//! Runs a chat template on a conversation with one turn of the model.

use std::time::Duration;

use jinja::{Error, Limits, Origin, Template, Text, Value};
use model::TemplateFiles;
use serde_json::json;
use system::CpuBudget;

use crate::conversation::{Carrier, Context, Conversations, Reasoning, TOOLS, Turn};
use crate::probes::{Declared, Probe, parameters};

/// CPU time of one run.
const TIME: Duration = Duration::from_secs(5);
/// Bytes that one run may write.
const BYTES: usize = 4 << 20;

/// Error of a template that can't be parsed, in one line.
#[derive(Debug)]
pub struct ChatTemplateError(pub String);

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
    conversations: Conversations,
    /// Whether it takes only plain declarations of tools.
    takes_plain: bool,
    /// Time of all runs.
    rendering: CpuBudget,
}

impl ProbeTemplate {
    pub(crate) fn parse(files: &TemplateFiles, call_ids: Option<String>) -> Result<Self, ChatTemplateError> {
        let source = files.chat.tool_template.as_ref().unwrap_or(&files.chat.template);
        let template = Template::parse(source).map_err(|error| ChatTemplateError(one_line(&error)))?;
        let special = files.chat.special_tokens.iter();
        let special = special.map(|(name, literal)| (name.clone(), Value::text(Origin::Template, literal)));
        let mut parsed = Self {
            template,
            special: special.collect(),
            conversations: Conversations(call_ids),
            takes_plain: false,
            rendering: files.rendering.clone(),
        };
        if parsed.opening().is_err() {
            parsed.takes_plain = true;
            parsed.takes_plain = parsed.opening().is_ok();
        }
        Ok(parsed)
    }

    /// What the template writes for the conversation before the probe, without and with the
    /// opening of a turn, then for the conversation with it. The error is the template's message.
    pub(crate) fn run(
        &self,
        probe: &Probe,
        context: Context,
        carrier: &Carrier,
        argument: Option<(&str, &str)>,
    ) -> Result<[Text; 3], String> {
        let [before, opened] =
            self.prompts(context, carrier, argument, self.declared(probe.is_nullable()))?;
        let whole = self.with(&probe.turn(), &self.tools(probe), context, carrier, argument)?;
        Ok([before, opened, whole])
    }

    /// What the template writes for the conversation with the turn.
    pub(crate) fn with(
        &self,
        turn: &Turn,
        tools: &[serde_json::Value],
        context: Context,
        carrier: &Carrier,
        argument: Option<(&str, &str)>,
    ) -> Result<Text, String> {
        let messages = self.conversations.before(context, carrier).and_then(|mut messages| {
            messages.extend(self.conversations.from(turn, context, carrier)?);
            Ok(messages)
        });
        self.output(messages.map_err(|error| one_line(&error))?, tools, false, argument)
    }

    /// What the generation prompt writes of a turn.
    pub(crate) fn opening(&self) -> Result<String, String> {
        let carrier = Carrier {
            reasoning: Reasoning::Key("reasoning_content"),
            arguments_as_text: false,
            content_none: false,
        };
        let [before, opened] = self.prompts(Context::Last, &carrier, None, self.declared(false))?;
        Ok(opened.as_str().strip_prefix(before.as_str()).unwrap_or_default().to_owned())
    }

    fn prompts(
        &self,
        context: Context,
        carrier: &Carrier,
        argument: Option<(&str, &str)>,
        declared: Declared,
    ) -> Result<[Text; 2], String> {
        let tools = declarations(declared);
        let messages = self.conversations.before(context, carrier).map_err(|error| one_line(&error))?;
        let before = self.output(messages.clone(), &tools, false, argument)?;
        Ok([before, self.output(messages, &tools, true, argument)?])
    }

    fn declared(&self, nullable: bool) -> Declared {
        match (nullable, self.takes_plain) {
            (true, _) => Declared::Nullable,
            (false, true) => Declared::Plain,
            (false, false) => Declared::All,
        }
    }

    /// Tools that a probe declares.
    fn tools(&self, probe: &Probe) -> Vec<serde_json::Value> {
        declarations(self.declared(probe.is_nullable()))
    }

    fn output(
        &self,
        messages: Vec<Value>,
        tools: &[serde_json::Value],
        opens: bool,
        argument: Option<(&str, &str)>,
    ) -> Result<Text, String> {
        let variables = || -> Result<Vec<(&str, Value)>, Error> {
            let tools = tools.iter().map(|tool| Value::from_json(&tool.to_string(), Origin::Request));
            let special = self.special.iter().map(|(name, value)| (name.as_str(), value.clone()));
            let mut variables: Vec<(&str, Value)> = special.collect();
            if let Some((name, value)) = argument {
                variables.push((name, Value::from_json(value, Origin::Template)?));
            }
            variables.extend([
                ("messages", Value::list(messages)?),
                ("tools", Value::list(tools.collect::<Result<_, _>>()?)?),
                ("documents", Value::None),
                ("add_generation_prompt", Value::Bool(opens)),
            ]);
            Ok(variables)
        };
        let render = |variables| {
            self.rendering.run(TIME, |is_exhausted| {
                self.template.render(variables, &Limits { text_bytes: BYTES, is_exhausted })
            })
        };
        let output = variables().and_then(render);
        Ok(output.map_err(|error| one_line(&error))?.text)
    }
}

/// The tools of all probes.
fn declarations(declared: Declared) -> Vec<serde_json::Value> {
    TOOLS.iter().map(|name| declaration(name, &parameters(declared))).collect()
}

/// The declaration of a function.
pub(crate) fn declaration(name: &str, parameters: &serde_json::Value) -> serde_json::Value {
    let function = json!({ "name": name, "description": "a tool", "parameters": parameters });
    json!({ "type": "function", "function": function })
}

fn one_line(error: &Error) -> String {
    error.to_string().lines().collect::<Vec<_>>().join(" ")
}
