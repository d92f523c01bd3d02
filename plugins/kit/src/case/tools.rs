//! Tools and tool choice as case files spell them.

use serde::Deserialize;
use serde_json::Value;

use contract::{Grammar, Tool, ToolChoice, ToolKind};

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum CaseTool {
    /// A function that takes any object.
    Name(String),
    Whole(WholeTool),
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WholeTool {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    kind: ToolType,
    #[serde(default)]
    parameters: Option<Value>,
    #[serde(default)]
    strict: bool,
    #[serde(default)]
    grammar: Option<CaseGrammar>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ToolType {
    #[default]
    Function,
    Custom,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseGrammar {
    syntax: String,
    definition: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Choice {
    #[default]
    Auto,
    Required,
    #[serde(untagged)]
    Named {
        name: String,
    },
}

impl CaseTool {
    pub(super) fn tool(&self) -> Tool {
        let whole = match self {
            Self::Name(name) => &WholeTool { name: name.clone(), ..WholeTool::default() },
            Self::Whole(whole) => whole,
        };
        Tool {
            name: whole.name.clone(),
            description: whole.description.clone(),
            kind: match whole.kind {
                ToolType::Function => ToolKind::Function,
                ToolType::Custom => ToolKind::Custom,
            },
            parameters_json: whole
                .parameters
                .as_ref()
                .map_or_else(|| r#"{"type":"object"}"#.into(), Value::to_string),
            strict: whole.strict,
            grammar: whole.grammar.as_ref().map(|grammar| Grammar {
                syntax: grammar.syntax.clone(),
                definition: grammar.definition.clone(),
            }),
        }
    }
}

impl Choice {
    pub(super) fn tool_choice(&self) -> ToolChoice {
        match self {
            Self::Auto => ToolChoice::Auto,
            Self::Required => ToolChoice::Required,
            Self::Named { name } => ToolChoice::Named(name.clone()),
        }
    }
}
