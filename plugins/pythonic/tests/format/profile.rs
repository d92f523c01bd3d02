//! The format pythonic, for the tests of all formats.

use crate::{Call, CallingTurn, Deltas, GrammarTraits, Next, Opening, Profile, Writing};

/// The profile.
pub(crate) const PROFILE: Profile = Profile {
    prompts: &[
        "",
        "<|header_start|>assistant<|header_end|>\n\n",
        "<|im_start|>assistant\n",
        "<|im_start|>assistant\n<think>",
        "<start_of_turn>model\n",
    ],
    writing: Writing {
        prompt: "<|im_start|>assistant\n",
        answer: ["", ""],
        call: Call::Python(["<|tool_call_start|>[f(", ")]<|tool_call_end|>"]),
    },
    grammar: GrammarTraits::USUAL,
    deltas: Deltas {
        spelt: &[],
        prose: ["", ""],
        call: ["<|tool_call_start|>·[tool·(x·=\"", "\")·]·<|tool_call_end|>"],
        between: "\n",
    },
    asked: 7,
    openings: &[
        Opening { pieces: &["<|im_start|>", "assistant\n"], next: Next::Message, is_at_beginning: true },
        Opening {
            pieces: &["<|header_start|>", "assistant", "<|header_end|>", "\n\n"],
            next: Next::Message,
            is_at_beginning: true,
        },
        Opening {
            pieces: &["<|im_start|>", "assistant\n", "<think>"],
            next: Next::Reasoning(Some(1)),
            is_at_beginning: false,
        },
    ],
    turns: &[
        CallingTurn {
            model_type: "lfm2",
            opening: "<|im_start|>assistant\n",
            written: "<|tool_call_start|>[q_z(q='z w')]<|tool_call_end|><|im_end|>\n",
        },
        CallingTurn {
            model_type: "olmo3",
            opening: "<|im_start|>assistant\n",
            written: "<function_calls>\nq_z(q='z w')\n</function_calls><|im_end|>\n",
        },
    ],
};
