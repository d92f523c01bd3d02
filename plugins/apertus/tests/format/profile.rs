//! The format apertus, for the tests of all formats.

use crate::{Call, CallingTurn, Deltas, GrammarTraits, Next, Opening, Profile, Writing};

/// The profile.
pub(crate) const PROFILE: Profile = Profile {
    prompts: &["", "<|assistant_start|>", "<|assistant_start|><|inner_prefix|>"],
    writing: Writing {
        prompt: "<|assistant_start|>",
        answer: ["", ""],
        call: Call::Json(["<|tools_prefix|>[{\"f\": ", "}]<|tools_suffix|>"]),
    },
    grammar: GrammarTraits::USUAL,
    deltas: Deltas {
        spelt: &[],
        prose: ["", ""],
        call: ["<|tools_prefix|>·[{\"·tool·\": ·{\"x\":· \"", "\"}·}]·<|tools_suffix|>"],
        between: "\n",
    },
    asked: 7,
    openings: &[Opening { pieces: &["<|assistant_start|>"], next: Next::Message, is_at_beginning: true }],
    turns: &[CallingTurn {
        model_type: "apertus",
        opening: "<|assistant_start|>",
        written: "<|tools_prefix|>[{\"q_z\": {\"q\": \"z w\"}}]<|tools_suffix|>",
    }],
};
