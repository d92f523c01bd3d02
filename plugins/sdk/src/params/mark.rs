//! What a parser tells [`super::Body`] of its format, and what that answers.

/// How a format spells a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `<parameter=KEY>VALUE</parameter>`. A newline (CRLF too) after `>` isn't the value's; one before the end should be part of the marker.
    Attribute,
    /// `<parameter name="KEY">VALUE</parameter>`, the value to the byte.
    Quoted,
    /// `<arg_key>KEY</arg_key><arg_value>VALUE</arg_value>`.
    Elements,
}

/// What a marker means inside a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A key begins.
    Key,
    /// A key ends.
    KeyEnd,
    /// A value begins.
    Value,
    /// A value ends.
    ValueEnd,
    /// The call ends.
    End,
    /// A call begins, which can't be inside another.
    Call,
    /// What surrounds calls begins or ends.
    Outside,
    /// The turn ends.
    Stop,
    /// Nothing.
    Other,
}

/// Whether the call goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It does.
    Inside,
    /// It ended with this marker.
    Closed,
    /// It ended before this marker, complete or not; the marker is held, and nothing else.
    Left,
}

/// A name or key as it is meant: without white space around it, and without the quotes that a model may put there.
pub fn unquoted(name: &str) -> &str {
    name.trim().trim_matches(['"', '\''])
}
