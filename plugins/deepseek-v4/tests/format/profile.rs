//! The format deepseek-v4, for the tests of all formats.

use crate::{Call, CallingTurn, Deltas, GrammarTraits, Next, Opening, Profile, Writing};

/// The profile.
pub(crate) const PROFILE: Profile = Profile {
    prompts: &["", "<｜Assistant｜><think>", "<｜Assistant｜></think>"],
    writing: Writing {
        prompt: "<｜Assistant｜></think>",
        answer: ["", ""],
        call: Call::Typed(
            [
                "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"f\">\n",
                "</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
            ],
            [
                "<｜DSML｜parameter name=\"",
                "\" string=\"true\">",
                "\" string=\"false\">",
                "</｜DSML｜parameter>\n",
            ],
        ),
    },
    grammar: GrammarTraits { tokens: &[0, 1, 2, 3], inner: &["｜DSML｜"], ..GrammarTraits::USUAL },
    deltas: Deltas {
        spelt: &[
            "<｜DSML｜tool_calls>",
            "</｜DSML｜tool_calls>",
            "<｜DSML｜invoke name=",
            "</｜DSML｜invoke>",
            "<｜DSML｜parameter name=",
            "</｜DSML｜parameter>",
        ],
        prose: ["", ""],
        call: [
            "<·｜DSML｜·tool_calls·>\n<·｜DSML｜·invoke· name·=\"tool·\">\n<·｜DSML｜·parameter· name·=\"x·\" string·=\"true·\">",
            "</·｜DSML｜·parameter·>\n</·｜DSML｜·invoke·>\n</·｜DSML｜·tool_calls·>",
        ],
        between: "\n",
    },
    asked: 10,
    openings: &[
        Opening {
            pieces: &["<｜Assistant｜>", "<think>"],
            next: Next::Reasoning(Some(1)),
            is_at_beginning: false,
        },
        Opening { pieces: &["<｜Assistant｜>", "</think>"], next: Next::Message, is_at_beginning: true },
    ],
    turns: &[CallingTurn {
        model_type: "deepseek_v4",
        opening: "<｜Assistant｜></think>",
        written: "\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"q_z\">\n<｜DSML｜parameter name=\"q\" string=\"true\">z w</｜DSML｜parameter>\n\
         </｜DSML｜invoke>\n</｜DSML｜tool_calls><｜end▁of▁sentence｜>",
    }],
};
