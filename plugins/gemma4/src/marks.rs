//! The format's markers.

/// What a marker means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Turn,
    TurnEnd,
    Channel,
    ChannelEnd,
    Call,
    CallEnd,
    /// Before and behind a string.
    Quote,
    Response,
    ResponseEnd,
}

/// The marker of `FunctionGemma`'s calls.
pub(crate) const FUNCTION_GEMMA: &str = "<start_function_call>";

pub(crate) const MARKS: [(&str, Mark); 16] = [
    ("<|turn>", Mark::Turn),
    ("<turn|>", Mark::TurnEnd),
    ("<|channel>", Mark::Channel),
    ("<channel|>", Mark::ChannelEnd),
    ("<|tool_call>", Mark::Call),
    ("<tool_call|>", Mark::CallEnd),
    ("<|\"|>", Mark::Quote),
    ("<|tool_response>", Mark::Response),
    ("<tool_response|>", Mark::ResponseEnd),
    ("<start_of_turn>", Mark::Turn),
    ("<end_of_turn>", Mark::TurnEnd),
    (FUNCTION_GEMMA, Mark::Call),
    ("<end_function_call>", Mark::CallEnd),
    ("<escape>", Mark::Quote),
    ("<start_function_response>", Mark::Response),
    ("<end_function_response>", Mark::ResponseEnd),
];
