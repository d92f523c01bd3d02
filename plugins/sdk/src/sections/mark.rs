//! Meanings of a format's markers.

/// What a marker means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Reasoning begins.
    Think,
    /// Reasoning ends.
    ThinkEnd,
    /// Calls follow.
    Section,
    /// No more calls follow; one that is open ends.
    SectionEnd,
    /// A call begins with its header; one that is open ends.
    Call,
    /// Stands between the parts of a call.
    Separator,
    /// A call ends.
    CallEnd,
    /// The model's turn ends.
    TurnEnd,
    /// A role follows, as one word.
    Role,
    /// Markup without a meaning here.
    Markup,
}

impl Mark {
    /// Whether an open call ends here, as its format says.
    pub(super) fn ends_call(self) -> bool {
        matches!(self, Self::Section | Self::SectionEnd | Self::Call | Self::CallEnd | Self::TurnEnd)
    }

    /// Whether another call begins here: one with open brackets is incomplete.
    pub(super) fn begins_call(self) -> bool {
        matches!(self, Self::Section | Self::Call)
    }
}
