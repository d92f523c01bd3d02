//! The format kimi-k2, for the tests of all formats.

use crate::{Call, CallingTurn, Deltas, GrammarTraits, Next, Opening, Profile, Writing};

/// The profile.
pub(crate) const PROFILE: Profile = Profile {
    prompts: &["", "<|im_assistant|>assistant<|im_middle|>", "<|im_assistant|>assistant<|im_middle|><think>"],
    writing: Writing {
        prompt: "<|im_assistant|>assistant<|im_middle|>",
        answer: ["", ""],
        call: Call::Json([
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>",
            "<|tool_call_end|><|tool_calls_section_end|>",
        ]),
    },
    grammar: GrammarTraits { only_tokens: true, ..GrammarTraits::USUAL },
    deltas: Deltas {
        spelt: &[],
        prose: ["", ""],
        call: [
            "<|tool_calls_section_begin|>·<|tool_call_begin|>·func·tions·.tool·:·0·<|tool_call_argument_begin|>·{\"x\":· \"",
            "\"}·<|tool_call_end|>·<|tool_calls_section_end|>",
        ],
        between: "\n",
    },
    asked: 8,
    openings: &[Opening {
        pieces: &["<|im_assistant|>", "assistant", "<|im_middle|>"],
        next: Next::Message,
        is_at_beginning: true,
    }],
    turns: &[
        // The id is respelt as this format has it.
        CallingTurn {
            model_type: "kimi_k2",
            opening: "<|im_assistant|>assistant<|im_middle|>",
            written: "<|tool_calls_section_begin|><|tool_call_begin|>qzcall000<|tool_call_argument_begin|>{\"q\": \"z w\"}<|tool_call_end|>\
         <|tool_calls_section_end|>",
        },
    ],
};
