//! The format qwen3-coder, for the tests of all formats.

use crate::{Call, CallingTurn, Deltas, GrammarTraits, Inputs, Next, Opening, Profile, Writing};

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
        call: Call::Parameters(
            ["<tool_call>\n<function=f>\n", "</function>\n</tool_call>"],
            ["<parameter=", ">\n", "\n</parameter>\n"],
        ),
    },
    grammar: GrammarTraits {
        // The other markers are text in every tokenizer.
        tokens: &[0, 1, 2, 3, 4, 5],
        inputs: Inputs::BeforeText,
        ..GrammarTraits::USUAL
    },
    deltas: Deltas {
        spelt: &[
            "<function=",
            "</function>",
            "<parameter=",
            "</parameter>",
            "\n</function>",
            "\n<parameter=",
            "\n</parameter>",
        ],
        prose: ["", ""],
        call: [
            "<tool_call>·\n·<·function·=·tool·>\n·<·parameter·=x·>\n",
            "\n·</·parameter·>\n·</·function·>\n·</tool_call>",
        ],
        between: "\n",
    },
    asked: 10,
    openings: &[Opening {
        pieces: &["<|im_start|>", "assistant\n"],
        next: Next::Message,
        is_at_beginning: true,
    }],
    turns: &[CallingTurn {
        model_type: "qwen3_5",
        opening: "<|im_start|>assistant\n",
        written: "<tool_call>\n<function=q_z>\n<parameter=q>\nz w\n</parameter>\n</function>\n</tool_call>",
    }],
};
