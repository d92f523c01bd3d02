//! Errors of a parser's steps. The messages reach the log and hold no text of the stream.

use std::error::Error;
use std::fmt;

/// Reason why a step is refused: it breaks the contract, or the parser gives
/// up. `router` and what it calls return it; `stream` makes a fault of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepError {
    /// A run is longer than the held bytes.
    MoreThanHeld {
        /// Length of the run.
        bytes: usize,
        /// Number of the held bytes.
        held: usize,
    },
    /// A run ends inside a character.
    InsideCharacter,
    /// `pass` before any run.
    PassFirst,
    /// Arguments while no call is open.
    NoCall,
    /// A value's text while no value is open.
    NoValue,
    /// JSON arguments both by parameters and beside them.
    Mixed,
    /// A parameter at a place that can't be.
    Place,
    /// A note that is too long, one too many, or wrongly named.
    Note,
    /// An `until` while this many bytes are held.
    StillHeld(usize),
    /// An `until-byte` of no bytes, too many, or others than ASCII.
    UntilBytes,
    /// A `hold-until` of a byte that isn't ASCII, or a length that can't be.
    HoldUntil,
    /// An `until-json` without an open bracket.
    UntilJson,
    /// A call without a name.
    NoName,
    /// A call of a tool that is neither declared nor in the text.
    ForeignName,
    /// A call with an id that isn't in the text.
    ForeignId,
    /// Too many names of undeclared tools in one step.
    NameSearch,
    /// Derived arguments beyond their bound.
    Derived,
    /// More held bytes than this bound.
    HeldBytes(usize),
    /// The parser gave up, in these words.
    GaveUp(String),
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MoreThanHeld { bytes, held } => write!(f, "it routed {bytes} bytes while {held} were held"),
            Self::InsideCharacter => f.write_str("a run of bytes ended inside a character"),
            Self::PassFirst => f.write_str("it answered pass before any run"),
            Self::NoCall => f.write_str("it wrote arguments while no tool call was open"),
            Self::NoValue => f.write_str("it wrote a value while no parameter was open"),
            Self::Mixed => f.write_str("it wrote arguments by parameters and beside them in one call"),
            Self::Place => f.write_str(
                "its parameter's path is empty, longer than 64 steps, or skips an item",
            ),
            Self::Note => f.write_str(
                "its note has a name of other than 1 to 64 lower-case letters, digits and `-`, more than 4 KiB of data, or is one of more than 1,024",
            ),
            Self::StillHeld(bytes) => write!(f, "it answered an until while {bytes} bytes were held"),
            Self::UntilBytes => {
                f.write_str("its until-byte names no byte, more than 16, or one that isn't ASCII")
            }
            Self::HoldUntil => f.write_str(
                "its hold-until names a byte that isn't ASCII, or a length of other than 1 to 512 bytes",
            ),
            Self::UntilJson => f.write_str("its until-json has no open bracket"),
            Self::NoName => f.write_str("it opened a tool call without a name"),
            Self::ForeignName => {
                f.write_str("it named a tool that is neither declared nor in the bytes dropped for the call")
            }
            Self::ForeignId => {
                f.write_str("it gave a call an id that isn't in the bytes dropped for the call")
            }
            Self::NameSearch => {
                f.write_str("it named too many undeclared tools over too much text in one step")
            }
            Self::Derived => f.write_str(
                "its derived arguments exceed 256 bytes and eight times the bytes dropped for the call",
            ),
            Self::HeldBytes(bytes) => write!(f, "it held more than {bytes} bytes"),
            Self::GaveUp(words) => write!(f, "it gave up with a message of {} bytes", words.len()),
        }
    }
}

impl Error for StepError {}
