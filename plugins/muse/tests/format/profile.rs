//! The format muse, for the tests of all formats.

use crate::{Call, CallingTurn, Deltas, GrammarTraits, Inputs, Profile, Writing};

/// The profile.
pub(crate) const PROFILE: Profile = Profile {
    prompts: &["", "<|start|>assistant", "<|start|>assistant to=self<|message|>"],
    writing: Writing {
        prompt: "<|start|>assistant",
        answer: [" to=user<|message|>", ""],
        call: Call::Parameters(
            [
                " to=f<|message|><atem:function_calls>\n<atem:invoke name=\"f\">\n",
                "</atem:invoke>\n</atem:function_calls>",
            ],
            ["<atem:parameter name=\"", "\">", "</atem:parameter>\n"],
        ),
    },
    grammar: GrammarTraits {
        // The other markers are text in every tokenizer.
        tokens: &[0, 1, 2, 3],
        inputs: Inputs::BeforeText,
        ..GrammarTraits::USUAL
    },
    deltas: Deltas {
        spelt: &[
            "<atem:function_calls>",
            "</atem:function_calls>",
            "<atem:invoke name=",
            "</atem:invoke>",
            "<atem:parameter name=",
            "</atem:parameter>",
        ],
        prose: ["<|start|>·assistant·<|message|>", "<|eom|>"],
        call: [
            "<|start|>·assistant· to·=tool·<|message|>·<atem:function_calls>·\n<·atem:invoke· name·=\"tool·\">\n<·atem:parameter· name·=\"x·\">",
            "</·atem:parameter·>\n</·atem:invoke·>\n</·atem:function_calls·>·<|eom|>",
        ],
        between: "",
    },
    asked: 14,
    openings: &[],
    turns: &[CallingTurn {
        model_type: "muse_glimmer",
        opening: "<|start|>assistant",
        written: " to=q_z<|message|><atem:function_calls>\n<atem:invoke name=\"q_z\">\n<atem:parameter name=\"q\">z w</atem:parameter>\n\
         </atem:invoke>\n</atem:function_calls><|eot|>",
    }],
};
