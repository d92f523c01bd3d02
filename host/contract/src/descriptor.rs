//! What a parser says of itself.

/// Description of a parser, with the markers that the host finds for it. As JSON it is a
/// component's section `sluice-descriptor`.
#[derive(Debug, Clone, PartialEq, Eq)]
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

impl Descriptor {
    /// Property of parsers that want no value lost: one that is left out, because its place was
    /// written before or the arguments are plain text, makes its call incomplete. Components
    /// without it were built when such a call was complete.
    pub const LEFT_OUT_VALUES: (&str, &str) = ("left-out-values", "incomplete");

    /// Whether the parser has this property.
    pub fn has(&self, (name, value): (&str, &str)) -> bool {
        self.properties.iter().any(|property| (property.0.as_str(), property.1.as_str()) == (name, value))
    }
}

impl Default for Descriptor {
    /// A descriptor that says nothing but [`Self::LEFT_OUT_VALUES`], as every new parser should.
    fn default() -> Self {
        let (name, value) = Self::LEFT_OUT_VALUES;
        Self {
            name: String::new(),
            version: String::new(),
            models: Vec::new(),
            markers: Vec::new(),
            stops: Vec::new(),
            trim: Trim::default(),
            history_call_ids: None,
            grammar: None,
            reasoning_end: None,
            needs: Vec::new(),
            properties: vec![(name.into(), value.into())],
        }
    }
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
