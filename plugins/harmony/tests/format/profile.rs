//! The format harmony, for the tests of all formats.

use crate::{Call, CallingTurn, Deltas, GrammarTraits, Inputs, Next, Opening, Profile, Writing};

/// The profile.
pub(crate) const PROFILE: Profile = Profile {
    prompts: &["", "<|start|>assistant", "<|start|>assistant<|channel|>analysis<|message|>"],
    writing: Writing {
        prompt: "<|start|>assistant",
        answer: ["<|channel|>final<|message|>", ""],
        call: Call::Json(["<|channel|>commentary to=functions.f <|constrain|>json<|message|>", ""]),
    },
    grammar: GrammarTraits { only_tokens: true, inputs: Inputs::BeforeToken, ..GrammarTraits::USUAL },
    deltas: Deltas {
        spelt: &[],
        prose: ["<|channel|>·final·<|message|>", "<|end|>·<|start|>·assistant"],
        call: [
            "<|channel|>·comment·ary· to·=functions·.tool· ·<|constrain|>·json·<|message|>·{\"x\":· \"",
            "\"}·<|end|>",
        ],
        between: "<|start|>·assistant",
    },
    asked: 10,
    openings: &[
        Opening { pieces: &["<|start|>", "assistant"], next: Next::Elsewhere, is_at_beginning: true },
        Opening {
            pieces: &["<|start|>", "assistant", "<|channel|>", "analysis", "<|message|>"],
            next: Next::Reasoning(None),
            is_at_beginning: false,
        },
        Opening {
            pieces: &["<|start|>", "assistant", "<|channel|>", "final", "<|message|>"],
            next: Next::Message,
            is_at_beginning: false,
        },
    ],
    turns: &[CallingTurn {
        model_type: "gpt_oss",
        opening: "<|start|>assistant",
        written: " to=functions.q_z<|channel|>commentary json<|message|>{\"q\": \"z w\"}<|call|>",
    }],
};
