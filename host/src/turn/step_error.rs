//! Errors of a parser's steps. The messages reach the log and hold no text of the stream.

/// Reason why a step is refused: it breaks the contract, or the parser gives
/// up. `router` and what it calls return it; `stream` makes a fault of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StepError {
    #[error("it routed {bytes} bytes while {held} were held")]
    MoreThanHeld { bytes: usize, held: usize },
    #[error("a run of bytes ended inside a character")]
    InsideCharacter,
    #[error("it answered pass before any run")]
    PassFirst,
    #[error("it wrote arguments while no tool call was open")]
    NoCall,
    #[error("it answered an until while {0} bytes were held")]
    StillHeld(usize),
    #[error("its until-byte names no byte, more than 16, or one that isn't ASCII")]
    UntilBytes,
    #[error("its until-json has no open bracket")]
    UntilJson,
    #[error("it opened a tool call without a name")]
    NoName,
    #[error("it named a tool that is neither declared nor in the bytes dropped for the call")]
    ForeignName,
    #[error("it named too many undeclared tools over too much text in one step")]
    NameSearch,
    #[error("its derived arguments exceed 256 bytes and eight times the bytes dropped for the call")]
    Derived,
    #[error("it held more than {0} bytes")]
    HeldBytes(usize),
    #[error("it gave up, in {} bytes of its own words", .0.len())]
    GaveUp(String),
}
