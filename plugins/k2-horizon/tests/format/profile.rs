//! The format k2-horizon, for the tests of all formats.

use crate::{Call, CallingTurn, Deltas, GrammarTraits, Inputs, Next, Opening, Profile, Writing};

/// The profile.
pub(crate) const PROFILE: Profile = Profile {
    prompts: &[
        "",
        "<|ifm|im_start|>assistant\n",
        "<|ifm|im_start|>assistant\n<ifm|think>\n",
        "<|ifm|im_start|>assistant\n<ifm|think_fast>\n",
        "<|ifm|im_start|>assistant\n<ifm|think_faster>\n",
    ],
    writing: Writing {
        prompt: "<|ifm|im_start|>assistant\n",
        answer: ["", ""],
        call: Call::Parameters(
            ["<ifm|tool_calls>\n<ifm|tool_call>f\n", "</ifm|tool_call>\n</ifm|tool_calls>"],
            ["<ifm|arg_key>", "</ifm|arg_key>\n<ifm|arg_value>", "</ifm|arg_value>\n"],
        ),
    },
    grammar: GrammarTraits { inputs: Inputs::BeforeToken, ..GrammarTraits::USUAL },
    deltas: Deltas {
        spelt: &[],
        prose: ["", ""],
        call: [
            "<ifm|tool_calls>·<ifm|tool_call>·tool·\n·<ifm|arg_key>·x·</ifm|arg_key>·\n·<ifm|arg_value>",
            "</ifm|arg_value>·\n·</ifm|tool_call>·\n·</ifm|tool_calls>",
        ],
        between: "\n",
    },
    asked: 12,
    openings: &[
        Opening {
            pieces: &["<|ifm|im_start|>", "assistant\n", "<ifm|think>"],
            next: Next::Reasoning(Some(3)),
            is_at_beginning: false,
        },
        Opening {
            pieces: &["<|ifm|im_start|>", "assistant\n", "<ifm|think_faster>"],
            next: Next::Reasoning(Some(3)),
            is_at_beginning: false,
        },
    ],
    turns: &[CallingTurn {
        model_type: "k2_horizon",
        opening: "<|ifm|im_start|>assistant\n<ifm|think>\n",
        written: "</ifm|think><ifm|tool_calls>\n<ifm|tool_call>q_z\n<ifm|arg_key>q</ifm|arg_key>\n<ifm|arg_value>z w</ifm|arg_value>\n</ifm|tool_call>\n</ifm|tool_calls>",
    }],
};
