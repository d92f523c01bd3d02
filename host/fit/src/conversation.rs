//! Conversations around one turn of the model, as messages in the form that a template takes.

use jinja::{Error, Origin, Text, Value};
use prompt::spell_call_id;
use serde_json::json;

/// Names of the declared tools.
pub(crate) const TOOLS: [&str; 3] = ["zqalpha", "zqbeta", "zqgamma"];

/// Where a probe's turn stands in the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    /// It is the last message.
    Last,
    /// The results of its calls follow.
    Results,
    /// It follows a call and its result.
    After,
    /// The results of its calls and a message of the user follow.
    History,
}

impl Context {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Last => "last",
            Self::Results => "results",
            Self::After => "after",
            Self::History => "history",
        }
    }

    /// Whether the turn isn't the last message.
    pub(crate) fn is_followed(self) -> bool {
        matches!(self, Self::Results | Self::History)
    }
}

/// Where a message has its reasoning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reasoning {
    /// Under this key.
    Key(&'static str),
    /// In a part of the content whose type is `thinking`.
    Block,
    /// In the content's text, between these delimiters.
    Inline(Delimiters),
}

/// Delimiters of reasoning in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Delimiters {
    pub(crate) open: String,
    pub(crate) close: String,
    /// Whether the message lacks the first one, as a turn does whose generation prompt wrote it.
    pub(crate) is_opened: bool,
}

impl Reasoning {
    /// All forms, for a parser with these markers.
    pub(crate) fn forms(markers: &[String]) -> Vec<Self> {
        let mut pairs = vec![("<think>".to_owned(), "</think>".to_owned())];
        for open in markers.iter().filter(|marker| marker.to_lowercase().contains("think")) {
            let close = open.get(..1).zip(open.get(1..)).map(|(first, rest)| format!("{first}/{rest}"));
            let pair = close.filter(|close| markers.contains(close)).map(|close| (open.clone(), close));
            pairs.extend(pair.filter(|pair| !pairs.contains(pair)));
        }
        let keys = ["reasoning_content", "thinking", "reasoning"].map(Self::Key);
        let inline = pairs.into_iter().flat_map(|(open, close)| {
            [false, true].map(|is_opened| {
                Self::Inline(Delimiters { open: open.clone(), close: close.clone(), is_opened })
            })
        });
        keys.into_iter().chain([Self::Block]).chain(inline).collect()
    }

    /// Its name in reports.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Key(key) => (*key).to_owned(),
            Self::Block => "a thinking block".to_owned(),
            Self::Inline(Delimiters { open, close, is_opened: false }) => {
                format!("text between {open} and {close}")
            }
            Self::Inline(Delimiters { close, .. }) => format!("text before {close}"),
        }
    }
}

/// How a template takes what a turn holds.
#[derive(Debug, Clone)]
pub(crate) struct Carrier {
    /// Place of the reasoning.
    pub(crate) reasoning: Reasoning,
    /// Whether arguments are JSON text, not objects.
    pub(crate) arguments_as_text: bool,
    /// Whether a turn without text has none as its content, not an empty text.
    pub(crate) content_none: bool,
}

impl Carrier {
    /// The content of a turn's message.
    fn content(&self, turn: &Turn) -> Result<Value, Error> {
        match (&self.reasoning, turn.reasoning) {
            (Reasoning::Inline(_), Some(_)) => Ok(self.inline(turn).map_or(Value::None, Value::Text)),
            (Reasoning::Block, Some(words)) => {
                let part = |kind, key, words| {
                    Value::dict([("type", text(Origin::Template, kind)), (key, text(Origin::Request, words))])
                };
                let mut parts = vec![part("thinking", "thinking", words)?];
                parts.extend(turn.text.map(|words| part("text", "text", words)).transpose()?);
                Value::list(parts)
            }
            _ => Ok(match turn.text {
                Some(written) => text(Origin::Request, written),
                None if self.content_none => Value::None,
                None => text(Origin::Request, ""),
            }),
        }
    }

