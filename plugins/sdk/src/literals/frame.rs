//! Brackets that are open while arguments are read.

/// A bracket that is open.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    /// The byte that closes it.
    pub(super) close: u8,
    /// Whether it has a member.
    pub(super) any: bool,
}

/// What stands in a bracket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The call's arguments, which become an object.
    Arguments,
    Object,
    List,
}

impl Frame {
    pub(super) fn new(kind: Kind, close: u8) -> Self {
        Self { kind, close, any: false }
    }

    /// JSON before a member, if no comma of the stream goes out there.
    pub(super) fn before_member(self) -> &'static str {
        match (self.kind, self.any) {
            (Kind::Arguments, false) => "{",
            (Kind::Arguments, true) => ", ",
            (_, false) => "",
            (_, true) => ",",
        }
    }
}
