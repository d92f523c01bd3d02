//! What a parser says of itself.

/// Description of a parser, with the markers that the host finds for it. As JSON it is a
/// component's section `sluice-descriptor`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(deny_unknown_fields))]
pub struct Descriptor {
    /// Name of the parser, e.g. `qwen3`.
    pub name: String,
    /// Version of the plugin (semver).
    pub version: String,
    /// `model_type` values of `config.json` that the parser serves.
    pub models: Vec<String>,
    /// Marker literals, which carry structure.
    pub markers: Vec<String>,
    /// Indices of the markers that end the model's turn.
    pub stops: Vec<u32>,
    /// Items whose white space at both ends is dropped by the host.
    pub trim: Trim,
    /// Pattern for the ids of earlier calls in this model's prompts (`{name}`, `{index}`); `None`
    /// leaves them as they are.
    pub history_call_ids: Option<String>,
    /// How the format spells a turn: a template by which the host makes grammars; `None` where it
    /// can't force anything.
    pub grammar: Option<String>,
    /// Text that ends reasoning, markers included; `None` where the host can't bound reasoning.
    pub reasoning_end: Option<String>,
    #[cfg_attr(feature = "serde", serde(default))]
    /// What the parser can't do without, beyond this version of the contract
    /// ([`SCHEMAS`](crate::SCHEMAS)).
    pub needs: Vec<String>,
    #[cfg_attr(feature = "serde", serde(default))]
    /// What else the parser says of itself.
    pub properties: Vec<(String, String)>,
}

/// Which items lose the white space at their ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct Trim {
    /// Reasoning items.
    pub reasoning: bool,
    /// Messages.
    pub content: bool,
}
