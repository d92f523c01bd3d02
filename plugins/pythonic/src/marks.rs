//! The format's markers.

/// What a marker means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Think,
    ThinkEnd,
    Calls,
    CallsEnd,
    /// Before a list that may be calls, or behind it.
    Code,
    Turn,
    TurnEnd,
}

pub(crate) const MARKS: [(&str, Mark); 19] = [
    ("<think>", Mark::Think),
    ("</think>", Mark::ThinkEnd),
    ("<|tool_call_start|>", Mark::Calls),
    ("<|tool_call_end|>", Mark::CallsEnd),
    ("<function_calls>", Mark::Calls),
    ("</function_calls>", Mark::CallsEnd),
    ("<|python_start|>", Mark::Code),
    ("<|python_end|>", Mark::Code),
    ("<|im_start|>", Mark::Turn),
    ("<|im_end|>", Mark::TurnEnd),
    ("<|header_start|>", Mark::Turn),
    ("<|header_end|>", Mark::Code),
    ("<|eot|>", Mark::TurnEnd),
    ("<|start_header_id|>", Mark::Turn),
    ("<|end_header_id|>", Mark::Code),
    ("<|eot_id|>", Mark::TurnEnd),
    ("<|eom_id|>", Mark::TurnEnd),
    ("<start_of_turn>", Mark::Turn),
    ("<end_of_turn>", Mark::TurnEnd),
];
