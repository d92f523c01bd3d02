//! The format mistral, for the tests of all formats.

use crate::{Call, CallingTurn, Deltas, GrammarTraits, Next, Opening, Profile, Writing};

/// The profile.
pub(crate) const PROFILE: Profile = Profile {
    prompts: &["", "[THINK]"],
    writing: Writing { prompt: "", answer: ["", ""], call: Call::Json(["[TOOL_CALLS]f[ARGS]", ""]) },
    grammar: GrammarTraits::USUAL,
    deltas: Deltas {
        spelt: &[],
        prose: ["", ""],
        call: ["[TOOL_CALLS]·tool·[ARGS]·{\"x\":· \"", "\"}"],
        between: "\n",
    },
    asked: 7,
    openings: &[Opening { pieces: &[], next: Next::Message, is_at_beginning: true }],
    turns: &[CallingTurn {
        model_type: "mistral",
        opening: "",
        written: "[TOOL_CALLS] [{\"name\": \"q_z\", \"arguments\": {\"q\": \"z w\"}, \"id\": \"qzcall000\"}]",
    }],
};
