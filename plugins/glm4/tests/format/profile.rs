//! The format glm4, for the tests of all formats.

use crate::{Call, CallingTurn, Deltas, GrammarTraits, Next, Opening, Profile, Writing};

/// The profile.
pub(crate) const PROFILE: Profile = Profile {
    prompts: &["", "<|assistant|>", "<|assistant|>\n<think>"],
    writing: Writing { prompt: "<|assistant|>", answer: ["", ""], call: Call::Json(["f\n", ""]) },
    grammar: GrammarTraits { tokens: &[0, 3, 4, 5, 6], ..GrammarTraits::USUAL },
    deltas: Deltas {
        spelt: &["<think>", "</think>"],
        prose: ["", ""],
        call: ["<|assistant|>·tool·\n·{\"x\":· \"", "\"}"],
        between: "",
    },
    asked: 6,
    openings: &[
        Opening { pieces: &["<|assistant|>"], next: Next::Message, is_at_beginning: true },
        Opening {
            pieces: &["<|assistant|>", "\n", "<think>"],
            next: Next::Reasoning(Some(1)),
            is_at_beginning: false,
        },
    ],
    turns: &[CallingTurn {
        model_type: "glm4",
        opening: "<|assistant|>",
        written: "q_z\n{\"q\": \"z w\"}<|observation|>",
    }],
};
