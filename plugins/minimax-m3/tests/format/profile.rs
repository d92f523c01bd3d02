//! The format minimax-m3, for the tests of all formats.

use crate::{Call, CallingTurn, Deltas, GrammarTraits, Inputs, Next, Opening, Profile, Writing};

/// The profile.
pub(crate) const PROFILE: Profile = Profile {
    prompts: &["", "]~b]ai\n", "]~b]ai\n<mm:think>", "]~b]ai\n</mm:think>"],
    writing: Writing {
        prompt: "]~b]ai\n</mm:think>",
        answer: ["", ""],
        call: Call::Elements([
            "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"f\">",
            "]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
        ]),
    },
    grammar: GrammarTraits {
        only_tokens: true,
        inputs: Inputs::BeforeToken,
        nests: true,
        ..GrammarTraits::USUAL
    },
    deltas: Deltas {
        spelt: &[],
        prose: ["", ""],
        call: [
            "]<]minimax[>[·<tool·_call·>\n·]<]minimax[>[·<invoke· name·=\"tool·\">·]<]minimax[>[·<x·>",
            "]<]minimax[>[·</x·>·]<]minimax[>[·</·invoke·>\n·]<]minimax[>[·</tool·_call·>",
        ],
        between: "\n",
    },
    asked: 13,
    openings: &[
        Opening { pieces: &["]~b]", "ai\n"], next: Next::Message, is_at_beginning: true },
        Opening { pieces: &["]~b]", "ai\n", "</mm:think>"], next: Next::Message, is_at_beginning: true },
        Opening {
            pieces: &["]~b]", "ai\n", "<mm:think>"],
            next: Next::Reasoning(Some(1)),
            is_at_beginning: false,
        },
    ],
    turns: &[CallingTurn {
        model_type: "minimax_m3_vl",
        opening: "]~b]ai\n",
        written: "</mm:think>]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"q_z\">]<]minimax[>[<q>z w]<]minimax[>[</q>]<]minimax[>[</invoke>\n\
         ]<]minimax[>[</tool_call>[e~[\n",
    }],
};
