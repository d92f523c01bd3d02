//! The format deepseek-v3, for the tests of all formats.

use crate::{Call, CallingTurn, Deltas, GrammarTraits, Next, Opening, Profile, Writing};

/// The profile.
pub(crate) const PROFILE: Profile = Profile {
    prompts: &["", "<｜Assistant｜>", "<｜Assistant｜><think>\n", "<｜Assistant｜></think>"],
    writing: Writing {
        prompt: "<｜Assistant｜></think>",
        answer: ["", ""],
        call: Call::Json([
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>",
            "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ]),
    },
    grammar: GrammarTraits { only_tokens: true, ..GrammarTraits::USUAL },
    deltas: Deltas {
        spelt: &[],
        prose: ["", ""],
        call: [
            "<｜tool▁calls▁begin｜>·<｜tool▁call▁begin｜>·tool·<｜tool▁sep｜>·{\"x\":· \"",
            "\"}·<｜tool▁call▁end｜>·<｜tool▁calls▁end｜>",
        ],
        between: "\n",
    },
    asked: 8,
    openings: &[
        Opening { pieces: &["<｜Assistant｜>"], next: Next::Message, is_at_beginning: true },
        Opening { pieces: &["<｜Assistant｜>", "</think>"], next: Next::Message, is_at_beginning: true },
        Opening {
            pieces: &["<｜Assistant｜>", "<think>"],
            next: Next::Reasoning(Some(1)),
            is_at_beginning: false,
        },
    ],
    turns: &[CallingTurn {
        model_type: "deepseek_v3",
        opening: "<｜Assistant｜>",
        written: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>q_z<｜tool▁sep｜>{\"q\":\"z w\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    }],
};
