//! The format gemma4, for the tests of all formats.

use crate::{Call, CallingTurn, Deltas, GrammarTraits, Next, Opening, Profile, Writing};

/// The profile.
pub(crate) const PROFILE: Profile = Profile {
    prompts: &[
        "",
        "<|turn>model\n",
        "<start_of_turn>model\n",
        "<|channel>thought\n",
        "<|turn>model\n<|channel>thought\n<channel|>",
    ],
    writing: Writing {
        prompt: "<|turn>model\n",
        answer: ["", ""],
        call: Call::Bare(["<|tool_call>call:f{", "}<tool_call|>"]),
    },
    grammar: GrammarTraits::USUAL,
    deltas: Deltas {
        spelt: &[],
        prose: ["", ""],
        call: ["<|tool_call>·call·:tool·{x·:·<|\"|>", "<|\"|>·}·<tool_call|>"],
        between: "",
    },
    asked: 7,
    openings: &[
        Opening { pieces: &["<|turn>", "model\n"], next: Next::Message, is_at_beginning: true },
        Opening {
            pieces: &["<|turn>", "model\n", "<|channel>", "thought\n", "<channel|>"],
            next: Next::Message,
            is_at_beginning: true,
        },
        Opening {
            pieces: &["<|turn>", "model\n", "<|channel>", "thought\n"],
            next: Next::Reasoning(Some(3)),
            is_at_beginning: false,
        },
        Opening { pieces: &["<start_of_turn>", "model\n"], next: Next::Message, is_at_beginning: true },
    ],
    turns: &[
        CallingTurn {
            model_type: "gemma4",
            opening: "<|turn>model\n",
            written: "<|tool_call>call:q_z{q:<|\"|>z w<|\"|>}<tool_call|><|tool_response>",
        },
        CallingTurn {
            model_type: "gemma4_text",
            opening: "<start_of_turn>model\n",
            written: "<start_function_call>call:q_z{q:<escape>z w<escape>}<end_function_call><start_function_response>",
        },
    ],
};
