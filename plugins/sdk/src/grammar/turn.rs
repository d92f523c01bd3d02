//! What a request demands of a turn, in terms that every format shares.

use serde_json::Value;

use super::arguments::ArgumentsRule;
use super::input::Input;
use super::lark::{Lark, json};
use super::safe;
use super::schema::{self, Follow};
use crate::{Request, Tool, ToolChoice, ToolKind};

/// A turn that is to be constrained.
#[derive(Debug)]
pub struct Turn<'a> {
    /// Tools that may be called in it.
    pub tools: Vec<Callable<'a>>,
    /// Whether several calls may be made.
    pub several: bool,
    /// What the turn says beside reasoning and calls.
    pub answer: Answer,
}

/// A tool that may be called.
#[derive(Debug)]
pub struct Callable<'a> {
    /// As the request declares it.
    pub tool: &'a Tool,
    /// What its arguments must be.
    pub arguments: ArgumentsRule,
}

/// What a turn says beside reasoning and calls.
#[derive(Debug)]
pub enum Answer {
    /// Nothing: a call is demanded, and made at once.
    Nothing,
    /// Any text, before a call too.
    Free,
    /// JSON of this schema, if no call is made.
    Json(Value),
    /// Text of this grammar, if no call is made.
    Text(Input),
}

/// Whether nothing is demanded of the turn.
pub(crate) fn is_free(request: &Request) -> bool {
    request.response_schema.is_none()
        && request.response_grammar.is_none()
        && match request.tool_choice {
            ToolChoice::None => true,
            ToolChoice::Auto => !request.tools.iter().any(|tool| tool.strict),
            ToolChoice::Required | ToolChoice::Named(_) => false,
        }
}

impl<'a> Callable<'a> {
    /// The tool's name, for formats that write it bare.
    ///
    /// # Errors
    /// It has more than `longest` bytes, or characters that can't stand in it.
    pub fn name_without(&self, longest: usize, forbidden: impl Fn(char) -> bool) -> Result<&'a str, String> {
        let name = self.tool.name.as_str();
        if name.is_empty() || name.len() > longest || name.contains(forbidden) {
            return Err(format!("tool {name:?}: the name can't be written in this format"));
        }
        Ok(name)
    }
}

impl<'a> Turn<'a> {
    /// What the request demands; `None` where the model is left free.
    ///
    /// Arguments follow the tool's schema where the tool is strict, or a call is demanded; otherwise they are any object.
    /// Inputs of custom tools are free.
    ///
    /// # Errors
    /// One line naming the tool or schema, and what is wrong with it.
    pub fn of(request: &'a Request) -> Result<Option<Self>, String> {
        if is_free(request) { Ok(None) } else { Self::demanded(request).map(Some) }
    }

    /// [`Turn::of`] for a format whose custom tools take raw text: grammars of custom tools hold, as strict tools' schemas do. The format
    /// defines the rules of [`Turn::inputs`].
    ///
    /// # Errors
    /// Those of [`Turn::of`]; what is wrong with a tool's grammar.
    pub fn with_inputs(request: &'a Request) -> Result<Option<Self>, String> {
        let follows = |tool: &Tool| tool.kind == ToolKind::Custom && tool.grammar.is_some();
        if is_free(request) && (request.tool_choice == ToolChoice::None || !request.tools.iter().any(follows))
        {
            return Ok(None);
        }
        let mut turn = Self::demanded(request)?;
        for (index, callable) in turn.tools.iter_mut().enumerate() {
            if let ArgumentsRule::Text(input) = &mut callable.arguments {
                *input = Input::of(callable.tool, index)?;
            }
        }
        Ok(Some(turn))
    }

    /// The inputs that have a grammar.
    pub fn inputs(&self) -> impl Iterator<Item = &Input> {
        self.tools.iter().filter_map(|callable| match &callable.arguments {
            ArgumentsRule::Text(input) => input.as_ref(),
            _ => None,
        })
    }

