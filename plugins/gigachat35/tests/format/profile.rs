//! The format gigachat35, for the tests of all formats.

use crate::{Call, CallingTurn, Deltas, GrammarTraits, Next, Opening, Profile, Writing};

/// The profile.
pub(crate) const PROFILE: Profile = Profile {
    prompts: &["", "assistant<|role_sep|>\n<think>", "assistant<|role_sep|>\n"],
    writing: Writing {
        prompt: "assistant<|role_sep|>\n",
        answer: ["", ""],
        call: Call::Typed(
            [
                "<｜GCML｜tool_calls>\n<｜GCML｜invoke name=\"f\">\n",
                "</｜GCML｜invoke>\n</｜GCML｜tool_calls>",
            ],
            [
                "<｜GCML｜parameter name=\"",
                "\" string=\"true\">",
                "\" string=\"false\">",
                "</｜GCML｜parameter>\n",
            ],
        ),
    },
    grammar: GrammarTraits { tokens: &[0, 1, 2, 3], inner: &["｜GCML｜"], ..GrammarTraits::USUAL },
    deltas: Deltas {
        spelt: &[
            "<｜GCML｜tool_calls>",
            "</｜GCML｜tool_calls>",
            "<｜GCML｜invoke name=",
            "</｜GCML｜invoke>",
            "<｜GCML｜parameter name=",
            "</｜GCML｜parameter>",
        ],
        prose: ["", ""],
        call: [
            "<·｜GCML｜·tool_calls·>\n<·｜GCML｜·invoke· name·=\"tool·\">\n<·｜GCML｜·parameter· name·=\"x·\" string·=\"true·\">",
            "</·｜GCML｜·parameter·>\n</·｜GCML｜·invoke·>\n</·｜GCML｜·tool_calls·>",
        ],
        between: "\n",
    },
    asked: 10,
    openings: &[
        Opening { pieces: &["assistant", "<|role_sep|>", "\n"], next: Next::Message, is_at_beginning: true },
        Opening {
            pieces: &["assistant", "<|role_sep|>", "\n", "<think>"],
            next: Next::Reasoning(Some(1)),
            is_at_beginning: false,
        },
    ],
    turns: &[CallingTurn {
        model_type: "GigaChat35ForCausalLM",
        opening: "assistant<|role_sep|>\n",
        written: "\n\n<｜GCML｜tool_calls>\n<｜GCML｜invoke name=\"q_z\">\n<｜GCML｜parameter name=\"q\" string=\"true\">z w</｜GCML｜parameter>\n\
         </｜GCML｜invoke>\n</｜GCML｜tool_calls><|message_sep|>",
    }],
};
