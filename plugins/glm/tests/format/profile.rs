//! The format glm, for the tests of all formats.

use crate::{Call, CallingTurn, Deltas, GrammarTraits, Inputs, Next, Opening, Profile, Writing};

/// The profile.
pub(crate) const PROFILE: Profile = Profile {
    prompts: &[
        "",
        "<|assistant|>",
        "<|assistant|>\n<think></think>",
        "<|assistant|>\n<think></think>\n",
        "<|assistant|><think>",
    ],
    writing: Writing {
        prompt: "<|assistant|>",
        answer: ["", ""],
        call: Call::Parameters(
            ["<tool_call>f\n", "</tool_call>"],
            ["<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>\n"],
        ),
    },
    grammar: GrammarTraits { inputs: Inputs::BeforeToken, ..GrammarTraits::USUAL },
    deltas: Deltas {
        spelt: &[],
        prose: ["", ""],
        call: ["<tool_call>·tool·<arg_key>·x·</arg_key>·<arg_value>", "</arg_value>·</tool_call>"],
        between: "\n",
    },
    asked: 8,
    openings: &[
        Opening {
            pieces: &["<|assistant|>", "\n", "<think>", "</think>"],
            next: Next::Message,
            is_at_beginning: true,
        },
        Opening {
            pieces: &["<|assistant|>", "<think>"],
            next: Next::Reasoning(Some(1)),
            is_at_beginning: false,
        },
    ],
    turns: &[CallingTurn {
        model_type: "glm4_moe",
        opening: "<|assistant|>",
        written: "\n<think></think>\n<tool_call>q_z\n<arg_key>q</arg_key>\n<arg_value>z w</arg_value>\n</tool_call>",
    }],
};