    fn demanded(request: &'a Request) -> Result<Self, String> {
        let (tools, demanded) = match &request.tool_choice {
            ToolChoice::None => (Vec::new(), false),
            ToolChoice::Auto => (request.tools.iter().collect(), false),
            ToolChoice::Required => (request.tools.iter().collect::<Vec<_>>(), true),
            ToolChoice::Named(name) => {
                (request.tools.iter().filter(|tool| tool.name == *name).take(1).collect(), true)
            }
        };
        if demanded && tools.is_empty() {
            return Err("a tool call is demanded, but no tool of that name is declared".into());
        }
        let callable = |tool| Ok(Callable { tool, arguments: ArgumentsRule::of(tool, demanded)? });
        let named = matches!(request.tool_choice, ToolChoice::Named(_));
        Ok(Self {
            several: request.parallel_tool_calls && !named,
            answer: if demanded { Answer::Nothing } else { Answer::of(request)? },
            tools: tools.into_iter().map(callable).collect::<Result<_, String>>()?,
        })
    }

    /// Lark expression whose alternatives are `expression` of each tool that may be called; empty where there are none.
    ///
    /// # Errors
    /// Those of `expression`.
    pub fn any_tool(
        &self,
        expression: impl Fn(&Callable<'a>) -> Result<String, String>,
    ) -> Result<String, String> {
        Ok(self.tools.iter().map(expression).collect::<Result<Vec<_>, _>>()?.join(" | "))
    }

    /// Lark expression of one call, or of several with white space between them where that is allowed; `call` is that of one call.
    pub fn calls(&self, call: &str) -> String {
        if self.several { format!("{call} (gap? {call})*") } else { call.to_owned() }
    }

    /// The grammar of a turn: the opening and reasoning, which may both be missing, then a message or calls. `opening`, `think` and `calls`
    /// are Lark expressions; the marker that is the last word of `think` ends reasoning.
    ///
    /// # Errors
    /// Those of [`Turn::body`].
    pub fn grammar(&self, mut lark: Lark, opening: &str, think: &str, calls: &str) -> Result<String, String> {
        lark.rule("think", think);
        if let Some(end) = think.split_whitespace().next_back().filter(|word| lark.is_marker(word)) {
            lark.reasoning_end(end);
        }
        let body = self.body(&lark, calls)?;
        Ok(lark.start(&format!("({opening})? (gap? think)? {body}")))
    }

    /// Lark expression of what comes after reasoning; `calls` is that of the turn's calls.
    ///
    /// # Errors
    /// The response's schema can't be followed among this format's markers.
    pub fn body(&self, lark: &Lark, calls: &str) -> Result<String, String> {
        Ok(match self.answer(lark)? {
            None if self.is_demanded() => format!("gap? ({calls}) gap?"),
            None => format!("text (({calls}) text)?"),
            Some(json) if self.tools.is_empty() => format!("gap? {json} gap?"),
            Some(json) => format!("gap? ({json} | {calls}) gap?"),
        })
    }

    /// Lark expression of the final message, where it has a schema or a grammar. The message stands among markers, and spells none.
    ///
    /// # Errors
    /// The schema or grammar can't be followed among this format's markers.
    pub fn answer(&self, lark: &Lark) -> Result<Option<String>, String> {
        let forbidden = lark.forbidden(lark.active())?;
        match &self.answer {
            Answer::Nothing | Answer::Free => Ok(None),
            Answer::Json(schema) => {
                let schema = safe::without(schema.clone(), &forbidden)
                    .map_err(|error| format!("the schema of the response: {error}"))?;
                Ok(Some(json(&schema::prepared(schema, Follow::Strictly))))
            }
            Answer::Text(grammar) if forbidden.is_empty() => Ok(Some(grammar.nested())),
            Answer::Text(_) => Err("the grammar of the response can't be kept from spelling this format's markers, which are text in the model's tokenizer".into()),
        }
    }

    /// Whether a call has to be made.
    pub fn is_demanded(&self) -> bool {
        matches!(self.answer, Answer::Nothing)
    }
}

impl Answer {
    fn of(request: &Request) -> Result<Self, String> {
        match (&request.response_schema, &request.response_grammar) {
            (Some(text), _) => schema::parse(text, "the response").map(Self::Json),
            (None, Some(grammar)) => Input::answer(grammar).map(Self::Text),
            (None, None) => Ok(Self::Free),
        }
    }
}