    /// Reasoning and text as one text, in which the markup counts as the template's.
    pub(crate) fn inline(&self, turn: &Turn) -> Option<Text> {
        let Reasoning::Inline(Delimiters { open, close, is_opened }) = &self.reasoning else { return None };
        let open = if *is_opened { String::new() } else { format!("{open}\n") };
        Some(Text::concat(&[
            Text::new(Origin::Template, open),
            Text::new(Origin::Request, turn.reasoning?),
            Text::new(Origin::Template, format!("\n{close}\n\n")),
            Text::new(Origin::Request, turn.text.unwrap_or_default()),
        ]))
    }
}

/// What a turn of the model holds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn<'a> {
    pub(crate) reasoning: Option<&'a str>,
    pub(crate) text: Option<&'a str>,
    /// Names and arguments of the calls.
    pub(crate) calls: Vec<(&'a str, &'a serde_json::Value)>,
}

/// Conversations in which ids of calls are spelt like this, where the parser's format says how.
#[derive(Debug, Clone)]
pub(crate) struct Conversations(pub(crate) Option<String>);

impl Conversations {
    /// Id of the call `index`. Some templates take only ids of nine letters and digits.
    fn id(&self, name: &str, index: usize) -> String {
        let spelt = self.0.as_ref().map(|pattern| spell_call_id(pattern, name, index));
        spelt.unwrap_or_else(|| format!("qcall{index:04}"))
    }

    /// The messages before a turn.
    pub(crate) fn before(&self, context: Context, carrier: &Carrier) -> Result<Vec<Value>, Error> {
        let mut messages = vec![user()?];
        if context == Context::After {
            let arguments = json!({ "zktwo": "zqearlier" });
            let earlier = Turn { calls: vec![(TOOLS[1], &arguments)], ..Turn::default() };
            messages.push(self.message(&earlier, 0, carrier)?);
            messages.push(result(&self.id(TOOLS[1], 0), TOOLS[1])?);
        }
        Ok(messages)
    }

    /// The messages from a turn on.
    pub(crate) fn from(&self, turn: &Turn, context: Context, carrier: &Carrier) -> Result<Vec<Value>, Error> {
        let index = usize::from(context == Context::After);
        let mut messages = vec![self.message(turn, index, carrier)?];
        if context.is_followed() {
            for (at, (name, _)) in turn.calls.iter().enumerate() {
                messages.push(result(&self.id(name, at), name)?);
            }
        }
        if context == Context::History {
            messages.push(user()?);
        }
        Ok(messages)
    }

    /// The turn as a message; `index` counts the conversation's calls before it.
    fn message(&self, turn: &Turn, index: usize, carrier: &Carrier) -> Result<Value, Error> {
        let mut entries =
            vec![("role", text(Origin::Template, "assistant")), ("content", carrier.content(turn)?)];
        if let (Reasoning::Key(key), Some(words)) = (&carrier.reasoning, turn.reasoning) {
            entries.push((*key, text(Origin::Request, words)));
        }
        let call = |(at, (name, arguments)): (usize, &(&str, &serde_json::Value))| {
            let json = arguments.to_string();
            let arguments = if carrier.arguments_as_text {
                text(Origin::Request, &json)
            } else {
                Value::from_json(&json, Origin::Request)?
            };
            let function = Value::dict([("name", text(Origin::Request, name)), ("arguments", arguments)])?;
            let id = text(Origin::Request, &self.id(name, index + at));
            Value::dict([("type", text(Origin::Template, "function")), ("id", id), ("function", function)])
        };
        if !turn.calls.is_empty() {
            let calls = turn.calls.iter().enumerate().map(call).collect::<Result<_, Error>>()?;
            entries.push(("tool_calls", Value::list(calls)?));
        }
        Value::dict(entries)
    }
}

fn user() -> Result<Value, Error> {
    Value::dict([("role", text(Origin::Template, "user")), ("content", text(Origin::Request, "zquser"))])
}

fn result(id: &str, name: &str) -> Result<Value, Error> {
    Value::dict([
        ("role", text(Origin::Template, "tool")),
        ("content", text(Origin::Request, "zqres")),
        ("tool_call_id", text(Origin::Request, id)),
        ("name", text(Origin::Request, name)),
    ])
}

fn text(origin: Origin, string: &str) -> Value {
    Value::text(origin, string)
}
