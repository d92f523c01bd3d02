//! The format hyperclova, for the tests of all formats.

use crate::{Call, CallingTurn, Deltas, GrammarTraits, Next, Opening, Profile, Writing};

/// The profile.
pub(crate) const PROFILE: Profile = Profile {
    prompts: &["", "<|im_start|>assistant", "<|im_start|>assistant\n", "<|im_start|>assistant/think\n"],
    writing: Writing {
        prompt: "<|im_start|>assistant",
        answer: ["\n", ""],
        call: Call::Json([" -> tool/function_call\n[{\"name\": \"f\", \"arguments\": ", "}]<|im_end|>"]),
    },
    grammar: GrammarTraits::USUAL,
    deltas: Deltas {
        spelt: &[],
        prose: ["\n", ""],
        call: [
            "<|im_end|>·\n·<|im_start|>·assistant· ->· tool·/function·_call\n·[{\"·name·\":· \"tool·\",· \"arguments·\":· {\"x\":· \"",
            "\"}·}]·<|im_end|>",
        ],
        between: "\n",
    },
    asked: 15,
    openings: &[
        Opening { pieces: &["<|im_start|>", "assistant"], next: Next::Message, is_at_beginning: true },
        Opening { pieces: &["<|im_start|>", "assistant\n"], next: Next::Message, is_at_beginning: true },
        Opening {
            pieces: &["<|im_start|>", "assistant/think\n"],
            next: Next::Reasoning(Some(0)),
            is_at_beginning: false,
        },
    ],
    turns: &[CallingTurn {
        model_type: "hyperclovax",
        opening: "<|im_start|>assistant",
        written: " -> tool/function_call\n[{\"name\": \"q_z\", \"arguments\": {\"q\": \"z w\"}}]<|im_end|><|stop|>\n",
    }],
};
