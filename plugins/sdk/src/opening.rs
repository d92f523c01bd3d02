//! The end of a call where none is open: markup or text. One rule for all formats: it belongs to the
//! last opening of a call, and where there was none, a tag is text and anything else markup.

/// What became of the last opening of a call.
///
/// ```
/// use parser_sdk::LastOpening;
///
/// let [none, call, prose] = [LastOpening::None, LastOpening::Call, LastOpening::Prose];
/// assert_eq!([none, call, prose].map(|last| last.drops("<|call_end|>")), [true, true, false]);
/// assert_eq!([none, call, prose].map(|last| last.drops("</call>")), [false, true, false]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LastOpening {
    /// There was none.
    #[default]
    None,
    /// It began a call, whose surplus ends are markup.
    Call,
    /// It was only mentioned, and went out as prose; so do the ends that belong to it.
    Prose,
}

impl LastOpening {
    /// Whether a marker that ends calls, or a part of one, is markup where no call is open.
    pub fn drops(self, end: &str) -> bool {
        match self {
            Self::None => !is_tag(end),
            Self::Call => true,
            Self::Prose => false,
        }
    }
}

/// Whether the literal is an end tag as prose may quote one, `</tool_call>`: special tokens have bars
/// or brackets.
fn is_tag(end: &str) -> bool {
    end.trim_start().starts_with("</") && !end.contains(['|', '｜'])
}
