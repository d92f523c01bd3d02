//! The format minimax-m2, for the tests of all formats.

use crate::{Call, CallingTurn, Deltas, GrammarTraits, Inputs, Next, Opening, Profile, Writing};

/// The profile.
pub(crate) const PROFILE: Profile = Profile {
    prompts: &["", "]~b]ai\n", "]~b]ai\n<think>\n", "]~b]ai\n<think>\n\n</think>\n\n"],
    writing: Writing {
        prompt: "]~b]ai\n",
        answer: ["", ""],
        call: Call::Parameters(
            ["<minimax:tool_call>\n<invoke name=\"f\">\n", "</invoke>\n</minimax:tool_call>"],
            ["<parameter name=\"", "\">", "</parameter>\n"],
        ),
    },
    grammar: GrammarTraits {
        // The other markers are text in every tokenizer.
        tokens: &[0, 1, 2, 3, 4, 5],
        inputs: Inputs::BeforeText,
        ..GrammarTraits::USUAL
    },
    deltas: Deltas {
        spelt: &["<invoke name=", "</invoke>", "<parameter name=", "</parameter>"],
        prose: ["", ""],
        call: [
            "<minimax:tool_call>·\n<·invoke· name·=\"tool·\">\n<·parameter· name·=\"x·\">",
            "</·parameter·>\n</·invoke·>\n·</minimax:tool_call>",
        ],
        between: "\n",
    },
    asked: 10,
    openings: &[Opening {
        pieces: &["]~b]", "ai\n", "<think>", "\n"],
        next: Next::Reasoning(Some(1)),
        is_at_beginning: false,
    }],
    turns: &[CallingTurn {
        model_type: "minimax_m2",
        opening: "]~b]ai\n",
        written: "\n<minimax:tool_call>\n<invoke name=\"q_z\">\n<parameter name=\"q\">z w</parameter>\n</invoke>\n</minimax:tool_call>[e~[\n",
    }],
};
