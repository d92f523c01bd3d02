//! What a parser tells [`super::CallReader`] about its format (style, meaning of markers), and what `CallReader` answers.

/// How a format spells a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `<parameter=KEY>VALUE</parameter>`. A newline (CRLF too) after `>` isn't part of the value; one before the end should be part of
    /// the marker.
    Attribute,
    /// `<parameter name="KEY">VALUE</parameter>`: every byte between the tags is part of the value.
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
    /// Markup around calls begins or ends.
    Outside,
    /// The turn ends.
    Stop,
    /// Text, inside a call.
    Other,
}

/// Whether the call goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The call goes on.
    Inside,
    /// The call ended with this marker.
    Closed,
    /// The call ended before the header of another, [`super::CallReader::next_name`], and this marker; both are held, and nothing else.
    Followed,
    /// The call ended before this marker, complete or not; the marker is held, and nothing else.
    Left,
}

/// A name or key without the white space around it, and without the quotes that a model may put there.
pub fn unquoted(name: &str) -> &str {
    name.trim().trim_matches(['"', '\''])
}
