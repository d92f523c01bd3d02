//! The format granite3, for the tests of all formats.

use crate::{Call, CallingTurn, Deltas, GrammarTraits, Next, Opening, Profile, Writing};

/// The profile.
pub(crate) const PROFILE: Profile = Profile {
    prompts: &["", "<|start_of_role|>assistant<|end_of_role|>"],
    writing: Writing {
        prompt: "<|start_of_role|>assistant<|end_of_role|>",
        answer: ["", ""],
        call: Call::Json(["<|tool_call|>[{\"name\": \"f\", \"arguments\": ", "}]"]),
    },
    grammar: GrammarTraits { tokens: &[0, 10, 11, 12], ..GrammarTraits::USUAL },
    deltas: Deltas {
        spelt: &["<tool_call>", "<think>", "</think>", "<response>", "</response>"],
        prose: ["", ""],
        call: ["<|tool_call|>·[{\"·name·\":· \"tool·\",· \"arguments·\":· {\"x\":· \"", "\"}·}]"],
        between: "\n",
    },
    asked: 6,
    openings: &[Opening {
        pieces: &["<|start_of_role|>", "assistant", "<|end_of_role|>"],
        next: Next::Message,
        is_at_beginning: true,
    }],
    turns: &[CallingTurn {
        model_type: "granitemoe",
        opening: "<|start_of_role|>assistant<|end_of_role|>",
        written: "<|tool_call|>[{\"name\": \"q_z\", \"arguments\": {\"q\": \"z w\"}}]<|end_of_text|>\n",
    }],
};
