//! What a parser is told of a request.

use std::sync::Arc;

use crate::Types;

/// The need of a parser that reads [`Tool::schema`].
pub const SCHEMAS: &str = "schemas";

/// Kind of a tool's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    /// JSON arguments by a schema.
    Function,
    /// Free text, perhaps by a grammar.
    Custom,
}

/// A parameter that a tool's schema lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Name of the parameter.
    pub name: String,
    /// Types that the schema allows; string alone where it doesn't say.
    pub types: Types,
}

/// A tool declared by the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Name of the tool, as the model is to write it.
    pub name: String,
    /// Function or custom.
    pub kind: ToolKind,
    /// Parameters that the schema lists (functions).
    pub parameters: Vec<Parameter>,
    /// Types of the parameters that it doesn't list; none if it allows no others.
    pub others: Types,
    /// JSON schema of the arguments. A component has it only if it needs [`SCHEMAS`].
    pub schema: String,
}

/// Parts of a request that its parser is given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// Tools that may be called.
    pub tools: Arc<[Tool]>,
    /// Indices of the markers that come as tokens of their own: text can't spell them, and they end
    /// a string of a call's JSON.
    pub token_markers: Vec<u32>,
    /// Settings of the operator, and template arguments that the operator lets requests set.
    pub options: Vec<(String, String)>,
}
