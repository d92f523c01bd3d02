//! What an author writes of a format with calls in a block: its markers, its style, and its rule
//! for messages.

use crate::Descriptor;
use crate::params::{CallMark, Style};

/// A format with calls in a block; [`super::Blocks`] is its parser.
///
/// ```
/// use parser_sdk::params::{BlockFormat, Blocks, Part, Style};
/// use parser_kit::{Item, play, request};
/// use parser_sdk::{Descriptor, FinishReason};
///
/// /// `[calls][call "NAME">[set "KEY">VALUE[end][done][/calls]`.
/// struct Brackets;
///
/// impl BlockFormat for Brackets {
///     const PARTS: &'static [(&'static str, Part)] = &[
///         ("[calls]", Part::Block),
///         ("[/calls]", Part::BlockEnd),
///         ("[call ", Part::Call),
///         ("[done]", Part::CallEnd),
///         ("[set ", Part::Key),
///         ("[end]", Part::ValueEnd),
///     ];
///     const STYLE: Style = Style::Quoted;
///
///     fn describe() -> Descriptor {
///         Descriptor { name: "brackets".into(), version: "0.1.0".into(), ..Descriptor::default() }
///     }
/// }
///
/// let output = ["Sure.[calls][call \"add\">[set \"word\">one[end][done][/calls]"];
/// let items = play::<Blocks<Brackets>>(&request(&["add"]), "", output, FinishReason::Stop);
/// assert_eq!(items, [Item::message("Sure."), Item::call("add", "{\"word\": \"one\"}")]);
/// ```
///
/// A format without a [`Part::Block`] isn't compiled, since none of its calls would be found;
/// [`crate::params::Calls`] shows how they are read:
///
/// ```compile_fail,E0080
/// use parser_kit::{play, request};
/// use parser_sdk::params::{BlockFormat, Blocks, Part, Style};
/// use parser_sdk::{Descriptor, FinishReason};
///
/// struct Lone;
///
/// impl BlockFormat for Lone {
///     const PARTS: &'static [(&'static str, Part)] = &[("[call ", Part::Call), ("[done]", Part::CallEnd)];
///     const STYLE: Style = Style::Quoted;
///
///     fn describe() -> Descriptor {
///         Descriptor { name: "lone".into(), version: "0.1.0".into(), ..Descriptor::default() }
///     }
/// }
///
/// let items = play::<Blocks<Lone>>(&request(&["add"]), "", ["[call add>[done]"], FinishReason::Stop);
/// ```
pub trait BlockFormat {
    /// The markers' literals and meanings.
    const PARTS: &'static [(&'static str, Part)];
    /// How the format spells a parameter.
    const STYLE: Style;

    /// What the message of a tag is; `tag` is what stands between [`Part::TurnTag`] and
    /// [`Part::TagEnd`].
    fn message(tag: &str) -> Message {
        let _ = tag;
        Message::Calls
    }

    /// The parser's descriptor; [`super::Blocks`] fills in its markers, stops and trim.
    fn describe() -> Descriptor;
}

/// What a message is, in formats whose turns have several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// Reasoning, in which call markup is text.
    Reasoning,
    /// Content, in which call markup is text.
    Content,
    /// Content and calls.
    Calls,
}

/// Meaning of a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Reasoning begins.
    Think,
    /// Reasoning ends.
    ThinkEnd,
    /// Content begins.
    Content,
    /// Calls follow.
    Block,
    /// No more calls follow.
    BlockEnd,
    /// A call begins with the tag that has its name.
    Call,
    /// A call ends.
    CallEnd,
    /// The arguments begin as one JSON object, in the place of parameters.
    Body,
    /// The arguments' JSON object ends.
    BodyEnd,
    /// A parameter begins with the tag that has its key.
    Key,
    /// A tag ends, in formats that end tags by a marker.
    TagEnd,
    /// A parameter's value ends.
    ValueEnd,
    /// A turn begins; the rest of the line names its role.
    Turn,
    /// A turn or a message of it begins; what follows up to the end of the tag says whose it is.
    TurnTag,
    /// The model's turn ends.
    TurnEnd,
    /// Markup without a meaning here.
    Markup,
}

impl Part {
    /// What the marker means inside a call. Where a marker ends tags, the one that begins a call
    /// isn't text, so no header need be read before the call in front of it ends.
    pub(super) fn in_call(self, style: Style) -> CallMark {
        match self {
            Self::Block | Self::BlockEnd | Self::Content | Self::Markup | Self::Turn | Self::TurnTag => {
                CallMark::Outside
            }
            Self::Call if style.ends_by_marker() => CallMark::Next,
            Self::Call => CallMark::Call,
            Self::CallEnd => CallMark::End,
            Self::Key => CallMark::Key,
            Self::TagEnd if style.ends_by_marker() => CallMark::Value,
            Self::ValueEnd => CallMark::ValueEnd,
            Self::TurnEnd => CallMark::Stop,
            _ => CallMark::Other,
        }
    }
}
