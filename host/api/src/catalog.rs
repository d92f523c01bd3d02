//! The models as Codex reads them, which asks its provider for limits, efforts and kinds of tools:
//! `GET /v1/models` with `client_version`.
//!
//! Invariant: an entry says what this server and the model's template do, so that nothing of it has
//! to be in a client's configuration.

use model::{EffortLevel, Efforts};
use schemars::JsonSchema;
use serde::Serialize;

/// Most tokens of a tool's result that Codex sends, and the share of the context that they may be.
const RESULT_TOKENS: usize = 10_000;
const RESULT_SHARE: usize = 4;

/// A served model.
#[expect(clippy::struct_excessive_bools, reason = "the fields are Codex's")]
#[derive(Debug, Clone, JsonSchema, Serialize)]
pub struct CatalogEntry {
    slug: String,
    display_name: String,
    description: &'static str,
    #[schemars(extend("const" = "list"))]
    visibility: &'static str,
    supported_in_api: bool,
    /// Place in the operator's order.
    priority: usize,
    base_instructions: &'static str,
    #[schemars(extend("const" = "unified_exec"))]
    shell_type: &'static str,
    /// Patches are the input of a custom tool, which its grammar may bind.
    #[schemars(extend("const" = "freeform"))]
    apply_patch_tool_type: &'static str,
    supports_parallel_tool_calls: bool,
    /// Tools of many servers are searched, so that they cost no prompt.
    supports_search_tool: bool,
    experimental_supported_tools: [&'static str; 0],
    supports_reasoning_summaries: bool,
    default_reasoning_level: Option<&'static str>,
    /// Efforts that make a difference, least first.
    supported_reasoning_levels: Vec<ReasoningLevel>,
    support_verbosity: bool,
    truncation_policy: TruncationPolicy,
    /// Most tokens of prompt and answer together.
    context_window: usize,
    input_modalities: [&'static str; 1],
}

/// An effort, for a list to choose from.
#[derive(Debug, Clone, JsonSchema, Serialize)]
struct ReasoningLevel {
    effort: &'static str,
    description: String,
}

/// How long a tool's result may be.
#[derive(Debug, Clone, JsonSchema, Serialize)]
struct TruncationPolicy {
    #[schemars(extend("const" = "tokens"))]
    mode: &'static str,
    limit: usize,
}

impl CatalogEntry {
    /// The model that is served under `name`, at this place among all names.
    pub fn new(name: &str, place: usize, context: usize, efforts: &Efforts) -> Self {
        Self {
            slug: name.to_owned(),
            display_name: name.to_owned(),
            description: "A model that Sluice serves",
            visibility: "list",
            supported_in_api: true,
            priority: place,
            base_instructions: INSTRUCTIONS,
            shell_type: "unified_exec",
            apply_patch_tool_type: "freeform",
            supports_parallel_tool_calls: true,
            supports_search_tool: true,
            experimental_supported_tools: [],
            supports_reasoning_summaries: true,
            default_reasoning_level: efforts.default,
            supported_reasoning_levels: efforts.levels.iter().copied().map(ReasoningLevel::from).collect(),
            support_verbosity: false,
            truncation_policy: TruncationPolicy {
                mode: "tokens",
                limit: RESULT_TOKENS.min(context / RESULT_SHARE),
            },
            context_window: context,
            input_modalities: ["text"],
        }
    }
}

impl From<EffortLevel> for ReasoningLevel {
    fn from(EffortLevel { effort, budget }: EffortLevel) -> Self {
        let description = match (effort, budget) {
            ("none", _) => "No reasoning".to_owned(),
            (_, Some(tokens)) => format!("At most {tokens} tokens of reasoning"),
            (_, None) => "The model's own".to_owned(),
        };
        Self { effort, description }
    }
}

/// What Codex tells the model first, before its own description of the folder and of permissions.
const INSTRUCTIONS: &str = "You are a coding agent that works in a folder of the user's, by means of the tools you \
    are given. Read files before you change them, make small changes that do what is asked and no more, change files \
    with the patch tool, and run the project's tests where there are some. At the end say in a few sentences what you \
    did and what is open.";

#[cfg(test)]
mod tests {
    use model::{EffortLevel, Efforts};
    use serde_json::{Value, json};

    use super::CatalogEntry;

    #[test]
    fn an_entry_has_the_models_limits_and_efforts() {
        let level = |effort, budget| EffortLevel { effort, budget };
        let levels = vec![level("none", None), level("medium", None), level("high", Some(500))];
        let efforts = Efforts { levels, default: Some("medium") };
        let entry = |context| serde_json::to_value(CatalogEntry::new("m", 1, context, &efforts)).unwrap();
        let long: Value = entry(100_000);
        assert_eq!((&long["slug"], &long["context_window"]), (&json!("m"), &json!(100_000)));
        assert_eq!(long["default_reasoning_level"], "medium");
        assert_eq!(
            long["supported_reasoning_levels"],
            json!([
                {"effort": "none", "description": "No reasoning"},
                {"effort": "medium", "description": "The model's own"},
                {"effort": "high", "description": "At most 500 tokens of reasoning"},
            ])
        );
        let limits = [&long, &entry(8000)].map(|entry| entry["truncation_policy"]["limit"].clone());
        assert_eq!(limits, [10_000, 2000]);
    }
}
