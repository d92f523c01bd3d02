//! Rows of tables of fields, and the shapes of what fields hold.

/// A row of a table: a field of a request's body, or of an object in it. Unless required, it may be
/// null, which counts as absent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// The field's name in JSON.
    pub(crate) name: &'static str,
    /// JSON that the field may hold.
    pub(crate) shape: Shape,
    /// What the server does with it.
    pub(crate) support: Support,
    /// Remark on that for the documentation: a few words of Markdown.
    pub(crate) note: &'static str,
    /// What is expected where a request doesn't have the field. `None`: it needn't.
    pub(crate) required: Option<&'static str>,
}

/// What the server does with a field, or with a kind of object. What is in no table is decided by
/// [`crate::warnings::Warnings`]: a field is ignored with a warning, a kind mostly refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Support {
    /// It does what the protocol says.
    Supported,
    /// It does what the protocol says, but some values are refused. These (JSON) are examples.
    InPart(&'static [&'static str]),
    /// It has no effect, and the answer is the one that the client means all the same. The note
    /// says why.
    Ignored,
    /// It has no effect, which the answer's warning says with the note.
    Warned,
    /// Requests with it are refused: the answer would lack what the client means. The note says
    /// what to do.
    Refused(Refusal),
}

/// How something is refused. A list or a text without anything in it asks for nothing, and is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Code of the error: the one that clients of the protocol act on, where there is one.
    pub(crate) code: &'static str,
    /// Values (JSON) that are refused, as examples; none for a kind of object.
    pub(crate) examples: &'static [&'static str],
}

/// Code of refusals that clients have no code for.
const UNSUPPORTED: &str = "unsupported_parameter";

/// JSON that a field may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// Any JSON.
    Any,
    /// `true` or `false`.
    Boolean,
    /// A string.
    Text,
    /// A whole number from the first to the second, both included. An end of `i64` means that side
    /// has no bound.
    Integer(i64, i64),
    /// A whole number from the first to the second, both included. The operator may change the
    /// second.
    UpTo(i64, i64),
    /// A number from the first to the second, both included.
    Number(f64, f64),
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A list of elements of this shape.
    List(&'static Shape),
    /// An object with these fields. Others are not read.
    Object(&'static [Row]),
    /// An object with any names and values of this shape.
    Map(&'static Shape),
    /// One of several shapes.
    Either(&'static [Shape]),
    /// An object of one of these kinds, told by the string in the field `type`.
    Kinds(&'static Kinds),
}

/// Kinds of object, told apart by `type`.
#[derive(Debug)]
pub(crate) struct Kinds {
    /// Name of the schema of all kinds together, in the components of the `OpenAPI` document.
    pub(crate) name: &'static str,
    /// The kinds.
    pub(crate) of: &'static [KindOf],
    /// Fields that an object of any kind may have, and that say nothing here.
    pub(crate) common: &'static [Row],
    /// What an object of another kind is called where it is ignored with a warning. `None`: it is
    /// refused, since it may hold a part of the conversation.
    pub(crate) others: Option<&'static str>,
}

/// One kind of object.
#[derive(Debug)]
pub(crate) struct KindOf {
    /// Value of the object's `type`. `None`: the protocol also has objects without `type`.
    pub(crate) kind: Option<&'static str>,
    /// The object's fields beside `type`.
    pub(crate) fields: &'static [Row],
    /// What the server does with such an object.
    pub(crate) support: Support,
    /// Remark on that, in a few words of Markdown.
    pub(crate) note: &'static str,
}

/// A count that may be 0.
pub(crate) const COUNT: Shape = Shape::Integer(0, u32::MAX as i64);
/// A count of at least one.
pub(crate) const POSITIVE: Shape = Shape::Integer(1, u32::MAX as i64);
/// Token ids.
pub(crate) const TOKENS: Shape = Shape::List(&COUNT);
/// Strings.
pub(crate) const TEXTS: Shape = Shape::List(&Shape::Text);
/// An object of any names and values.
pub(crate) const ANY_OBJECT: Shape = Shape::Map(&Shape::Any);

impl Shape {
    /// Whether this shape says more than `wide`, or as much: what a type reads, in place of what it
    /// reads unless told more.
    pub(crate) const fn is_of(&self, wide: &Self) -> bool {
        matches!(
            (self, wide),
            (_, Self::Any)
                | (Self::Boolean, Self::Boolean)
                | (Self::Text | Self::OneOf(_), Self::Text)
                | (Self::OneOf(_), Self::OneOf(_))
                | (Self::Integer(..), Self::Integer(..))
                | (Self::Number(..), Self::Number(..))
                | (Self::List(_), Self::List(_))
                | (Self::Object(_) | Self::Map(_) | Self::Kinds(_), Self::Map(_))
        )
    }
}

impl Kinds {
    /// The kind of this name.
    pub(crate) fn find(&self, kind: &str) -> Option<&'static KindOf> {
        self.of.iter().find(|known| known.kind == Some(kind))
    }
}

impl KindOf {
    /// A kind whose only field is `type`.
    pub(crate) const fn new(kind: &'static str, note: &'static str) -> Self {
        Self { kind: Some(kind), fields: &[], support: Support::Supported, note }
    }

    /// A kind without effect; the note says why that is harmless.
    pub(crate) const fn ignored(kind: &'static str, note: &'static str) -> Self {
        Self { support: Support::Ignored, ..Self::new(kind, note) }
    }

    /// A kind without effect, which the answer's warning says.
    pub(crate) const fn warned(kind: &'static str, note: &'static str) -> Self {
        Self { support: Support::Warned, ..Self::new(kind, note) }
    }

    /// A kind that is refused; the note says what to do.
    pub(crate) const fn refused(kind: &'static str, note: &'static str) -> Self {
        let support = Support::Refused(Refusal { code: UNSUPPORTED, examples: &[] });
        Self { support, ..Self::new(kind, note) }
    }

    /// This kind with more fields.
    pub(crate) const fn with(self, fields: &'static [Row]) -> Self {
        Self { fields, ..self }
    }
}

impl Row {
    /// A field without effect, which may hold any JSON.
    pub(crate) const fn ignored(name: &'static str, note: &'static str) -> Self {
        Self { name, shape: Shape::Any, support: Support::Ignored, note, required: None }
    }

    /// A field without effect, which may hold any JSON, and of which the answer's warning tells.
    pub(crate) const fn warned(name: &'static str, note: &'static str) -> Self {
        Self { support: Support::Warned, ..Self::ignored(name, note) }
    }

    /// A field that is refused; the note says what to do.
    pub(crate) const fn refused(
        name: &'static str,
        examples: &'static [&'static str],
        note: &'static str,
    ) -> Self {
        let support = Support::Refused(Refusal { code: UNSUPPORTED, examples });
        Self { support, ..Self::ignored(name, note) }
    }

    /// The row itself: a table's entries are fields or rows.
    pub(crate) const fn row(self) -> Self {
        self
    }
}
