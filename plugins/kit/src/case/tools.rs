//! Tools as case files spell them.

use serde::Deserialize;
use serde_json::Value;

use contract::{Tool, ToolKind};
use turn::values;

/// Schema of a function that takes any object.
pub(crate) const ANY_OBJECT: &str = r#"{"type":"object"}"#;

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
    kind: ToolType,
    #[serde(default)]
    parameters: Option<Value>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ToolType {
    #[default]
    Function,
    Custom,
}

impl CaseTool {
    pub(super) fn tool(&self) -> Tool {
        let whole = match self {
            Self::Name(name) => &WholeTool { name: name.clone(), ..WholeTool::default() },
            Self::Whole(whole) => whole,
        };
        let kind = match whole.kind {
            ToolType::Function => ToolKind::Function,
            ToolType::Custom => ToolKind::Custom,
        };
        let schema = whole.parameters.as_ref().map_or_else(|| ANY_OBJECT.into(), Value::to_string);
        values::tool(&whole.name, kind, &schema)
    }
}
