//! Constraints on an answer, as grammar or JSON Schema: the source from which upstream engines make
//! their own masks.

/// Constraint on an answer, in one form or in both; `grammar` or `json` is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constraint {
    /// Lark grammar, in llguidance's dialect, of the generated text from the first token on. Tokens
    /// are written `<[id]>`.
    pub grammar: Option<String>,
    /// JSON form, for an answer that is JSON and nothing else.
    pub json: Option<JsonConstraint>,
    /// Whether an engine that doesn't support the constraint generates without it. Otherwise such
    /// an engine refuses the request.
    pub is_optional: bool,
}

/// Schema of an answer in JSON, and where the JSON begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonConstraint {
    /// JSON Schema.
    pub schema: String,
    /// Where the first byte of the JSON stands.
    pub begins: JsonBegins,
}

/// Where constrained JSON begins. White space may precede it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonBegins {
    /// With the first token.
    AtOnce,
    /// Behind the first occurrence of `text`, which ends the reasoning. Tokens before it are
    /// unconstrained.
    After {
        /// Text that ends the reasoning.
        text: String,
        /// Token id of `text`, where the tokenizer has it as one token.
        id: Option<u32>,
    },
}
