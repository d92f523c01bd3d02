//! Fields of requests, declared: one table per endpoint says which there are, of which shape, and what the server does with each.
//! Unknown-field warnings, the `OpenAPI` document and the parameter tables in `docs/api/` all come from these tables, and a test sends
//! what they promise. What checks values is the code that reads them.

pub(crate) mod sampling;

/// A field of a request's body, or of an object in it. Unless required, it may be null, which counts as absent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    /// Its name in JSON.
    pub(crate) name: &'static str,
    /// What it may be.
    pub(crate) shape: Shape,
    /// What the server does with it.
    pub(crate) support: Support,
    /// How, in a few words of Markdown.
    pub(crate) note: &'static str,
    /// Whether it must be there.
    pub(crate) required: bool,
}

/// What the server does with a field. Fields that no table has are ignored with a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Support {
    /// It does what the protocol says.
    Supported,
    /// It does, but these values (JSON) are examples of what is refused.
    InPart(&'static [&'static str]),
    /// It makes no difference.
    Ignored,
    /// It makes no difference, and the answer's warning header says so.
    Warned,
    /// Refused, as these values (JSON) are.
    Refused(&'static [&'static str]),
}

/// What JSON a field may be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// Anything.
    Any,
    /// `true` or `false`.
    Boolean,
    /// A string.
    Text,
    /// A whole number between two, both included; the ends of `i64` are no bounds.
    Integer(i64, i64),
    /// A whole number between two, both included, of which the operator may change the second.
    UpTo(i64, i64),
    /// A number between two, both included.
    Number(f64, f64),
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A list.
    List(&'static Shape),
    /// An object with these fields, and others that nobody looks at.
    Object(&'static [Field]),
    /// An object with any names.
    Map(&'static Shape),
    /// One of several shapes.
    Either(&'static [Shape]),
    /// An object of one of these kinds, by the string in its field `type`; of others only what the name says.
    Kinds(&'static Kinds),
}

/// Kinds of object, told apart by `type`.
#[derive(Debug)]
pub(crate) struct Kinds {
    /// Name of the whole, in the document's components.
    pub(crate) name: &'static str,
    /// The kinds.
    pub(crate) of: &'static [KindOf],
    /// Whether other kinds are taken and left aside with a warning.
    pub(crate) open: bool,
}

/// One kind of object.
#[derive(Debug)]
pub(crate) struct KindOf {
    /// Its `type`; none where the protocol has objects without one.
    pub(crate) kind: Option<&'static str>,
    /// Its other fields.
    pub(crate) fields: &'static [Field],
    /// What becomes of it, in a few words of Markdown.
    pub(crate) note: &'static str,
}

/// A whole number that nothing bounds.
pub(crate) const INTEGER: Shape = Shape::Integer(i64::MIN, i64::MAX);
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

impl Field {
    /// One that does what the protocol says.
    pub(crate) const fn supported(name: &'static str, shape: Shape, note: &'static str) -> Self {
        Self { name, shape, support: Support::Supported, note, required: false }
    }

    /// One that makes no difference.
    pub(crate) const fn ignored(name: &'static str, shape: Shape, note: &'static str) -> Self {
        Self { support: Support::Ignored, ..Self::supported(name, shape, note) }
    }

    /// The same, and the answer says so.
    pub(crate) const fn warned(name: &'static str, shape: Shape, note: &'static str) -> Self {
        Self { support: Support::Warned, ..Self::supported(name, shape, note) }
    }

    /// The same, of which `refused` is refused.
    pub(crate) const fn but(self, refused: &'static [&'static str]) -> Self {
        Self { support: Support::InPart(refused), ..self }
    }

    /// One that is refused, as `examples` are.
    pub(crate) const fn refused(
        name: &'static str,
        shape: Shape,
        examples: &'static [&'static str],
        note: &'static str,
    ) -> Self {
        Self { support: Support::Refused(examples), ..Self::supported(name, shape, note) }
    }

    /// The same, required.
    pub(crate) const fn required(self) -> Self {
        Self { required: true, ..self }
    }
}

/// The tables of an endpoint: its own, and those it shares.
pub(crate) type Tables = &'static [&'static [Field]];

/// All fields of `tables`.
pub(crate) fn all(tables: Tables) -> impl Iterator<Item = &'static Field> {
    tables.iter().copied().flatten()
}
