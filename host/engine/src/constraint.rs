//! What an answer has to be, as its source: engines elsewhere make masks of it themselves.

/// A constraint in the forms that it has; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constraint {
    /// A Lark grammar in llguidance's dialect, of what is generated from the first token on. Tokens are written `<[id]>`.
    pub grammar: Option<String>,
    /// The answer is JSON and nothing else.
    pub json: Option<JsonConstraint>,
    /// The answer is better for it, but may be had without: an engine that can't follow it leaves it out.
    pub is_optional: bool,
}

/// JSON, and where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonConstraint {
    /// JSON Schema.
    pub schema: String,
    /// Where the first byte of it stands.
    pub begins: JsonBegins,
}

/// Where constrained JSON begins. White space may precede it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonBegins {
    /// With the first token.
    AtOnce,
    /// Behind the first occurrence of this text, before which tokens are free: the end of the reasoning.
    After {
        /// The text.
        text: String,
        /// Its token, where it is one.
        id: Option<u32>,
    },
}
