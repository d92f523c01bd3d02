//! The format qwen3, for the tests of all formats.

use crate::{Call, CallingTurn, Deltas, GrammarTraits, Next, Opening, Profile, Writing};

/// The profile.
pub(crate) const PROFILE: Profile = Profile {
    prompts: &[
        "",
        "<|im_start|>assistant\n",
        "<|im_start|>assistant\n<think>\n",
        "<|im_start|>assistant\n<think>\n\n</think>\n\n",
    ],
    writing: Writing {
        prompt: "<|im_start|>assistant\n",
        answer: ["", ""],
        call: Call::Json(["<tool_call>\n{\"name\": \"f\", \"arguments\": ", "}\n</tool_call>"]),
    },
    grammar: GrammarTraits::USUAL,
    deltas: Deltas {
        spelt: &[],
        prose: ["", ""],
        call: [
            "<tool_call>·\n{\"n·ame\"·: \"t·ool\"·, \"a·rgum·ents·\": {·\"x\":· \"",
            "\"}}\n·</tool_call>",
        ],
        between: "\n",
    },
    asked: 5,
    openings: &[
        Opening { pieces: &["<|im_start|>", "assistant\n"], next: Next::Message, is_at_beginning: true },
        Opening {
            pieces: &["<|im_start|>", "assistant\n", "<think>", "\n\n", "</think>", "\n\n"],
            next: Next::Message,
            is_at_beginning: true,
        },
        Opening {
            pieces: &["<|im_start|>", "assistant\n", "<think>", "\n"],
            next: Next::Reasoning(Some(1)),
            is_at_beginning: false,
        },
    ],
    turns: &[CallingTurn {
        model_type: "qwen3",
        opening: "<|im_start|>assistant\n",
        written: "<think>\n\n</think>\n\n<tool_call>\n{\"name\": \"q_z\", \"arguments\": {\"q\": \"z w\"}}\n</tool_call>",
    }],
};
